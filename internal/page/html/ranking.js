// Which arm is best: the arms of a suite in order.

function drawRankings(head) {
  return (head.ranking || []).map(r => section(`Which arm is best: ${visible(r.suite)}, by ${metricTitle(r.metric)}`,
    r.why ? h('p', {class: 'telling'}, name(r.why)) : [rankingNote(r), r.within && withinNote(r), drawRanked(r)]));
}

// withinNote names the arms that are hardly worse than the best, and which of them costs least.
function withinNote(r) {
  const {arms, cheapest, why, margin} = r.within;
  if (why) return h('p', {class: 'telling'}, name(why));
  const cost = cheapest && (cheapest.costOf1000 ? perThousand(cheapest.costOf1000 / 1000, r.currency) : `${number(cheapest.tokens)} tokens per trial`);
  return h('p', {class: 'note'}, `At most ${three(margin)} worse than the best (alpha ${three(r.alpha)}): `, name(arms.join(', ')), '. ',
    cheapest && arms.length > 1 && ['The cheapest of them is ', name(cheapest.arm), `: ${cost}, a point estimate without a test.`]);
}

const metricTitle = metric => metric === 'pass' ? 'pass rate' : visible(metric);

function rankingNote(r) {
  const marked = `Arms marked ${signs.pass} may be the best, ${three(100 * (1 - r.alpha))} % sure. `;
  if (r.race) return h('p', {class: 'note'}, marked, `The race saved ${number(r.race.saved)} of ${count(r.race.planned, 'call')}.`);
  return h('p', {class: 'note'}, marked, isShare(r.metric) ? 'The plot shows the mean less the best of the other means, in points, with intervals that hold together.' : 'The plot shows the mean less the best of the other means, with intervals that hold together.');
}

// differences are, arm by arm, the mean less the best of the others' means.
function differences(arms) {
  return arms.map((a, i) => {
    const others = arms.filter((b, j) => j !== i && b.mean !== null).map(b => b.mean);
    return a.mean === null || others.length === 0 ? null : a.mean - Math.max(...others);
  });
}

function rankedPlots(r) {
  if (r.race) {
    const hi = Math.max(1, ...r.arms.map(a => Math.max(a.left || 0, a.cases + a.errors)));
    return r.arms.map(a => rangePlot({value: a.left || hi, lo: 0, hi, show: asCount, tone: a.best ? 'pass' : '',
      words: `${visible(a.arm)}: ${a.left ? 'left after ' + count(a.left, 'unit') : 'stayed to the end'}`}));
  }
  const diffs = differences(r.arms);
  const show = isShare(r.metric) ? v => change(100 * v) : change;
  const reach = Math.max(0.02, ...[...diffs, ...r.arms.flatMap(a => a.interval || [])].filter(isKnown).map(Math.abs));
  const {lo, hi} = roundEnds({lo: -reach, hi: reach, show});
  return r.arms.map((a, i) => rangePlot({value: diffs[i], interval: a.interval, zero: 0, lo, hi, show, tone: a.best ? 'pass' : '',
    words: `${visible(a.arm)}: ${diffs[i] === null ? 'no mean' : signed(diffs[i])}${a.interval ? `, interval ${signed(a.interval[0])} to ${signed(a.interval[1])}` : ''}`}));
}

function drawRanked(r) {
  const known = key => r.arms.some(a => a[key] !== null && a[key] !== undefined), or = (v, show) => v === null || v === undefined ? '' : show(v);
  const extra = [['tokens', '#Tokens per trial', number], ['latencyP50Ms', '#Latency p50', duration], ['latencyP95Ms', '#p95', duration], ['cost', `#${visible(r.currency || 'Cost')} per 1,000 trials`, v => money(1000 * v)]].filter(e => known(e[0]));
  const plots = rankedPlots(r);
  return table(`Arms of ${visible(r.suite)} by ${visible(r.metric)}`,
    ['Arm', 'Best', ...(r.within ? ['Close to the best'] : []), '#Mean', r.race ? 'Left after' : 'To the best of the others', ...(r.race ? ['#Units'] : []), ...extra.map(e => e[1])],
    r.arms.map((a, i) => [name(a.arm, {title: a.arm}), a.best ? badge('pass', 'may be best') : badge('skip', 'ruled out'),
      ...(r.within ? [{not_worse: badge('pass', 'yes'), regressed: badge('fail', 'no')}[a.verdictWithin] || badge('skip', 'cannot tell')] : []), or(a.mean, isShare(r.metric) ? percent : three), plots[i],
      ...(r.race ? [a.left ? number(a.left) : 'stayed'] : []), ...extra.map(e => or(a[e[0]], e[2]))]));
}
