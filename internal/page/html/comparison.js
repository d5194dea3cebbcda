// The run against its baseline.

const verdictWords = {
  __proto__: null, improved: 'improved', not_worse: 'not worse', not_worse_but_worse: 'not worse by more than the margin, but worse', regressed: 'regressed',
  inconclusive: 'cannot tell', invalid: 'invalid', no_margin: 'no margin stated', not_compared: 'not compared',
};
const verdictTones = {__proto__: null, improved: 'pass', not_worse: 'pass', regressed: 'fail', invalid: 'error'};
const toneOf = state => verdictTones[state] || 'skip'; // undecided
const isRatio = metric => metric === 'latency' || metric === 'tokens';

const sideName = side => [side.name, side.run && side.run !== side.name ? (side.name ? `(${side.run})` : side.run) : ''].filter(Boolean).join(' ');
const armName = a => a.baseArm && a.baseArm !== a.headArm ? `${a.baseArm} \u2192 ${a.headArm}` : a.headArm;

// reading is the comparison of an arm in words, the same that all reports have.
const reading = (head, i) => (head.readings || [])[i] || {changes: '', cases: [], metrics: []};

// briefly says how many cases of an arm changed, and how many were compared.
const briefly = (head, i) => [reading(head, i).changes, reading(head, i).cases[0]].filter(Boolean).join('; ');

// foundBy is what a comparison found, for the card.
const foundBy = c => ({style: toneOf(c.state), words: c.words || 'Nothing is compared', sentence: c.sentence, metric: decisive(worstArm(c))});
// worstArm is the arm that a comparison speaks of first.
const worstArm = c => c.arms[c.worst] || {};
// decisive is the metric that an arm's finding is about, where it has a verdict to draw.
const decisive = a => (a.metrics || []).find(m => m.name === a.metric && m.gated && isKnown(m.estimate));
// nextAfter is what a reader does next after a comparison; null where nothing is left to do.
const nextAfter = (head, c) => c && c.next ? [c.state !== 'inconclusive' && worseLink(head, worstArm(c), c.next) || name(c.next), '.'] : null;

// drawCard says in a card what came out: a verdict, a sentence, facts, what follows, and the metric that decided.
function drawCard({style, words, sentence, metric}, facts, inside, ...below) {
  return h('section', {class: 'verdict ' + style, 'aria-labelledby': 'verdict'},
    h('div', {class: 'said'},
      h('div', null,
        h('h1', {id: 'verdict'}, h('span', {class: 'sign', 'aria-hidden': 'true'}, signs[style]), name(words)),
        sentence && h('p', {class: 'sentence'}, name(sentence)),
        h('p', {class: 'lead'}, facts.filter(Boolean).map((fact, i) => [i > 0 && ' \u00b7 ', name(fact)])),
        inside),
      metric && drawDifference(metric)),
    below);
}

const drawNextLine = next => next && h('p', {class: 'next'}, h('b', null, 'Next: '), next);
const drawNotes = notes => (notes || []).length > 0 && h('ul', {class: 'lines note', 'aria-label': 'Notes on the verdict'}, notes.map(note => h('li', null, name(note))));

// drawArmsCompared lists what the comparison found on each of several arms.
function drawArmsCompared(head) {
  const c = head.comparison;
  if (c.notCompared) return section('Against the baseline', h('p', null, 'Not compared (--no-baseline).'));
  return c.arms.length > 1 && section('Against the baseline',
    h('ul', {class: 'lines'}, c.arms.slice(0, 20).map((a, i) => h('li', null,
      stateBadge(a), ' ', name(a.suite + ' on ' + armName(a)), h('span', {class: 'on'}, ' ', name(briefly(head, i))), ' ', worseLink(head, a)))));
}

const stateBadge = ({state}) => badge(toneOf(state), verdictWords[state] || 'not compared');

// worseLink leads to the answers of an arm that got worse.
function worseLink(head, a, words = '') {
  const suite = head.run.suites.length > 1 ? 'suite:' + quotedIfNeeded(a.suite) : '', n = (a.flips || []).filter(isWorse).length;
  return n > 0 && h('a', {href: matrixAddress({only: 'regressed', q: suite}, [a.headArm])}, words || `the ${count(n, 'case')} that got worse`);
}

const isWorse = f => f.headPassed * f.baseJudged < f.basePassed * f.headJudged;

function drawComparison(head, rows) {
  const c = head.comparison, plot = against(head), base = c.base.name || c.base.run;
  return [
    drawCard(foundBy(c), [`against ${base}${c.base.startedAt ? ` of ${when(c.base.startedAt)} UTC` : ''}`, c.arms.length > 1 ? count(c.arms.length, 'arm') : worstArm(c).headArm],
      [drawNextLine(nextAfter(head, c)), drawNotes(head.verdictNotes)]),
    c.warnings && h('ul', {class: 'notices', 'aria-label': 'Warnings'}, c.warnings.slice(0, 20).map(w => h('li', null, name(w)))),
    c.arms.slice(0, 50).map((a, i) => drawArmComparison(head, rows, a, reading(head, i), plot(a, i))),
  ];
}

const advices = m => m.gated && m.advice && !m.advisory;

// drawArmComparison shows what changed on an arm: its cases, what is sent, its metrics, and what they rest on.
function drawArmComparison(head, rows, a, words, plot) {
  const metrics = a.metrics || [], safety = (a.safety || []).filter(s => s.headHigh !== s.baseHigh || s.headBlocked !== s.baseBlocked), title = a.suite + ' on ' + armName(a);
  return h('section', null,
    h('h2', null, name(title), ' ', stateBadge(a)),
    head.comparison.arms.length > 1 && h('p', {class: 'telling'}, name(a.sentence || '')),
    drawFlips(rows, a, words.changes, worseLink(head, a)),
    a.baseSent && [h('h3', null, 'What changed in what is sent, here for ', name(a.sentFor)), drawDiff(a.baseSent, a.headSent, 'From the baseline to this run')],
    metrics.length > 0 && [h('h3', null, 'Metrics'), table(`Metrics of ${title}, base and head`, ['Metric', '#base', '#head', 'Base to head', '#difference', 'Interval and margin', '#n', 'Verdict'], metrics.map(drawMetric))],
    [...words.cases, ...words.metrics, ...metrics.filter(advices).map(m => `${m.name}: to know more: ${m.advice}`)].map(line => h('p', {class: 'note'}, name(line))),
    (words.tests || []).length > 0 && h('details', null, h('summary', null, 'Tests'), words.tests.map(line => h('p', {class: 'note'}, name(line)))),
    plot,
    a.slices && a.slices.some(s => s.standsOut) && h('p', {class: 'note'}, 'Tags that look worse, a hint and no verdict: ', a.slices.filter(s => s.standsOut).slice(0, 20).map((s, i) => [i > 0 && ', ', name(s.tag), ` (${signed(s.estimate)}, n=${s.n})`])),
    safety.length > 0 && [h('h3', null, 'Safety ratings that moved'), table(`Safety ratings of ${title}, base and head`, ['Category', '#rated MEDIUM or higher', '#was', '#blocked', '#was '], safety.slice(0, 50).map(s => [name(s.category), percent(s.headHigh), percent(s.baseHigh), percent(s.headBlocked), percent(s.baseBlocked)]))]);
}

// differencePlot is the difference of a metric with its interval and margin, for rangePlot.
function differencePlot(m) {
  const ratio = isRatio(m.name), show = showDifference(m), still = ratio ? 1 : 0;
  const tone = m.gated ? {pass: 'pass', fail: 'fail'}[toneOf(m.verdict)] || '' : '';
  const limit = m.margin === undefined || m.margin === null ? null : ratio ? m.margin : m.name === 'blocked' ? m.margin : -m.margin;
  const reach = Math.max(0.02, ...[m.estimate, ...(m.interval || []), limit === null ? still : limit].filter(Number.isFinite).map(v => Math.abs(v - still))) * 1.15;
  const words = `${m.name}: ${show(m.estimate)}${m.interval ? `, ${Number((100 * m.level).toPrecision(3))} % interval ${show(m.interval[0])} to ${show(m.interval[1])}` : ''}${limit === null ? '' : ', margin ' + show(limit)}`;
  const scale = ratio ? v => '\u00d7 ' + three(v) : isShare(m.name) ? v => change(100 * v) : change;
  const ends = roundEnds({lo: ratio ? Math.max(0, 1 - reach) : -reach, hi: still + reach, show: scale, least: ratio ? 0 : undefined});
  return {value: m.estimate, interval: m.interval, limit, zero: still, ...ends, show: scale, tone, words};
}

// showDifference writes how much a metric changed: as a factor, in points, or as a number.
const showDifference = m => isRatio(m.name) ? v => '\u00d7 ' + v.toFixed(3) : isShare(m.name) ? v => `${change(100 * v)} points` : signed;
const isShare = metric => metric === 'pass' || metric === 'blocked';

function drawMetric(m) {
  const plot = differencePlot(m);
  return [
    name(m.name), metricValue(m, m.base), metricValue(m, m.head), metricPair(m, plot.tone),
    showDifference(m)(m.estimate), rangePlot(plot), number(m.n), m.verdict ? badge(toneOf(m.verdict), verdictWords[m.verdict]) : '',
  ];
}

// metricValue writes a value of a metric in its unit.
const metricValue = (m, v) => m.name === 'latency' ? duration(v) : m.name === 'tokens' ? asCount(v) : isShare(m.name) ? percent(v) : three(v);

// metricPair draws a metric of base and head: shares on the whole scale, all else from 0 on.
function metricPair(m, tone) {
  const ratio = isRatio(m.name), show = v => isShare(m.name) ? asShare(v) : metricValue(m, v);
  const hi = ratio ? Math.max(m.base, m.head) * 1.05 : Math.max(1, m.base, m.head), lo = Math.min(0, m.base, m.head);
  return pairPlot({base: m.base, head: m.head, lo, hi, show, tone, words: `${m.name}: base ${show(m.base)}, head ${show(m.head)}`});
}

const mostFlips = 100;

// drawFlips lists the cases whose outcome changed: what they asked and wanted, and both answers.
function drawFlips(rows, a, changes, worse) {
  const flips = a.flips || [];
  if (!changes && flips.length === 0) return null;
  const alone = flips.length > 0 && flips.every(f => f.singleSample) && ' Each side has one sample of a case: that one of them changed is no evidence by itself.';
  const placeOf = f => {
    const one = rows.cases[rows.byName.get(a.suite + '\n' + f.case)], places = one ? rows.placesOf(one, a.headArm) : [];
    return places.find(i => rows.wanted[i] || rows.why[i]) ?? places[0];
  };
  const chance = f => !isKnown(f.p) ? '' : f.p > 0.1 ? ' (can be chance)' : ' (more than chance)', of = column => f => column[placeOf(f)];
  return [h('h3', null, 'Cases whose outcome changed'), changes && h('p', {class: 'changes'}, changes, worse && ['; in the matrix: ', worse], alone && [worse ? '.' : '', alone]),
    flips.length > 0 && toldTable(`Cases of ${a.suite} on ${armName(a)} whose outcome changed`, [
      ['Case', f => [badge(isWorse(f) ? 'fail' : 'pass', isWorse(f) ? 'newly failing' : 'newly passing'), ' ', h('a', {href: address(['case', a.suite, f.case])}, name(f.case)),
        h('span', {class: 'on'}, ` ${f.headPassed}/${f.headJudged}, was ${f.basePassed}/${f.baseJudged}${chance(f)}`)]],
      ['Asked', of(rows.input)], ['Wanted', of(rows.wanted)], ['Answer before', f => f.baseAnswer], ['Answer', f => f.headAnswer],
    ], flips.slice(0, mostFlips), 'flips'),
    flips.length > mostFlips && h('p', {class: 'note'}, `and ${count(flips.length - mostFlips, 'more case')}`)];
}

// toldTable shows items by columns of texts, of which those that no item has are left out; the first column is drawn.
function toldTable(caption, [first, ...others], items, also = '') {
  const texts = others.filter(([, of]) => items.some(of)), said = text => h('p', {class: 'telling', dir: 'auto'}, visible(text || ''));
  return table(caption, [first, ...texts].map(([title]) => title), items.map(one => [first[1](one), ...texts.map(([, of]) => said(of(one)))]), {class: `told ${also}`});
}
