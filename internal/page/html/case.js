// The page of one case: what was asked, what every arm answered, and why that passed or did not.

const mostTrials = 200; // of a case on its page
const mostImages = 64;
const besideAnswer = []; // what `evalrun view` adds to an answer: functions of its trial that give an element, or null

async function drawCase(cases, head, suite, caseName, query) {
  const rows = cases.rows;
  const place = rows.byName.get(suite + '\n' + caseName);
  if (place === undefined) return noSuchCase(suite, caseName);
  const one = rows.cases[place];
  const trials = await rows.trials(someTrials(rows, one, query)), more = one.to - one.from - trials.length;
  const arms = new Map();
  for (const t of trials) arms.set(t.arm, [...(arms.get(t.arm) || []), t]);
  const first = trials[0], q = first.quarantine;
  return [
    h('p', {class: 'trail'}, name(one.suite), ' ', first.tags && first.tags.slice(0, 50).map(t => [h('a', {class: 'chip', href: address(['cases'], {tag: t})}, name(t)), ' ']), first.at && ['at ', name(first.at)]),
    h('h1', null, name(one.name)),
    h('p', {class: 'pager'}, pagerLink(cases.beside(one, -1), -1), ' ', pagerLink(cases.beside(one, 1), 1)),
    q && h('p', {class: 'telling'}, h('span', {class: 'chip'}, 'quarantine'), ' ', name(`${q.reason} (${q.owner}, until ${q.until})`)),
    first.cluster && h('p', {class: 'note'}, 'cluster ', name(first.cluster)),
    more > 0 && h('p', {class: 'note'}, `${count(more, 'more trial')} of this case: choose them in the table to see them here.`),
    drawPrompts(labelling.blind ? [['', trials[chosenOf(trials, query)]]] : [...arms].map(([arm, list]) => [arm, list[0]])),
    h('div', {class: 'reader'}, drawReadings(), sideLink(cases, head, one, query)),
    labelling.queue && labelling.queue(rows),
    h('div', {class: 'answers'}, labelling.blind ? drawOneAnswer(trials, one, query) : [...arms].map(([arm, list]) => drawAnswer(arm, list, arms, head, query))),
  ];
}

function noSuchCase(suite, caseName) {
  return [h('h1', null, 'No such case'), h('p', null, 'The report has no case ', name(caseName), ' in ', name(suite), '.')];
}

// someTrials chooses the trials of a case that its page shows: the first of each arm, and the one that was asked for.
function someTrials(rows, one, query) {
  const arms = new Map(), out = [];
  for (let i = one.from; i < one.to; i++) arms.set(rows.word('arm', i), 0);
  const each = Math.max(1, Math.floor(mostTrials / arms.size));
  for (let i = one.from; i < one.to; i++) {
    const arm = rows.word('arm', i), n = arms.get(arm), wanted = arm === query.get('arm') && String(rows.repeat[i]) === (query.get('repeat') || '1');
    arms.set(arm, n + 1);
    if (n < each && out.length < mostTrials || wanted) out.push(i);
  }
  return out;
}

function pagerLink(to, step, addressOf = caseAddress) {
  return to && h('a', {href: addressOf(to), rel: step < 0 ? 'prev' : 'next', 'aria-keyshortcuts': step < 0 ? 'p' : 'n'}, step < 0 ? '\u2190 ' : '', name(to.name), step > 0 ? ' \u2192' : '');
}

// drawAnswer is a card with the trials of an arm, of which one repeat is shown.
function drawAnswer(arm, list, arms, head, query) {
  const body = h('div');
  const chosen = query.get('arm') === arm && list.findIndex(t => String(t.repeat) === query.get('repeat'));
  const worst = list.reduce((at, t, i) => severity[t.outcome] < severity[list[at].outcome] ? i : at, 0);
  const show = at => {
    body.replaceChildren(...drawTrial(list[at], arms, head));
    for (const [i, button] of [...buttons.children].entries()) button.setAttribute('aria-pressed', String(i === at));
  };
  const buttons = h('div', {class: 'repeats', role: 'group', 'aria-label': 'Repeats'}, list.map((t, i) =>
    h('button', {type: 'button', onclick: () => show(i), 'aria-label': `repeat ${t.repeat}: ${t.outcome}`}, badge(t.outcome, String(t.repeat)))));
  show(chosen >= 0 && chosen !== false ? chosen : worst);
  const passed = list.filter(t => t.outcome === 'pass').length;
  return h('article', {class: 'answer' + (query.get('arm') === arm ? ' chosen' : ''), 'aria-label': arm},
    h('h2', null, name(arm)), list.length > 1 && h('p', {class: 'note'}, `${passed} of ${list.length} repeats passed`), list.length > 1 && buttons, body);
}

// chosenOf is the place of the trial that an address names, else of the first.
const chosenOf = (trials, query) => Math.max(0, trials.findIndex(t => t.arm === query.get('arm') && String(t.repeat) === (query.get('repeat') || '1')));

// drawOneAnswer is what somebody sees who labels: one answer at a time, without outcome and scores, which would lead the label.
function drawOneAnswer(trials, one, query) {
  const at = chosenOf(trials, query), t = trials[at];
  const to = other => address(['case', one.suite, one.name], {arm: other.arm, repeat: other.repeat});
  return h('article', {class: 'answer', 'aria-label': 'Answer'},
    h('h2', null, `Answer ${at + 1} of ${trials.length}`),
    trials.length > 1 && h('p', {class: 'trail'}, trials.map((other, i) => [h('a', {class: 'chip', href: to(other), 'aria-current': i === at ? 'true' : null}, `answer ${i + 1}`), ' '])),
    drawNoAnswer(t),
    hasTurns(t) ? drawTurns(t) : drawTexts(t.response),
    besideAnswer.map(draw => draw(t)),
    h('p', {class: 'note id'}, 'trial ', name(t.id)));
}

// appOf is what the application of a trial is, in words; undefined for a model.
function appOf(head, t) {
  const target = (head.run.plan.targets || []).find(one => one.suite === t.suite && one.name === t.target);
  return target && target.app;
}

function drawTrial(t, arms, head) {
  const turns = hasTurns(t);
  return [
    h('p', null, badge(t.outcome), ' ', h('span', {class: 'on'}, name(appOf(head, t) || t.model), t.response && t.response.modelVersion && [' ', name(t.response.modelVersion)])),
    drawNoAnswer(t),
    turns ? drawTurns(t) : drawTexts(t.response),
    drawModelCalls(t),
    besideAnswer.map(draw => draw(t)),
    drawDifferences(t, arms, head),
    drawScores(t.scores || []),
    drawReplies(t.judgements || []),
    drawMetrics(t.metrics || {}),
    !turns && drawSafety(t.response),
    turns && t.usage && h('h3', null, `All ${count((t.turns || []).length, hasSteps(t) ? 'step' : 'turn')} together`),
    drawCost(t),
    !turns && drawExtra(t.response),
    h('p', {class: 'note id'}, 'trial ', name(t.id)),
    h('p', {class: 'copies'}, copyTrial(t)),
    t.traceId && h('p', {class: 'note'}, 'trace id ', name(t.traceId)),
    t.changes && h('details', null, h('summary', null, 'Changed files'), prose(t.changes)),
    t.workspace && h('p', {class: 'note'}, 'workspace kept in ', name(t.workspace)),
  ].flat(Infinity).filter(Boolean);
}

function drawNoAnswer(t) {
  return [
    t.skipReason && h('p', {class: 'telling'}, 'Not sent: ', name(t.skipReason)),
    t.error && h('p', {class: 'telling', dir: 'auto'}, name(t.error.kind), ': ', t.error.status ? `${t.error.status} ` : '', visible(t.error.message)),
  ];
}

// drawDifferences compares the answer word by word with what was expected, with the baseline's, and with other arms'.
function drawDifferences(t, arms, head) {
  const answer = t.response && t.response.candidates && t.response.candidates[0] && t.response.candidates[0].text;
  if (!answer) return null;
  const against = [];
  for (const s of t.scores || []) {
    const m = /^expected: ([^]*)\nactual: {3}([^]*)$/.exec(s.diff || '');
    if (m && !s.passed) against.push(['what was expected', m[1], m[2]]);
  }
  for (const a of (head.comparison && head.comparison.arms) || []) {
    if (a.suite !== t.suite || a.headArm !== t.arm) continue;
    const flip = (a.flips || []).find(f => f.case === t.case);
    if (flip && flip.baseAnswer) against.push(['the baseline', flip.baseAnswer, answer]);
  }
  for (const [arm, list] of arms) {
    const other = list[0].response && list[0].response.candidates && list[0].response.candidates[0] && list[0].response.candidates[0].text;
    if (arm !== t.arm && other && against.length < 20) against.push([arm, other, answer]);
  }
  if (against.length === 0) return null;
  const place = h('div');
  const show = at => {
    const [label, before, after] = against[at] || [];
    place.replaceChildren(...(label === undefined ? [] : [before === after ? h('p', {class: 'note'}, 'The same words.') : drawDiff(before, after, 'Difference from ' + label)]));
  };
  const expected = against[0][0] === 'what was expected' || against[0][0] === 'the baseline' ? 0 : -1;
  const select = h('select', {onchange: () => show(Number(select.value))}, h('option', {value: '-1'}, 'nothing'), against.map(([label], i) => h('option', {value: String(i)}, visible(label))));
  select.value = String(expected);
  show(expected);
  return h('div', {class: 'differences'}, h('label', null, h('span', null, 'Words that differ from'), ' ', select), place);
}

function drawScores(scores) {
  if (scores.length === 0) return null;
  return h('ul', {class: 'scores', 'aria-label': 'Scores'}, scores.slice(0, 100).map(s => {
    const outcome = s.value === null ? 'error' : s.passed ? 'pass' : 'fail';
    const label = s.name && s.name !== s.scorer ? `${s.name} (${s.scorer})` : s.scorer;
    return h('li', null, badge(outcome, s.value === null ? 'unscored' : s.passed ? 'passed' : 'failed'), ' ', h('b', null, name(label)),
      s.value !== null && h('span', {class: 'on'}, ' ' + three(s.value)), s.weight !== 1 && h('span', {class: 'on'}, ` weight ${three(s.weight)}`), s.required && h('span', {class: 'on'}, ' required'),
      h('p', {class: 'telling', dir: 'auto'}, visible(s.reason)),
      drawJudged(s.judged),
      s.diff && !s.passed && h('details', null, h('summary', null, 'Expected and actual'), prose(s.diff)));
  }), scores.length > 100 && h('li', null, `and ${number(scores.length - 100)} more`));
}

// drawMetrics shows the metrics that are derived from the scores.
function drawMetrics(metrics) {
  const all = Object.entries(metrics);
  return all.length > 0 && [h('h3', null, 'Derived metrics'), h('dl', {class: 'facts'}, all.slice(0, 100).map(([k, v]) => [h('dt', null, name(k)), h('dd', null, three(v))]))];
}

const probabilities = ['NEGLIGIBLE', 'LOW', 'MEDIUM', 'HIGH'];

// drawRatings draws ratings as bars of one to four parts.
function drawRatings(ratings, title) {
  if (!ratings || ratings.length === 0) return null;
  return [h('h3', null, title), h('ul', {class: 'ratings'}, ratings.slice(0, 50).map(r => {
    const level = probabilities.indexOf(r.probability);
    return h('li', null, h('span', null, name(String(r.category).replace('HARM_CATEGORY_', '').replaceAll('_', ' ').toLowerCase())),
      svg('svg', {viewBox: '0 0 84 10', class: 'meter', 'aria-hidden': 'true'}, [0, 1, 2, 3].map(i => svg('rect', {x: i * 21, y: 1, width: 19, height: 8, rx: 2, class: i <= level ? 'level' + level : 'off'}))),
      h('span', {class: 'on'}, name(r.probability), level >= 0 && `, ${level + 1} of 4`, r.blocked && h('b', null, ' blocked')));
  }))];
}
