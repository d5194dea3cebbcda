// The comparisons of the runs of a site, the newest run first.

const comparisonAddress = c => `${root}comparisons/${c.base}--${c.head}.html#/comparison`;

async function showComparisons(main) {
  const all = await get('comparisons'), runs = new Map((await get('runs')).map(r => [r.key, r]));
  const of = new URLSearchParams(location.search).get('run'), shown = all.filter(c => !of || c.base === of || c.head === of);
  main.append(h('h1', null, 'Comparisons'), h('p', {class: 'lead'}, 'Case by case: what a run does otherwise than an earlier one of the same suite. The comparison of a run with its baseline is on the page of the run.'));
  if (of) main.append(h('p', null, 'Of the run ', name(runs.has(of) ? runs.get(of).id : of), '. ', h('a', {href: comparisonsAddress('').split('?')[0]}, 'All comparisons')));
  if (shown.length === 0) main.append(h('p', null, 'No two runs here are of the same suite.'));
  else main.append(table('Comparisons', ['Comparison', 'What changed'], shown.map(c => comparisonRow(c, runs)), {class: 'comparisons'}));
}

function comparisonRow(c, runs) {
  const base = runs.get(c.base), head = runs.get(c.head);
  return [
    [h('a', {href: comparisonAddress(c)}, name(head.id), ' against ', name(base.id)), h('div', {class: 'on'}, name(`${when(head.startedAt)} and ${when(base.startedAt)} UTC`))],
    [c.why && h('div', null, badge('error', 'invalid'), ' ', name(c.why)), c.arms.slice(0, 20).map(comparedArm), c.arms.length > 20 && h('div', {class: 'on'}, `and ${count(c.arms.length - 20, 'arm')}`)],
  ];
}

const comparedArm = a => h('div', null, stateBadge(a), ' ', name(`${a.suite} on ${a.arm}`), a.changes && h('span', {class: 'on'}, ' ', name(a.changes)));
