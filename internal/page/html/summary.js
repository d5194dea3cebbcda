// The first page: what came out, what broke, and what the gate says of it.

const outcomes = ['fail', 'error', 'skip', 'pass'];

function drawSummary(head, rows) {
  return [
    drawVerdict(head),
    drawNotices(head, rows),
    head.comparison && drawArmsCompared(head),
    drawRankings(head),
    drawTroubles(head, rows),
    rulesOf(head).length > 0 && drawGate(head),
    drawArms(head),
    drawTradeoff(head, rows),
    drawVersus(rows),
    drawClassifications(head),
    drawJudging(head),
    drawTags(rows),
    drawScoreSpread(rows),
    drawSpread(rows),
  ];
}

// rulesOf are the rules of the gate; none when no gate was applied.
function rulesOf(head) {
  return head.gate ? head.gate.rules : [];
}

// servicesOf names the services that a run called: the unnamed one by its address, the others by their names too.
function servicesOf(run) {
  const named = run.services || {}, targets = run.plan.targets || [];
  const unnamed = Object.keys(named).length === 0 || targets.some(t => !t.app && !t.service);
  return [unnamed && run.service.baseUrl, ...Object.keys(named).sort().map(n => n + ' ' + named[n].baseUrl)].filter(Boolean).join(', ');
}

// verdictOf is what the page says first: a few words, and a sentence. What a run could not judge comes before what it compared, and a
// comparison before the order of the arms.
function verdictOf(head) {
  const {style, verdict, why} = head.headline, c = compared(head), broken = rulesOf(head).filter(r => !r.holds);
  const undecided = head.running || head.run.interrupted || head.run.partial || style === 'error';
  if (!undecided && c && c.words && (broken.length === 0 || broken.some(r => r.name === 'baseline'))) {
    return {...foundBy(c), arm: worstArm(c).headArm};
  }
  if (!undecided && style !== 'fail' && (head.ranking || []).length === 1) return {style, rate: false, ...standing(head.ranking[0])};
  const has = outcomes.reduce((sum, o) => sum + (o === 'skip' ? 0 : head.summary[o]), 0), planned = head.run.plan.trials;
  const more = undecided && has < planned ? `: ${number(has)} of ${count(planned, 'trial')} have an outcome` : !undecided && broken.length > 0 ? ': ' + broken.slice(0, 3).map(ruleInWords).join('; ') : '';
  return {style, words: verdict, sentence: why + more + '.'};
}

const compared = head => head.comparison && !head.comparison.notCompared ? head.comparison : null;

// standing says which arms may be the best.
function standing(r) {
  const best = r.arms.filter(a => a.best).map(a => a.arm), all = r.arms.length, by = metricTitle(r.metric);
  const some = list => list.slice(0, 5).join(', ') + (list.length > 5 ? ' and others' : ''), out = r.arms.filter(a => !a.best).map(a => a.arm), first = r.arms[0];
  const highest = isKnown(first.mean) ? ` ${first.arm} has the highest ${by}, ${isShare(r.metric) ? percent(first.mean) : three(first.mean)}.` : '';
  if (r.why || best.length === 0) return {style: 'skip', words: 'No arm is the best', sentence: r.why || ''};
  if (best.length === 1) return {words: `${best[0]} is the best of ${all} arms`, sentence: `All others are ruled out by ${by}.${highest}`};
  const words = best.length === all ? `No winner: any of ${all} arms may be the best` : `No single winner: ${best.length} of ${all} arms may be the best`;
  return {style: 'skip', words, sentence: `Too close to tell by ${by}: ${some(best)}.${highest}${out.length > 0 ? ` Ruled out: ${some(out)}.` : ''}`};
}

const ruleInWords = r => [r.arm && r.arm + ':', r.name, isKnown(r.value) ? `${ruleScale(r).write(r.value)}, ${atLeast(r) ? 'at least' : 'at most'} ${ruleScale(r).write(r.limit)}` : r.why || ''].filter(Boolean).join(' ');

function drawVerdict(head) {
  const {rate = true, ...found} = verdictOf(head), s = head.summary, broken = rulesOf(head).filter(r => !r.holds).length, open = head.gate && head.gate.exit === 3;
  const facts = [
    s.passRate !== null && rate && `${percent(s.passRate)} pass rate${head.run.partial || head.running ? ' so far' : ''}`,
    broken > 0 ? `${broken} of ${count(rulesOf(head).length, 'rule')} ${open ? 'undecided' : 'broken'}` : head.gate && head.gate.exit === 0 && rulesOf(head).length > 0 && 'gate holds',
    head.gate ? 'exit ' + head.gate.exit : head.noVerdict, found.arm,
  ];
  return drawCard(found, facts, [drawChange(head), drawNext(head), drawNotes(head.verdictNotes)], outcomeBar(s), drawTiles(head), drawOrigin(head));
}

// drawChange shows what the worst arm sends otherwise than in the baseline.
function drawChange(head) {
  const {baseSent, headSent} = compared(head) ? worstArm(compared(head)) : {};
  return baseSent && [h('p', {class: 'next'}, h('b', null, 'Changed in what is sent:')), drawDiff(baseSent, headSent, 'From the baseline to this run', true)];
}

// canResume says whether a run can go on: shards are merged, and what sent nothing is made again.
const canResume = run => !run.plan.shard && !run.rescoredFrom && !run.replay;

// drawNext says what a reader does next.
function drawNext(head) {
  const undecided = (head.ranking || []).filter(r => !r.within && !r.race && r.arms.filter(a => a.best).length > 1);
  const next = head.running ? null :
    head.run.interrupted || head.run.partial ? canResume(head.run) && [h('code', null, 'evalrun resume ' + visible(head.run.id)), head.run.waiting ? ' collects the answers.' : ' runs what is missing, and keeps the answers so far.'] :
    nextAfter(head, compared(head)) ||
    (undecided.length > 0 ? [h('code', null, `evalrun compare ${visible(head.run.id)} --rank --within 0.05`), ' names the arms that are hardly worse than the best, and the cheapest of them.'] :
    head.summary.fail + head.summary.error > 0 && !(head.ranking || []).length ? ['Read ', h('a', {href: address(['cases'], {outcome: head.summary.fail > 0 ? 'fail' : 'error'})}, 'what did not pass'), '.'] : null);
  return drawNextLine(next);
}

// drawDifference draws the metric that decided, with its interval and the margin.
function drawDifference(m) {
  const {words, ...plot} = differencePlot(m), level = Number((100 * (m.level || 0.9)).toPrecision(3)), limit = isKnown(m.margin) ? ` The upright line is the margin, ${showDifference(m)(plot.limit)}.` : '';
  return h('figure', {class: 'difference'}, h('figcaption', null, `${m.name === 'pass' ? 'Pass rate' : visible(m.name)}: ${metricValue(m, m.base)} before, ${metricValue(m, m.head)} now, ${showDifference(m)(m.estimate)}`),
    rangePlot({...plot, words, size: largePlot}), h('p', {class: 'note'}, `The difference${m.interval ? ` with its ${level} % interval, ${m.interval.map(showDifference(m)).join(' to ')}` : ''}.${limit}`));
}

function drawTiles(head) {
  const s = head.summary, tile = (value, words) => h('li', null, h('span', {class: 'tile'}, h('b', null, value), ' ', h('span', null, words)));
  const took = new Date(head.run.finishedAt) - new Date(head.run.startedAt); // not a number where the file has no times
  return h('ul', {class: 'tiles'}, outcomes.map(o => h('li', null,
    h('a', {href: address(['cases'], {outcome: o}), class: 'tile ' + (s[o] > 0 ? o : 'none')}, h('b', null, number(s[o])), ' ', h('span', null, o)))),
    tile(number(s.tokens.total), 'tokens'),
    s.judging && [tile(number(s.judging.calls), 'calls to judges'), tile(number(s.judging.tokens.total), 'tokens of judges')],
    took >= 0 && tile(duration(took), 'from start to end'),
    head.run.spent && head.run.spent.currency && tile(money(head.run.spent.money), name(head.run.spent.currency)));
}

// drawOrigin says which run this is, and which one it was compared with.
function drawOrigin(head) {
  const {run} = head, c = compared(head), labels = Object.entries(run.labels || {}).slice(0, 6).map(([k, v]) => v ? `${k}=${v}` : k).join(', ');
  const service = run.emulator ? 'emulator' : servicesOf(run) || ((run.plan.targets || []).some(t => t.app) ? '' : 'not recorded');
  return h('p', {class: 'note'},
    c && ['Compared with ', name(sideName(c.base)), c.arms.length === 1 && [': ', name(briefly(head, 0))], '. ', h('a', {href: address(['comparison'])}, 'The whole comparison'), '. '],
    run.startedAt ? ['Started ', name(when(run.startedAt)), ' UTC'] : 'Started at an unknown time',
    run.commit && [', commit ', name(run.commit.slice(0, 8)), run.branch && [' on ', name(run.branch)]], labels && [', ', name(labels)],
    service && [', service ', name(service)], ', run ', name(run.id), '.');
}

function drawNotices(head, rows) {
  const notices = head.notices.slice(0, 20);
  if (head.notices.length > 20) notices.push(`and ${count(head.notices.length - 20, 'more notice')}`);
  if (head.noContent) notices.push('With --no-content: prompts and answers were not kept, only their lengths and hashes.');
  const {passes, texts, images} = rows.left;
  if (passes > 0) notices.push(`Left out of the table: ${count(passes, 'trial')} that passed. A page holds 200,000; the counts and the arms are of all.`);
  if (texts > 0) notices.push(`Cut: ${count(texts, 'long text')}; evalrun show has the whole.`);
  if (images > 0) notices.push(`Shown by name only: ${count(images, 'image')}, too large or no longer where the suite had it.`);
  return notices.length > 0 && h('ul', {class: 'notices', 'aria-label': 'Notices'}, notices.map(text => h('li', null, name(text))));
}

// standings say how a failure did in the baseline of the run's gate, those first that a reader wants to see first; '' where nothing says so.
const standings = ['newly failing', 'not in the baseline', 'changed since the baseline', '', 'also failed in the baseline'];

// standingOf is the number of a trial's standing.
function standingOf(rows, i) {
  const at = standings.findIndex(s => s && rows.words('note', i).includes(s));
  return at < 0 ? standings.indexOf('') : at;
}

// drawTroubles groups what failed by what it failed of: what is new first, then the most frequent, with examples.
function drawTroubles(head, rows) {
  const groups = new Map();
  for (let i = 0; i < rows.length; i++) {
    const outcome = rows.word('outcome', i);
    if (outcome !== 'fail' && outcome !== 'error') continue;
    const facet = outcome === 'fail' ? 'scorer' : 'error', word = rows.word(facet, i), standing = standingOf(rows, i), key = outcome + '\n' + standing + '\n' + word;
    if (!groups.has(key)) groups.set(key, {outcome, facet, word, standing, n: 0, examples: []});
    const g = groups.get(key);
    g.n++;
    if (g.examples.length < (standing === 0 ? 6 : 3) && (g.examples.length === 0 || rows.names[g.examples.at(-1)] !== rows.names[i])) g.examples.push(i);
  }
  if (groups.size === 0) return null;
  const sorted = [...groups.values()].sort((a, b) => outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome) || a.standing - b.standing || b.n - a.n), shown = sorted.slice(0, 12);
  const before = answersBefore(head);
  const old = standings.length - 1, title = sorted.some(g => g.standing === 0) ? 'What got worse' : sorted.every(g => g.standing === old) ? 'What failed before too' : head.run.partial || head.running ? 'What failed so far' : 'What broke';
  return section(title,
    h('ul', {class: 'groups'}, shown.map(g => h('li', {class: 'group ' + g.outcome},
      h('h3', null, badge(g.outcome, number(g.n)), ' ', standings[g.standing] && h('span', {class: 'chip'}, standings[g.standing]), ' ', name(g.word || (g.outcome === 'fail' ? 'weighted mean below the threshold' : 'error'))),
      drawExamples(rows, g, before),
      g.n > g.examples.length && h('a', {class: 'more', href: address(['cases'], {outcome: g.outcome, [g.facet]: g.word, note: standings[g.standing]})}, `all ${number(g.n)} of them`)))),
    sorted.length > shown.length && h('p', {class: 'note'}, `and ${count(sorted.length - shown.length, 'more group')}: `, h('a', {href: address(['cases'])}, 'see the table')));
}

// drawExamples shows what cases of a group asked and wanted, and what they got.
function drawExamples(rows, g, before) {
  const compares = g.outcome === 'fail' && g.examples.every(i => rows.wanted[i]), was = i => before.get(armCase(rows.word('suite', i), rows.word('arm', i), rows.names[i]));
  return toldTable(`Examples: ${[standings[g.standing], g.word || g.outcome].filter(Boolean).join(', ')}`, [
    ['Case', i => [h('a', {href: trialAddress(rows, i)}, name(rows.names[i])), h('span', {class: 'on'}, ' on ', name(rows.word('arm', i)))]],
    ['Asked', i => rows.input[i]],
    compares ? ['Wanted', i => rows.wanted[i]] : [g.outcome === 'fail' ? 'Reason' : 'Error', i => rows.why[i]],
    ['Answer before', was],
    ['Answer', i => rows.answer[i]],
  ], g.examples);
}

const armCase = (suite, arm, one) => [suite, arm, one].join('\n');

// answersBefore are the answers of the baseline to cases whose outcome changed, as far as the report has them.
function answersBefore(head) {
  const out = new Map(), c = compared(head);
  for (const a of c ? c.arms : []) for (const f of a.flips || []) if (f.baseAnswer) out.set(armCase(a.suite, a.headArm, f.case), f.baseAnswer);
  return out;
}

// atLeast says whether a rule bounds its value from below.
const atLeast = rule => rule.name === 'passRate' || rule.name.startsWith('mean ') || rule.name.startsWith('classification ');

// manyRules is how many rules are shown at once; of more, those that hold are folded.
const manyRules = 8;

function drawGate(head) {
  const held = head.gate.rules.filter(r => r.holds && !r.warned), others = head.gate.rules.filter(r => !r.holds || r.warned);
  const open = head.gate.rules.length <= manyRules ? [...others, ...held] : others;
  return section('Gate',
    open.length > 0 && ruleTable('Rules of the gate', open, head),
    open.length < head.gate.rules.length && h('details', null, h('summary', null, `${others.length > 0 ? 'The other ' : ''}${count(held.length, 'rule')} hold`), ruleTable('Rules that hold', held, head)),
    h('p', {class: 'note'}, 'The band is the 90 % interval, or that of the rule, the upright line the limit.'));
}

function ruleTable(caption, rules, head) {
  return table(caption, ['Rule', 'Where', '#Value', '#Limit', 'Interval and limit', 'Holds'], rules.slice(0, 200).map(r => drawRule(r, head)));
}

// ruleScale is how the numbers of a rule are written, and the scale of its plot: shares have the whole of it where they are bounded from below.
function ruleScale(r) {
  const values = [r.limit, r.value].filter(isKnown), lo = Math.min(0, ...values), hi = Math.max(...values);
  if (r.name.startsWith('latency')) return {write: duration, show: duration, lo: 0, hi: hi * 1.2};
  if (lo < 0 || hi > 1) return {write: three, ...roundEnds({lo, hi, show: three}), show: three};
  return {write: percent, show: asShare, lo: 0, hi: atLeast(r) ? 1 : Math.min(1, Math.max(r.limit * 3, hi, 0.05))};
}

// intervalOf is the interval of the mean that a rule bounds, null where it has none.
function intervalOf(r, arm) {
  if (arm && r.name === 'passRate') return arm.interval;
  const metric = r.name.startsWith('mean ') ? r.name.slice(5) : '';
  return arm && metric && Object.hasOwn(arm.metrics, metric) ? arm.metrics[metric].interval : null;
}

function drawRule(r, head) {
  const several = head.run.suites.length > 1, interval = r.interval || intervalOf(r, head.arms.find(a => a.suite === r.suite && a.arm === r.arm));
  const known = isKnown(r.value), {write, ...scale} = ruleScale(r), tone = r.holds ? 'pass' : 'fail', bound = atLeast(r) ? 'at least' : 'at most';
  const words = `${r.name} ${known ? write(r.value) : ''}${interval ? `, ${three(100 * (r.level || 0.9))} % interval ${interval.map(write).join(' to ')}` : ''}, ${bound} ${write(r.limit)}`;
  const inWords = !known && (r.verdict || r.why), open = !r.holds && r.verdict === 'inconclusive';
  return [
    name(r.name), name([several || !r.arm ? r.suite : '', r.arm].filter(Boolean).join(' on ')),
    known ? write(r.value) : r.verdict ? verdictWords[r.verdict] : 'nothing judged',
    inWords ? '' : (atLeast(r) ? '\u2265 ' : '\u2264 ') + write(r.limit),
    inWords ? h('span', {class: 'telling'}, name(r.why || '')) : known ? rangePlot({value: r.value, interval, limit: r.limit, ...scale, tone, words}) : '',
    badge(open ? 'skip' : tone, open ? 'cannot tell' : r.warned ? 'warns' : r.holds ? 'holds' : 'broken'),
  ];
}

const mostArms = 200;

function drawArms(head) {
  const suites = [...new Set(head.arms.map(a => a.suite))];
  return section('Arms', suites.map(suite => [
    suites.length > 1 && h('h3', null, name(suite)),
    armTable(suite, head.arms.filter(a => a.suite === suite), suites.length > 1),
  ]), h('details', null, h('summary', null, 'What is under test, and how steady repeats are'), h('dl', {class: 'facts'}, head.arms.slice(0, mostArms).map(a => [
    h('dt', null, name(suites.length > 1 ? `${a.suite} on ${a.arm}` : a.arm)),
    h('dd', null, name([a.app || a.model, a.version && 'version ' + a.version, a.stream && 'streamed', a.sampling && sampling(a.sampling), a.repeats && steady(a.repeats)].filter(Boolean).join(', ') || 'not recorded')),
  ]))));
}

function armTable(suite, arms, several) {
  const metrics = [...new Set(arms.flatMap(a => Object.keys(a.metrics)))].slice(0, 12);
  const outcomeCell = (a, o) => a[o] > 0 ? h('a', {href: address(['cases'], {outcome: o, arm: a.arm, suite: several ? suite : ''})}, number(a[o])) : '0';
  return [table('Arms of ' + suite, ['Arm', ...outcomes.map(o => '#' + o), '#pass rate', '90 % interval', ...metrics.map(m => '#' + m), '#tokens', '#mean latency'], arms.slice(0, mostArms).map(a => [
    name(a.arm),
    ...outcomes.map(o => outcomeCell(a, o)),
    a.passRate === null ? '\u2013' : percent(a.passRate),
    a.passRate === null ? '' : rangePlot({value: a.passRate, interval: a.interval, words: `pass rate ${percent(a.passRate)}, 90 % interval ${percent(a.interval[0])} to ${percent(a.interval[1])}`}),
    ...metrics.map(m => Object.hasOwn(a.metrics, m) ? h('span', {title: `90 % interval ${three(a.metrics[m].interval[0])} to ${three(a.metrics[m].interval[1])}, n=${a.metrics[m].n}`}, three(a.metrics[m].mean)) : ''),
    number(a.tokens.total), a.meanLatencyMs > 0 ? duration(a.meanLatencyMs) : '\u2013',
  ])), arms.length > mostArms && h('p', {class: 'note'}, `and ${count(arms.length - mostArms, 'more arm')}`)];
}

const sampling = s => ['temperature', 'topP', 'topK'].filter(k => s[k] !== undefined && s[k] !== null).map(k => `${k} ${s[k]}${(s.defaults || []).includes(k) ? ' (default)' : ''}`).join(', ');
function steady(r) {
  const k = r.passAtK.length, chance = k > 1 && r.passAtK[k - 1] !== null ? `, pass@${k} ${three(r.passAtK[k - 1])}, pass^${k} ${three(r.passHatK[k - 1])}` : '';
  return `${r.stablePass} cases always pass, ${r.stableFail} never, ${r.flaky} are flaky${chance}`;
}

// drawTags shows among which cases trials pass least often.
function drawTags(rows) {
  const passed = new Map(), judged = new Map();
  for (let i = 0; i < rows.length; i++) {
    const outcome = rows.word('outcome', i);
    if (outcome !== 'pass' && outcome !== 'fail') continue;
    for (const tag of rows.words('tag', i)) {
      judged.set(tag, (judged.get(tag) || 0) + 1);
      if (outcome === 'pass') passed.set(tag, (passed.get(tag) || 0) + 1);
    }
  }
  if (judged.size < 2 || rows.left.passes > 0) return null;
  const rate = tag => (passed.get(tag) || 0) / judged.get(tag), tags = [...judged.keys()].sort((a, b) => rate(a) - rate(b) || judged.get(b) - judged.get(a));
  const shown = tags.slice(0, 12);
  return section('By tag', table('Pass rate of trials by tag', ['Tag', '#trials', '#pass rate', 'Lowest first'], shown.map(tag => [
    h('a', {href: address(['cases'], {tag})}, name(tag)), number(judged.get(tag)), percent(rate(tag)), rangePlot({value: rate(tag), words: `${percent(rate(tag))} of the trials passed`}),
  ])), tags.length > shown.length && h('p', {class: 'note'}, `and ${count(tags.length - shown.length, 'more tag')}`));
}
