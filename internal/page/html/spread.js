// How values are spread: latency and tokens of each arm, and each score on every arm.

const fewValues = 30;     // are drawn one by one
const mostFigures = 12;   // of a kind
const spreadBars = 30;

const quantile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))];
function meanOf(values) {
  let mean = 0;
  for (const v of values) mean += v / values.length;
  return mean;
}

// stacked places dots above one another where they would cover each other: what is high says nothing but that there are several.
function stacked(places) {
  const tops = []; // of each level, where its last dot is
  return places.map(x => {
    let level = tops.findIndex(last => x - last >= 9);
    if (level < 0) level = tops.length;
    tops[level] = x;
    return {x, level};
  });
}

// dotsOf are few values as dots, null where they are many or do not fit.
function dotsOf(sorted, ends, width, floor, top) {
  if (sorted.length > fewValues) return null;
  const x = scaleOf(ends.lo, ends.hi, 6, width - 6), dots = stacked(Array.from(sorted, x)).map(d => ({x: d.x, y: floor - 6 - 8 * d.level}));
  return dots.every(d => d.y >= top + 4) ? dots : null;
}

// spreadPlot draws sorted values on a scale: few as dots, others as bars with an axis of their counts.
function spreadPlot({sorted, ends, show, marks, height, words}) {
  const width = 280, right = width - 6, floor = height - 20, top = 6, bins = new Array(spreadBars).fill(0);
  const bin = scaleOf(ends.lo, ends.hi, 0, spreadBars), dots = dotsOf(sorted, ends, width, floor, top);
  for (const v of sorted) bins[Math.min(spreadBars - 1, Math.floor(bin(v)))]++;
  const counts = roundEnds({lo: 0, hi: Math.max(...bins), show: asCount, least: 0, wanted: height > 80 ? 2 : 1});
  const left = dots ? 6 : roomFor(counts, asCount), x = axisOf(ends, left, right, show), y = axisOf(counts, floor, top, asCount);
  const step = (right - left) / spreadBars, bar = (n, i) => n > 0 &&
    svg('rect', {x: left + i * step + 0.5, width: Math.max(1, step - 1), y: y.at(n), height: floor - y.at(n), class: 'bar'});
  return drawing(width, height, words,
    across(x, floor, floor + 4), !dots && upright(y, left, right),
    dots ? dots.map(d => svg('circle', {cx: d.x, cy: d.y, r: 4, class: 'dot'})) : bins.map(bar),
    svg('line', {x1: left, x2: right, y1: floor, y2: floor, class: 'axis'}),
    marks.map(([v, kind]) => svg('line', {x1: x.at(v), x2: x.at(v), y1: top, y2: floor, class: 'mark ' + kind})));
}

// histogram draws how values are spread, up to about the 99th percentile; the last bar holds what is above.
function histogram(values, unit, title) {
  const sorted = Float64Array.from(values).sort(), last = sorted[sorted.length - 1];
  const p50 = quantile(sorted, 0.5), p95 = quantile(sorted, 0.95), hi = sorted.length <= fewValues ? last : quantile(sorted, 0.99);
  const show = unit === number ? asCount : unit, ends = roundEnds({lo: sorted[0], hi, show, least: 0});
  const facts = `median ${unit(p50)}, 95th percentile ${unit(p95)}, most ${unit(last)}, n = ${number(sorted.length)}`;
  return h('figure', null,
    h('figcaption', null, name(title)),
    spreadPlot({sorted, ends, show, marks: [[p50, ''], [p95, 'faint']], height: 124,
      words: `${visible(title)}: least ${unit(sorted[0])}, ${facts}`}),
    h('p', {class: 'note'}, facts));
}

// byArm gathers values of the trials that were judged, arm by arm.
function byArm(rows, column) {
  const arms = new Map(), judged = rows.judged(), {suite, arm} = rows.cells, several = rows.tables.arm.length;
  for (let i = 0; i < rows.length; i++) {
    if (judged[i] === 0 || !(column[i] >= 0)) continue; // -1: not known
    const one = entry(arms, suite[i] * several + arm[i], () => ({suite: rows.word('suite', i), arm: rows.word('arm', i), values: []}));
    one.values.push(column[i]);
  }
  return [...arms.values()];
}

// drawSpread draws how long answers took, how many tokens they were, and what they cost where that is known, arm by arm.
function drawSpread(rows) {
  const several = rows.tables.suite.length > 1, titleOf = one => (several ? one.suite + ' on ' : '') + one.arm;
  const kinds = [
    {title: 'Latency of an answer', column: rows.latency, unit: duration},
    {title: 'Tokens of a trial', column: rows.tokens, unit: number},
    {title: 'Cost of a trial', column: rows.cost, unit: three},
  ].map(k => ({...k, arms: byArm(rows, k.column)})).filter(k => k.arms.length > 0);
  if (kinds.length === 0) return null;
  const more = Math.max(...kinds.map(k => k.arms.length)) - mostFigures, priced = kinds.some(k => k.column === rows.cost);
  return section(priced ? 'Latency, tokens and cost' : 'Latency and tokens',
    kinds.map(k => [
      h('h3', null, k.title),
      h('div', {class: 'figures'}, k.arms.slice(0, mostFigures).map(one => histogram(one.values, k.unit, titleOf(one)))),
    ]),
    h('p', {class: 'note'}, 'Of trials that were judged. The full line is the median, the broken one the 95th percentile. ',
      'The last bar also holds what is above the scale.', more > 0 && ` ${number(more)} more arms are not drawn.`));
}
