// Plots, drawn as SVG. Each has two numbers or more on its scale, and says in words what it shows.

function drawing(width, height, words, ...children) {
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': words, class: 'plot', preserveAspectRatio: 'xMinYMid meet'}, ...children);
}

const isKnown = v => Number.isFinite(v); // null, undefined and NaN are not

// scaleOf places the values between lo and hi on the pixels between from and to.
// The halves keep the difference of huge ends finite.
function scaleOf(lo, hi, from, to) {
  const all = hi / 2 - lo / 2;
  return v => from + (to - from) * (all > 0 ? Math.min(1, Math.max(0, (v / 2 - lo / 2) / all)) : 0.5);
}

// apart moves the ends of a scale until their numbers differ as texts: all values may be the same.
function apart(lo, hi, show, least = -Infinity, most = Infinity) {
  for (let pad = Math.abs(hi - lo) || Math.abs(lo) * 0.05 || 0.001; show(lo) === show(hi) && isKnown(pad); pad *= 2) {
    lo = Math.max(least, lo - pad);
    hi = Math.min(most, hi + pad);
    if (lo === least && hi === most) break;
  }
  return [lo, hi];
}

// endNumbers writes the numbers of the two ends of a scale below it, and one between them when it has room.
function endNumbers({lo, hi, between, show, left, right, y}) {
  const texts = [show(lo), show(hi)], middle = isKnown(between) ? show(between) : '', x = scaleOf(lo, hi, left, right)(between);
  const needs = text => letter * (text.length + middle.length / 2), fits = middle && x - left > needs(texts[0]) && right - x > needs(texts[1]);
  return [
    svg('text', {x: left, y}, texts[0]),
    fits && svg('text', {x, y, 'text-anchor': 'middle'}, middle),
    svg('text', {x: right, y, 'text-anchor': 'end'}, texts[1]),
  ];
}

const smallPlot = {width: 200, height: 34, left: 6, right: 194, mid: 10}, largePlot = {width: 400, height: 34, left: 6, right: 394, mid: 10};

// rangePlot draws a value in [lo, hi] of a scale with its interval, a limit that it has to keep, and the place where nothing changes.
function rangePlot({value, interval, limit, zero, lo = 0, hi = 1, show = asShare, tone = '', words, size = smallPlot}) {
  const {width, height, left, right, mid} = size;
  [lo, hi] = apart(lo, hi, show);
  const x = scaleOf(lo, hi, left, right), bar = interval && interval.every(isKnown) && interval.map(x);
  return drawing(width, height, words,
    svg('line', {x1: left, x2: right, y1: mid, y2: mid, class: 'axis'}),
    isKnown(zero) && svg('line', {x1: x(zero), x2: x(zero), y1: 1, y2: 20, class: 'zero'}),
    bar && svg('rect', {x: bar[0], width: Math.max(2, bar[1] - bar[0]), y: mid - 4, height: 8, rx: 4, class: 'interval ' + tone}),
    isKnown(limit) && svg('line', {x1: x(limit), x2: x(limit), y1: 0, y2: 20, class: 'limit'}),
    isKnown(value) && svg('circle', {cx: x(value), cy: mid, r: 5, class: 'point ' + tone}),
    endNumbers({lo, hi, between: zero, show, left, right, y: height - 2}));
}

// pairPlot draws what changed from base to head on one scale: an open point, a full one, and a line between.
function pairPlot({base, head, lo, hi, show, tone, words}) {
  const {width, height, left, right, mid} = smallPlot;
  [lo, hi] = apart(lo, hi, show);
  const x = scaleOf(lo, hi, left, right);
  return drawing(width, height, words,
    svg('line', {x1: left, x2: right, y1: mid, y2: mid, class: 'axis'}),
    svg('line', {x1: x(base), x2: x(head), y1: mid, y2: mid, class: 'change ' + tone}),
    svg('circle', {cx: x(base), cy: mid, r: 4.5, class: 'open'}),
    svg('circle', {cx: x(head), cy: mid, r: 5, class: 'point ' + tone}),
    endNumbers({lo, hi, show, left, right, y: height - 2}));
}

// outcomeBar shows the shares of the outcomes.
function outcomeBar(c) {
  const total = outcomes.reduce((sum, o) => sum + c[o], 0);
  if (total === 0) return null;
  let at = 0;
  const words = outcomes.filter(o => c[o]).map(o => `${number(c[o])} ${o}`).join(', ');
  const part = o => {
    const width = 1000 * c[o] / total, x = at;
    at += width;
    return width > 0 && svg('rect', {x, y: 0, width, height: 10, class: 'fill ' + o});
  };
  return h('div', {class: 'shares'},
    svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', class: 'share', role: 'img', 'aria-label': words}, outcomes.map(part)),
    h('div', {class: 'ends', 'aria-hidden': 'true'}, ['0 %', '50 %', '100 %'].map(text => h('span', null, text))));
}
