// How the metrics of each arm moved from run to run.

const mostTrends = 60; // figures at once
const metricTitles = {__proto__: null, pass: 'pass rate', errors: 'share of errors', latency: 'mean latency', tokens: 'mean tokens'};
const metricOf = metric => metricTitles[metric] || metric.replace(/^score:/, '');
const metricUnits = {__proto__: null, pass: percent, errors: percent, latency: duration, tokens: number};
const unitOf = metric => metricUnits[metric] || three;
const scaleUnits = new Map([[percent, asShare], [number, asCount]]); // shorter on a scale

async function showTrends(main) {
  const {courses: trends, more, warning} = await get('trends');
  main.append(h('h1', null, 'Trends'), 
    h('p', {class: 'lead'}, 'Each metric on each arm, from run to run. Bars are 90 % intervals, open points runs against the emulator. Commits are below the points.'));
  if (warning) main.append(h('ul', {class: 'notices', 'aria-label': 'Notices'}, h('li', null, name('The history was not read: ' + warning))));
  if (trends.length === 0) {
    main.append(h('p', null, 'No run has ended yet.'));
    return;
  }
  const place = h('div'), query = new URLSearchParams(location.search);
  const choose = (key, title, words, show) => {
    const select = h('select', {onchange: () => { if (select.value) query.set(key, select.value); else query.delete(key); history.replaceState(null, '', '?' + query); draw(); }},
      h('option', {value: ''}, 'all'), [...new Set(words)].slice(0, 500).map(w => h('option', {value: w}, visible(show(w)))));
    select.value = query.get(key) || '';
    return h('label', null, h('span', null, title), select);
  };
  main.append(h('form', {class: 'form', 'aria-label': 'Filters', onsubmit: e => e.preventDefault()},
    choose('suite', 'Suite', trends.map(c => c.suite), w => w), choose('arm', 'Arm', trends.map(c => c.arm), w => w), choose('metric', 'Metric', trends.map(c => c.metric), metricOf)), place);

  function draw() {
    const fits = trends.filter(c => ['suite', 'arm', 'metric'].every(key => !query.get(key) || c[key] === query.get(key))), shown = fits.slice(0, mostTrends);
    const arms = [...new Set(shown.map(c => JSON.stringify([c.suite, c.arm])))].map(key => JSON.parse(key));
    place.replaceChildren(...arms.map(([suite, arm]) => h('section', null, h('h2', null, name(suite + ' on ' + arm)),
      h('div', {class: 'figures wide'}, shown.filter(c => c.suite === suite && c.arm === arm).map(trend)))));
    if (fits.length === 0) place.append(h('p', null, 'No metric fits the filters.'));
    if (fits.length + more > shown.length) place.append(h('p', {class: 'note'}, `${number(fits.length + more - shown.length)} more are not drawn: choose a suite, an arm or a metric.`));
  }
  draw();
}

// trend draws one trend: its points, with their intervals, in the order of the runs.
function trend(c) {
  const unit = unitOf(c.metric), last = c.points.at(-1), title = metricOf(c.metric);
  return h('figure', {class: 'trend'},
    h('figcaption', null, name(title), ' ', h('span', {class: 'on'}, unit(last.value))),
    trendPlot(c, unit, title),
    h('p', {class: 'note'}, movement(c.points, unit), isKnown(c.limit) && ` The broken line is the limit of the gate, ${c.metric === 'errors' ? 'at most' : 'at least'} ${unit(c.limit)}.`),
    c.drift && driftWords(c.drift),
    h('details', null, h('summary', null, count(c.points.length, 'run')),
      table(`${title} of ${c.suite} on ${c.arm}`, ['Run', '#value', '90 % interval', '#n', 'Started', 'Commit'],
        c.points.toReversed().map(p => trendRow(p, unit)))));
}

// driftWords say what the nights say, and what was acknowledged.
const driftWords = ({lines, marks}) => h('ul', {class: 'note', 'aria-label': 'Nights'}, lines.map(l => h('li', null, visible(l))),
  (marks || []).filter(m => m.words.startsWith('an alarm')).map(m => h('li', null, visible(m.words))));

// driftMarks draw the nights on which something began.
const driftMarks = (c, x, top, floor) => ((c.drift && c.drift.marks) || []).map(m => [m, c.points.findIndex(p => p.run === m.run)]).filter(([, i]) => i >= 0)
  .map(([m, i]) => svg('line', {x1: x(i), x2: x(i), y1: top, y2: floor, class: 'limit broken'}, svg('title', null, visible(m.words))));

// movement says how a metric moved between the first and the last run.
function movement(points, unit) {
  const [first, last] = [points[0], points.at(-1)], verb = last.value < first.value ? 'Fell' : 'Rose', from = unit(first.value), to = unit(last.value);
  if (points.length === 1) return 'One run.';
  return visible(from === to ? `${to} as on ${when(first.startedAt)}.` : `${verb} from ${from} to ${to} since ${when(first.startedAt)}.`);
}

function trendRow(p, unit) {
  const run = p.key ? h('a', {href: runAddress(p.key)}, name(p.run)) : name(p.run), interval = p.interval ? p.interval.map(unit).join(' to ') : '';
  return [run, unit(p.value), interval, number(p.n), name(when(p.startedAt)), name(shortCommit(p.commit) || '\u2013')];
}

const shortCommit = commit => (commit || '').slice(0, 7);

// trendEnds are the ends of the scale of a trend: shares stay between 0 and 1, and times and tokens begin at 0.
function trendEnds(c, show) {
  const values = [c.limit, ...c.points.flatMap(p => [p.value, ...(p.interval || [])])].filter(isKnown), amount = ['latency', 'tokens'].includes(c.metric);
  const lo = amount ? 0 : Math.min(...values), hi = Math.max(...values);
  return roundEnds({lo, hi, show, least: lo >= 0 ? 0 : undefined, most: !amount && hi <= 1 ? 1 : undefined});
}

// trendPlot draws the points over their commits, and the days of the first and the last.
function trendPlot(c, unit, title) {
  const {points} = c, show = scaleUnits.get(unit) || unit, ends = trendEnds(c, show), commits = points.some(p => p.commit);
  const width = 320, top = 8, floor = 130, height = floor + (commits ? 74 : 22), left = roomFor(ends, show), right = width - 8;
  const x = i => points.length === 1 ? (left + right) / 2 : left + 8 + (right - left - 16) * i / (points.length - 1);
  const y = axisOf(ends, floor - 4, top, show), days = points.map(p => when(p.startedAt)), [from, to] = days[0].slice(0, 10) === days.at(-1).slice(0, 10) ? [11, 16] : [0, 10], day = i => visible(days.at(i).slice(from, to));
  return drawing(width, height, trendWords(points, unit, title, ends),
    upright(y, left, right),
    svg('line', {x1: left, x2: right, y1: floor, y2: floor, class: 'axis'}),
    isKnown(c.limit) && svg('line', {x1: left, x2: right, y1: y.at(c.limit), y2: y.at(c.limit), class: 'limit broken'}),
    driftMarks(c, x, top, floor),
    trendPoints(points, unit, x, y.at),
    commits && commitTexts(points, x, floor + 8),
    svg('text', {x: left, y: height - 4}, day(0)),
    points.length > 1 && svg('text', {x: right, y: height - 4, 'text-anchor': 'end'}, day(-1)));
}

function trendWords(points, unit, title, ends) {
  const last = points.at(-1), before = points.at(-2);
  return visible([
    `${title}: ${count(points.length, 'run')}`, `last ${unit(last.value)}`, before && `before ${unit(before.value)}`,
    `scale from ${unit(ends.lo)} to ${unit(ends.hi)}`, last.commit && `last commit ${shortCommit(last.commit)}`,
  ].filter(Boolean).join(', '));
}

// trendPoints draws the values, the line between them, and their intervals.
function trendPoints(points, unit, x, y) {
  const many = points.length > 25, bar = 'interval-line' + (many ? ' fine' : '');
  return [
    points.map((p, i) => p.interval && svg('line', {x1: x(i), x2: x(i), y1: y(p.interval[0]), y2: y(p.interval[1]), class: bar})),
    svg('polyline', {points: points.map((p, i) => `${x(i).toFixed(1)},${y(p.value).toFixed(1)}`).join(' '), class: 'trend-line'}),
    points.map((p, i) => svg('circle', {cx: x(i), cy: y(p.value), r: many ? 3 : 4, class: p.emulator ? 'open' : 'point'},
      svg('title', null, pointTitle(p, unit)))),
  ];
}

const pointTitle = (p, unit) => visible(`${unit(p.value)}, ${when(p.startedAt)}, ${p.run}${p.commit ? ', commit ' + shortCommit(p.commit) : ''}`);

// commitTexts writes the commits below their points, the newest in any case and of the others as many as have room.
function commitTexts(points, x, y) {
  const each = points.length === 1 ? 1 : Math.ceil(13 / (x(1) - x(0)));
  return points.map((p, i) => p.commit && (points.length - 1 - i) % each === 0 &&
    svg('text', {x: x(i) + 4, y, transform: `rotate(-90 ${x(i) + 4} ${y})`, 'text-anchor': 'end'}, visible(shortCommit(p.commit))));
}
