// Two arms against each other, case by case.

const mostDifferences = 12; // cases in the table
const bubbleCells = [6, 12, 22]; // pixels within which cases are one bubble: the first that makes few of them
const fewBubbles = 250;

// valuesToCompare are what two arms of a suite can be compared by. Each gives a column of the trials' values, NaN where a trial has none.
function valuesToCompare(rows, suite) {
  const judged = rows.judged(), of = column => () => Float64Array.from(column, (v, i) => judged[i] > 0 && v >= 0 ? v : NaN);
  const scores = scoresByArm(rows).filter(f => f.suite === suite);
  const passed = () => Float64Array.from(judged, v => v === 0 ? NaN : v - 1);
  const pass = {key: 'pass', title: 'pass rate', show: asShare, better: true, column: passed};
  const score = f => {
    const {key} = f;
    return {key, title: f.name, show: three, better: key.startsWith('score.'), graded: isGraded(f), column: () => numberColumn(rows, key)};
  };
  const amounts = [['cost', rows.cost, three], ['latency', rows.latency, duration], ['tokens', rows.tokens, asCount]]
    .filter(([, column]) => column.some(v => v >= 0))
    .map(([key, column, show]) => ({key, title: key, show, amount: true, column: of(column)}));
  return [pass, ...scores.map(score), ...amounts];
}

// numberColumn is the column of a score or a metric. Where a trial has several of one name it has their mean.
function numberColumn(rows, key) {
  const judged = rows.judged(), places = rows.tables.number.map(names => names.flatMap((n, k) => n === key ? [k] : []));
  return Float64Array.from(rows.cells.number, (list, i) => {
    const values = judged[i] > 0 ? places[list].map(k => rows.values[i][k]).filter(isKnown) : [];
    return values.length > 0 ? meanOf(values) : NaN;
  });
}

// suitesToCompare are the suites of two arms and more, each with the numbers of its arms.
function suitesToCompare(rows) {
  const suites = new Map();
  for (const one of rows.cases) {
    if (!suites.has(one.suite)) suites.set(one.suite, {suite: one.suite, arms: new Set()});
    const s = suites.get(one.suite);
    for (let i = one.from; i < one.to; i++) s.arms.add(rows.cells.arm[i]);
  }
  return [...suites.values()].filter(s => s.arms.size > 1);
}

// casesOf are the cases of a suite that both arms have a value of, each value the mean over repeats.
function casesOf(rows, suite, a, b, column) {
  const out = [], {arm} = rows.cells;
  for (const one of rows.cases) {
    if (one.suite !== suite) continue;
    let sumA = 0, sumB = 0, ofA = 0, ofB = 0;
    for (let i = one.from; i < one.to; i++) {
      if (Number.isNaN(column[i])) continue;
      if (arm[i] === a) { sumA += column[i]; ofA++; }
      if (arm[i] === b) { sumB += column[i]; ofB++; }
    }
    if (ofA > 0 && ofB > 0) out.push({one, a: sumA / ofA, b: sumB / ofB});
  }
  return out;
}

function drawVersus(rows) {
  const suites = suitesToCompare(rows), find = name => suites.find(s => s.suite === name);
  if (suites.length === 0) return null;
  const title = 'Two arms, case by case';
  if (rows.left.passes > 0) return section(title, h('p', {class: 'note'}, 'Not drawn: trials that passed are left out of this page.'));
  const place = h('div'), suite = picker('versus-suite', 'Suite', suites.map(s => [s.suite, s.suite]), suites[0].suite, () => fill());
  const fill = () => place.replaceChildren(...versusOf(rows, find(suite.value()), suites.length > 1 && suite.label));
  fill();
  return section(title, place);
}

// versusOf is the part of one suite: what is compared, and the plot.
function versusOf(rows, suite, suiteLabel) {
  const values = valuesToCompare(rows, suite.suite), graded = values.find(v => v.graded), arms = [...suite.arms], place = h('div');
  const names = arms.map(a => [String(a), rows.tables.arm[a][0]]);
  const pick = (key, title, options, first) => picker('versus-' + key, title, options, String(first), () => draw());
  const across = pick('a', 'A, to the right', names, arms[0]), up = pick('b', 'B, upwards', names, arms[1]);
  const by = pick('value', 'Value', values.map(v => [v.key, v.title]), (graded || values[0]).key);
  const draw = () => {
    const a = Number(across.value()), b = Number(up.value()), value = values.find(v => v.key === by.value());
    const pair = {a: rows.tables.arm[a][0], b: rows.tables.arm[b][0]}, link = one => sideAddress(one, pair);
    const sides = {a: 'A', b: 'B', words: `A is ${pair.a}, B is ${pair.b}.`, link}, cases = casesOf(rows, suite.suite, a, b, value.column());
    place.replaceChildren(...drawVersusOf(cases, value, sides),
      h('p', {class: 'note'}, h('a', {href: matrixAddress({only: 'differs'}, [...new Set([pair.a, pair.b])])}, 'All answers that differ'), ' are in the matrix.'));
  };
  draw();
  return [picksForm(suiteLabel || '', across.label, up.label, by.label), place];
}

// drawVersusOf draws cases of two sides: their names, which of them is which arm, and where a case leads.
function drawVersusOf(cases, value, sides) {
  const higher = cases.filter(c => c.b > c.a).length, lower = cases.filter(c => c.b < c.a).length, {a, b} = sides;
  if (cases.length === 0) return [h('p', {class: 'note'}, 'No case has a value on both.')];
  const facts = `${value.title} of ${b} is higher in ${count(higher, 'case')}, lower in ${number(lower)}, ` +
    `the same in ${number(cases.length - higher - lower)}.`;
  return [
    h('p', null, visible(facts)),
    h('div', {class: 'chart'}, !yesOrNo(cases) && versusPlot(cases, value, sides, visible(`${sides.words} ${facts}`)), differingCases(cases, value, sides) || ''),
    h('p', {class: 'note'}, 'Repeats are averaged.', !yesOrNo(cases) && ` A case above the line has more on ${b}, one below it more on ${a}. The area of a bubble says how many cases it is.`,
      higher + lower > mostDifferences && ` The table has the ${number(mostDifferences)} that differ most, of ${number(higher + lower)}.`),
  ];
}

// yesOrNo reports whether all values are 0 or 1: a plot of four points says less than the counts.
const yesOrNo = cases => cases.every(c => (c.a === 0 || c.a === 1) && (c.b === 0 || c.b === 1));

// differingCases lists the cases that differ most.
function differingCases(cases, value, {a, b, link, words}) {
  const far = c => Math.abs(c.b - c.a), sorted = cases.filter(c => c.a !== c.b).sort((c, d) => far(d) - far(c));
  if (sorted.length === 0) return null;
  return table(`Cases that differ most. ${words}`, ['Case', '#' + a, '#' + b, `#${b} less ${a}`], sorted.slice(0, mostDifferences).map(c => [
    h('a', {href: link(c.one)}, name(c.one.name)), value.show(c.a), value.show(c.b), differenceOf(c, value)]), {class: 'narrow'});
}

// differenceOf is how much more B has than A, in the unit of the value.
function differenceOf(c, value) {
  const by = c.b - c.a;
  return (by < 0 ? '-' : '+') + value.show(Math.abs(by));
}

// bubblesOf puts cases together that would cover each other.
function bubblesOf(cases, x, y) {
  for (const cell of bubbleCells) {
    const bubbles = bubblesIn(cases, x, y, cell);
    if (bubbles.length <= fewBubbles || cell === bubbleCells.at(-1)) return sized(bubbles, cell);
  }
}

function bubblesIn(cases, x, y, cell) {
  const bubbles = new Map();
  for (const c of cases) {
    const px = x(c.a), py = y(c.b), key = Math.round(px / cell) * 10000 + Math.round(py / cell);
    const one = entry(bubbles, key, () => ({x: 0, y: 0, cases: 0, by: 0, first: c.one}));
    one.cases++;
    one.x += (px - one.x) / one.cases;
    one.y += (py - one.y) / one.cases;
    one.by += (c.b - c.a - one.by) / one.cases;
  }
  return [...bubbles.values()].sort((p, q) => q.cases - p.cases); // the small ones on top
}

// sized gives each bubble a radius: its area is by its number of cases, and many bubbles do not cover each other.
function sized(bubbles, cell) {
  const most = cell === bubbleCells[0] ? 14 : cell * 0.52, unit = Math.min(4, most / Math.sqrt(bubbles[0].cases));
  for (const b of bubbles) b.r = Math.max(1.5, unit * Math.sqrt(b.cases));
  return bubbles;
}

function versusEnds(cases, value) {
  const all = Float64Array.from(cases.flatMap(c => [c.a, c.b])).sort();
  if (!value.amount && all[0] >= 0 && all.at(-1) <= 1) return roundEnds({lo: 0, hi: 1, show: value.show});
  const lo = Math.min(0, all[0]), hi = all.length > 200 ? quantile(all, 0.99) : all.at(-1); // what is beyond is drawn at the end
  return roundEnds({lo, hi, show: value.show, least: lo === 0 ? 0 : undefined});
}

function versusPlot(cases, value, sides, words) {
  const {show} = value, ends = versusEnds(cases, value), height = 370, pad = 14, top = 8, floor = height - 44;
  const left = roomFor(ends, show) + 16, right = chartWidth - 8;
  const x = axisOf(ends, left + pad, right - pad, show), y = axisOf(ends, floor - pad, top + pad, show), bubbles = bubblesOf(cases, x.at, y.at);
  const tone = b => !value.better || Math.abs(b.by) < 1e-9 ? '' : b.by > 0 ? ' pass' : ' fail';
  return drawing(chartWidth, height, words,
    upright(y, left, right), across({...x, middle: true}, top, floor), titles(`${sides.b}: ${value.title}`, `${sides.a}: ${value.title}`, left, floor),
    svg('line', {x1: left + pad, y1: floor - pad, x2: right - pad, y2: top + pad, class: 'zero'}),
    bubbles.map(b => svg('circle', {cx: b.x, cy: b.y, r: b.r, class: 'point' + tone(b)}, svg('title', null, bubbleTitle(b)))),
    bubbles.filter(b => b.cases > 1 && b.r >= 4 + 3 * shortCount(b.cases).length)
      .map(b => svg('text', {x: b.x, y: b.y + 4, 'text-anchor': 'middle', class: 'inside'}, shortCount(b.cases))));
}

const shortCount = n => n < 1000 ? String(n) : three(n / 1000) + 'k';
const bubbleTitle = b => visible(b.cases === 1 ? b.first.name : `${b.first.name} and ${count(b.cases - 1, 'more case')}`);
