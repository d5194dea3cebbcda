// How the metrics of each arm moved from run to run.

const mostTrends = 60; // figures at once
const metricTitles = {__proto__: null, pass: 'pass rate', errors: 'share of errors', latency: 'mean latency', tokens: 'mean tokens'};
const metricOf = metric => metricTitles[metric] || metric.replace(/^score:/, '');
const unitOf = metric => metric === 'latency' ? duration : metric === 'tokens' ? number : metric === 'pass' || metric === 'errors' ? percent : three;

async function showTrends(main) {
  const {courses, more, warning} = await get('trends');
  main.append(h('h1', null, 'Trends'), h('p', {class: 'lead'}, 'Each metric on each arm, from run to run; bars are 90 % intervals, open points runs against the emulator.'));
  if (warning) main.append(h('ul', {class: 'notices', 'aria-label': 'Notices'}, h('li', null, name('The history was not read: ' + warning))));
  if (courses.length === 0) {
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
    choose('suite', 'Suite', courses.map(c => c.suite), w => w), choose('arm', 'Arm', courses.map(c => c.arm), w => w), choose('metric', 'Metric', courses.map(c => c.metric), metricOf)), place);

  function draw() {
    const fits = courses.filter(c => ['suite', 'arm', 'metric'].every(key => !query.get(key) || c[key] === query.get(key))), shown = fits.slice(0, mostTrends);
    const arms = [...new Set(shown.map(c => JSON.stringify([c.suite, c.arm])))].map(key => JSON.parse(key));
    place.replaceChildren(...arms.map(([suite, arm]) => h('section', null, h('h2', null, name(suite + ' on ' + arm)),
      h('div', {class: 'figures'}, shown.filter(c => c.suite === suite && c.arm === arm).map(trend)))));
    if (fits.length === 0) place.append(h('p', null, 'No metric fits the filters.'));
    if (fits.length + more > shown.length) place.append(h('p', {class: 'note'}, `${number(fits.length + more - shown.length)} more are not drawn: choose a suite, an arm or a metric.`));
  }
  draw();
}

// trend draws one course: its points, with their intervals, in the order of the runs.
function trend(c) {
  const unit = unitOf(c.metric), points = c.points, width = 320, height = 130, floor = 108, top = 8;
  const values = points.flatMap(p => [p.value, ...(p.interval || [])]);
  let lo = Math.min(...values), hi = Math.max(...values);
  if (c.metric === 'latency' || c.metric === 'tokens') lo = 0;
  if (hi - lo < 1e-9) { lo -= 0.05 * Math.abs(lo) + 1e-3; hi += 0.05 * Math.abs(hi) + 1e-3; }
  const x = i => points.length === 1 ? width / 2 : 10 + (width - 20) * i / (points.length - 1), y = v => floor - (floor - top) * (v - lo) / (hi - lo);
  const last = points.at(-1), before = points.at(-2), title = metricOf(c.metric);
  const words = `${title}: ${count(points.length, 'run')}, last ${unit(last.value)}${before ? ', before ' + unit(before.value) : ''}`;
  return h('figure', {class: 'trend'},
    h('figcaption', null, name(title), ' ', h('span', {class: 'on'}, unit(last.value))),
    drawing(width, height, words,
      svg('line', {x1: 4, x2: width - 4, y1: floor + 4, y2: floor + 4, class: 'axis'}),
      points.map((p, i) => p.interval && svg('line', {x1: x(i), x2: x(i), y1: y(p.interval[0]), y2: y(p.interval[1]), class: 'interval-line'})),
      svg('polyline', {points: points.map((p, i) => `${x(i).toFixed(1)},${y(p.value).toFixed(1)}`).join(' '), class: 'course'}),
      points.map((p, i) => svg('circle', {cx: x(i), cy: y(p.value), r: 4, class: p.emulator ? 'open' : 'point'})),
      svg('text', {x: 4, y: height - 4}, when(points[0].startedAt).slice(0, 10)),
      points.length > 1 && svg('text', {x: width - 4, y: height - 4, 'text-anchor': 'end'}, when(last.startedAt).slice(0, 10))),
    h('p', {class: 'note'}, `from ${unit(Math.min(...points.map(p => p.value)))} to ${unit(Math.max(...points.map(p => p.value)))}`),
    h('details', null, h('summary', null, count(points.length, 'run')),
      table(`${title} of ${c.suite} on ${c.arm}`, ['Run', '#value', '#n'], points.toReversed().map(p => [p.key ? h('a', {href: runAddress(p.key)}, name(p.run)) : name(p.run), unit(p.value), number(p.n)]))));
}
