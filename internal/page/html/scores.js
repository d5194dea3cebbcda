// How each score and derived metric is spread over its values, on every arm.

const mostSpreadArms = 24; // in a figure

const scoreGroups = new WeakMap(); // what was found in rows, as long as they do not grow

// scoresByArm gathers the values of the trials that were judged: by suite and name of a score or a metric, and then arm by arm.
function scoresByArm(rows) {
  const known = scoreGroups.get(rows), judged = rows.judged();
  if (known && known.judged === judged) return known.groups;
  const groups = gatherScores(rows, judged);
  scoreGroups.set(rows, {judged, groups});
  return groups;
}

function gatherScores(rows, judged) {
  const suites = new Map(), {suite, arm, number} = rows.cells;
  for (let i = 0; i < rows.length; i++) {
    if (judged[i] === 0) continue;
    const names = rows.tables.number[number[i]], values = rows.values[i], found = entry(suites, suite[i], () => new Map());
    for (let k = 0; k < names.length; k++) {
      if (!isKnown(values[k])) continue;
      const group = entry(found, names[k], () => ({suite: rows.word('suite', i), key: names[k], name: numberName(names[k]), arms: new Map()}));
      entry(group.arms, arm[i], () => ({arm: rows.word('arm', i), values: []})).values.push(values[k]);
    }
  }
  const groups = [...suites.values()].flatMap(found => [...found.values()]);
  return groups.map(group => ({...group, arms: [...group.arms.values()]}));
}

// entry is the value of a key, which is made when it is new.
function entry(map, key, make) {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}

// numberName is the name of a score or a metric as people know it.
const numberName = key => visible(key.startsWith('metric.') ? key.slice(7) + ' (derived)' : key.replace(/^score\./, ''));

// isGraded reports whether a score has more values than 0 and 1.
const isGraded = f => f.arms.some(one => one.values.some(v => v !== 0 && v !== 1));

function drawScoreSpread(rows) {
  const several = rows.tables.suite.length > 1, all = scoresByArm(rows).filter(isGraded), most = mostFigures, more = all.length - most;
  if (all.length === 0) return null;
  return section('Scores',
    h('div', {class: 'figures'}, all.slice(0, most).map(f => scoreFigure(several ? `${f.name} of ${f.suite}` : f.name, f.arms))),
    h('p', {class: 'note'}, 'How many trials have which value, of trials that were judged. The upright line is the mean.',
      more > 0 && ` ${count(more, 'more score')} ${more === 1 ? 'is' : 'are'} not drawn.`));
}

// scoreFigure draws a score arm by arm on one scale.
function scoreFigure(title, arms) {
  let lo = 0, hi = 1;
  for (const one of arms) for (const v of one.values) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  const ends = roundEnds({lo, hi, show: three}), more = arms.length - mostSpreadArms;
  return h('figure', null,
    h('figcaption', null, name(title)),
    h('ul', {class: 'spreads'}, arms.slice(0, mostSpreadArms).map(one => scoreOfArm(title, one, ends))),
    more > 0 && h('p', {class: 'note'}, `and ${count(more, 'more arm')}`));
}

function scoreOfArm(title, one, ends) {
  const sorted = Float64Array.from(one.values).sort(), mean = meanOf(one.values);
  const facts = `mean ${three(mean)}, median ${three(quantile(sorted, 0.5))}, n = ${number(sorted.length)}`;
  const words = `${title} on ${one.arm}: ${facts}, least ${three(sorted[0])}, most ${three(sorted[sorted.length - 1])}`;
  return h('li', null,
    h('p', {class: 'note'}, h('b', null, name(one.arm)), ' ' + facts),
    spreadPlot({sorted, ends, show: three, marks: [[mean, '']], height: 66, words: visible(words)}));
}
