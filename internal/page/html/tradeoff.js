// Quality against cost: every arm of a suite as a point.

// costsOf are what an arm may cost, each with its value by arm; those that no arm has are left out.
function costsOf(head, arms, rows) {
  const tokens = meansByArm(rows, rows.tokens), paid = meansByArm(rows, rows.cost), {currency} = head.run.prices || {};
  const all = [
    ['money', `${currency ? visible(currency).slice(0, 20) : 'cost'} per 1,000 trials`, money, a => ofThousand(paid.get(a.suite + '\n' + a.arm))],
    ['tokens', 'tokens per trial', asCount, a => tokens.get(a.suite + '\n' + a.arm)],
    ['latency', 'mean latency', duration, a => a.meanLatencyMs > 0 ? a.meanLatencyMs : null],
  ];
  return all.map(([key, title, show, of]) => ({key, title, show, of})).filter(c => arms.some(a => isKnown(c.of(a))));
}

const ofThousand = cost => isKnown(cost) ? 1000 * cost : null;

// meansByArm are the means of a column by suite and arm, over trials that were judged.
const meansByArm = (rows, column) => new Map(byArm(rows, column).map(one => [one.suite + '\n' + one.arm, meanOf(one.values)]));

// qualitiesOf are by what arms may be good: the pass rate, and each metric.
function qualitiesOf(arms) {
  const pass = {key: 'pass', title: 'pass rate', show: asShare, share: true, of: a => a.passRate, interval: a => a.interval};
  const metrics = [...new Set(arms.flatMap(a => Object.keys(a.metrics)))].map(m => {
    const of = a => Object.hasOwn(a.metrics, m) ? a.metrics[m].mean : null;
    const share = arms.every(a => !isKnown(of(a)) || of(a) >= 0 && of(a) <= 1);
    return {key: 'metric ' + m, title: visible(m), show: three, share, of, interval: a => share && isKnown(of(a)) ? a.metrics[m].interval : null};
  });
  return [pass, ...metrics].filter(q => arms.some(a => isKnown(q.of(a))));
}

function drawTradeoff(head, rows) {
  const suites = [...new Set(head.arms.map(a => a.suite))].filter(s => head.arms.filter(a => a.suite === s).length > 1);
  if (suites.length === 0) return null;
  return section('Quality against cost', suites.slice(0, mostFigures).map((suite, i) => [
    suites.length > 1 && h('h3', null, name(suite)),
    tradeoffOf(head, rows, suite, i),
  ]), suites.length > mostFigures && h('p', {class: 'note'}, `and ${count(suites.length - mostFigures, 'more suite')}`));
}

// tradeoffOf is the part of one suite: what is drawn against what, and the plot.
function tradeoffOf(head, rows, suite, i) {
  const arms = head.arms.filter(a => a.suite === suite).slice(0, mostArms), costs = costsOf(head, arms, rows), qualities = qualitiesOf(arms);
  if (costs.length === 0 || qualities.length === 0) return h('p', {class: 'note'}, 'No arm has both a quality and a cost.');
  const place = h('div'), options = all => all.map(o => [o.key, o.title]), chosen = (all, pick) => all.find(o => o.key === pick.value());
  const draw = () => place.replaceChildren(...drawTradeoffOf(suite, arms, chosen(qualities, up), chosen(costs, along)));
  const up = picker(`quality-${i}`, 'Quality', options(qualities), qualities[0].key, draw);
  const along = picker(`cost-${i}`, 'Cost', options(costs), costs[0].key, draw);
  draw();
  return [picksForm(up.label, along.label), place];
}

// beaters are, for each point, the numbers of those that have as much for less, or more for as little.
function beaters(points) {
  const beats = (q, p) => q.cost <= p.cost && q.value >= p.value && (q.cost < p.cost || q.value > p.value);
  return points.map(p => points.filter(q => beats(q, p)).map(q => q.n));
}

function drawTradeoffOf(suite, arms, quality, cost) {
  const points = arms.map((a, i) => ({n: i + 1, arm: a.arm, value: quality.of(a), cost: cost.of(a), interval: quality.interval(a)}))
    .filter(p => isKnown(p.value) && isKnown(p.cost));
  if (points.length === 0) return [h('p', {class: 'note'}, 'No arm has both.')];
  beaters(points).forEach((by, i) => { points[i].by = by; });
  const beaten = p => p.by.length === 0 ? 'none' : p.by.slice(0, 5).join(', ') + (p.by.length > 5 ? ', ...' : '');
  return [
    h('div', {class: 'chart'}, tradeoffPlot(points, quality, cost, suite),
      table(`Arms of ${suite} by ${quality.title} and ${cost.title}`, ['No.', 'Arm', '#' + quality.title, '#' + cost.title, 'Beaten by'],
        points.map(p => [String(p.n), name(p.arm), quality.show(p.value), cost.show(p.cost), beaten(p)]), {class: 'narrow'})),
    h('p', {class: 'note'}, 'An arm beats another one by a higher value at the same cost or less, or the same value at less. ',
      'A full point is beaten by none, as far as the means say.',
      points.some(p => p.interval) && ' The upright bars are 90 % intervals.',
      points.length < arms.length && ` ${count(arms.length - points.length, 'arm')} without a value are not drawn.`),
  ];
}

// tradeoffPlot draws the arms: to the left is cheaper, up is better.
function tradeoffPlot(points, quality, cost, suite) {
  const values = points.flatMap(p => [p.value, ...(p.interval || [])]), costs = points.map(p => p.cost), top = 26, floor = chartHeight - 44;
  const bounds = quality.share ? {least: 0, most: 1} : {}, ends = roundEnds({lo: Math.min(...values), hi: Math.max(...values), show: quality.show, ...bounds});
  const left = roomFor(ends, quality.show) + 16, right = chartWidth - 12, y = axisOf(ends, floor, top, quality.show);
  const x = axisOf(roundEnds({lo: 0, hi: 1.05 * Math.max(...costs), show: cost.show, least: 0}), left, right, cost.show);
  const places = points.map(p => ({...p, x: x.at(p.cost), y: y.at(p.value), bar: p.interval && p.interval.map(y.at)}));
  const near = (p, q) => Math.abs(p.x - q.x) < 8 && Math.abs(p.y - q.y) < 8, firsts = places.filter((p, i) => places.findIndex(q => near(p, q)) === i);
  const each = points.slice(0, 30).map(p => `${p.arm}: ${quality.show(p.value)} at ${cost.show(p.cost)}`);
  const words = `${suite}: ${quality.title} against ${cost.title}. ${each.join('; ')}`;
  return drawing(chartWidth, chartHeight, visible(words),
    upright(y, left, right), across(x, floor, floor + 4), titles(quality.title, cost.title, left, floor),
    places.map(p => p.bar && svg('line', {x1: p.x, x2: p.x, y1: p.bar[0], y2: p.bar[1], class: 'interval-line'})),
    places.map(p => svg('circle', {cx: p.x, cy: p.y, r: 5, class: p.by.length === 0 ? 'point' : 'open'}, svg('title', null, visible(p.arm)))),
    labelled(firsts.map(p => ({...p, text: labelOf(places.filter(q => near(p, q)))})), places, left, chartWidth, floor));
}

// labelOf is what stands next to points at one place: the number and the name of the arm, or the numbers of several.
function labelOf(points) {
  if (points.length > 1) return points.slice(0, 6).map(p => p.n).join(',') + (points.length > 6 ? '\u2026' : '');
  const [{n, arm}] = points, text = `${n} ${visible(arm)}`;
  return text.length > 24 ? text.slice(0, 23) + '\u2026' : text;
}
