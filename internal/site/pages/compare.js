// The choice of two runs. What comes of it is the page of the second one, with its comparison with the first.

async function showCompare(main) {
  const runs = await get('runs'), query = new URLSearchParams(location.search);
  main.append(h('h1', null, 'Compare two runs'), h('p', {class: 'lead'}, 'Case by case: what the head does otherwise than the base.'));
  if (runs.length < 2) {
    main.append(h('p', null, 'It takes two runs.'));
    return;
  }
  const chosen = runs.find(r => r.key === query.get('head')) || runs[0], older = runs.slice(runs.indexOf(chosen) + 1);
  const before = runs.find(r => r.key === query.get('base')) || older.find(r => r.suites.some(s => chosen.suites.includes(s))) || runs.find(r => r !== chosen);
  const choice = (id, title, key) => {
    const select = h('select', {id, required: true}, runs.slice(0, 1000).map(r => h('option', {value: r.key}, visible(`${r.id || r.key}: ${r.suites.join(', ').slice(0, 60)}, ${when(r.startedAt)}`))));
    select.value = key;
    return [select, h('label', null, h('span', null, title), select)];
  };
  const [base, baseLabel] = choice('base', 'Base', before.key), [head, headLabel] = choice('head', 'Head', chosen.key);
  const margin = h('input', {type: 'number', id: 'margin', min: '0.001', max: '0.999', step: '0.001', placeholder: 'none'});
  const problem = h('p', {class: 'telling', role: 'alert'});
  main.append(h('form', {class: 'form', onsubmit: e => {
    e.preventDefault();
    if (base.value === head.value) { problem.textContent = 'Both are the same run.'; return; }
    location.assign(`/compare/${base.value}/${head.value}/${margin.value ? '?margin=' + encodeURIComponent(margin.value) : ''}#/comparison`);
  }}, baseLabel, headLabel, h('label', null, h('span', null, 'Margin, for a verdict'), margin), h('button', {type: 'submit'}, 'Compare')), problem,
  h('p', {class: 'note'}, 'A margin is how much lower a rate may be and still count as not worse, such as 0.05. Without one there are estimates and no verdict.'));
}
