// Plots, drawn as SVG. Each says in words what it shows.

function drawing(width, height, words, ...children) {
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words, class: 'plot', preserveAspectRatio: 'xMinYMid meet'}, ...children);
}

// rangePlot draws a value in [lo, hi] of an axis with its interval, and a limit that it has to keep.
function rangePlot({value, interval, limit, lo = 0, hi = 1, tone = '', words}) {
  const width = 240, height = 22, mid = 11;
  const x = v => 6 + (width - 12) * Math.min(1, Math.max(0, (v - lo) / (hi - lo || 1)));
  return drawing(width, height, words,
    svg('line', {x1: 6, x2: width - 6, y1: mid, y2: mid, class: 'axis'}),
    interval && svg('rect', {x: x(interval[0]), width: Math.max(2, x(interval[1]) - x(interval[0])), y: mid - 4, height: 8, rx: 4, class: 'interval ' + tone}),
    limit !== undefined && limit !== null && svg('line', {x1: x(limit), x2: x(limit), y1: 1, y2: height - 1, class: 'limit'}),
    value !== null && value !== undefined && svg('circle', {cx: x(value), cy: mid, r: 4.5, class: 'point ' + tone}));
}

// fewValues is how many values are drawn one by one.
const fewValues = 30;

// stacked places dots above one another where they would cover each other: what is high says nothing but that there are several.
function stacked(places) {
  const tops = []; // of each level, where its last dot stands
  return places.map(x => {
    let level = tops.findIndex(last => x - last >= 9);
    if (level < 0) level = tops.length;
    tops[level] = x;
    return {x, level: Math.min(level, 9)};
  });
}

// histogram draws how values are spread, up to the 99th percentile; what is above stands in the last bar. Of few values each is a dot.
function histogram(values, unit, title) {
  const sorted = Float64Array.from(values).sort();
  const at = p => sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))];
  const low = sorted[0], high = Math.max(at(0.99), low), bars = Math.min(32, Math.max(1, new Set(sorted.subarray(0, 5000)).size));
  const bins = new Array(bars).fill(0);
  for (const v of sorted) bins[Math.min(bars - 1, Math.floor(bars * (v - low) / (high - low || 1)))]++;
  const most = Math.max(...bins), width = 320, height = 120, floor = 98, step = (width - 8) / bars;
  const x = v => 4 + (width - 8) * Math.min(1, Math.max(0, (v - low) / (high - low || 1)));
  const p50 = at(0.5), p95 = at(0.95);
  const words = `${title}: ${count(sorted.length, 'trial')}, median ${unit(p50)}, 95th percentile ${unit(p95)}, least ${unit(low)}, most ${unit(sorted[sorted.length - 1])}`;
  const dots = sorted.length <= fewValues && stacked(Array.from(sorted, x));
  return h('figure', null,
    h('figcaption', null, name(title)),
    drawing(width, height, words,
      dots ? dots.map(d => svg('circle', {cx: d.x, cy: floor - 8 - 9 * d.level, r: 4, class: 'dot'})) : bins.map((n, i) => svg('rect', {x: 4 + i * step + 0.5, width: Math.max(1, step - 1), y: floor - 84 * n / most, height: 84 * n / most, class: 'bar'})),
      svg('line', {x1: 4, x2: width - 4, y1: floor, y2: floor, class: 'axis'}),
      high > low && svg('line', {x1: x(p50), x2: x(p50), y1: 8, y2: floor, class: 'mark'}),
      high > low && svg('line', {x1: x(p95), x2: x(p95), y1: 8, y2: floor, class: 'mark faint'}),
      svg('text', {x: 4, y: 114}, unit(low)),
      svg('text', {x: width - 4, y: 114, 'text-anchor': 'end'}, unit(high) + (sorted[sorted.length - 1] > high ? ' and more' : ''))),
    h('p', {class: 'note'}, `median ${unit(p50)}, 95th percentile ${unit(p95)}, n = ${number(sorted.length)}`));
}

// pairPlot draws what changed from base to head on one axis: an open point, a full one, and a line between.
function pairPlot(base, head, lo, hi, tone, words) {
  const width = 240, height = 22, mid = 11;
  const x = v => 6 + (width - 12) * (v - lo) / (hi - lo || 1);
  return drawing(width, height, words,
    svg('line', {x1: 6, x2: width - 6, y1: mid, y2: mid, class: 'axis'}),
    svg('line', {x1: x(base), x2: x(head), y1: mid, y2: mid, class: 'change ' + tone}),
    svg('circle', {cx: x(base), cy: mid, r: 4.5, class: 'open'}),
    svg('circle', {cx: x(head), cy: mid, r: 4.5, class: 'point ' + tone}));
}
