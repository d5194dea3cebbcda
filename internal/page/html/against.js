// The run against the base of a comparison, case by case, where the page can read the base.

const fewTrials = 5000; // are read at once; of more, when the reader wants to see them

// meansByCase are the means of a column by case, over the repeats on an arm.
function meansByCase(rows, suite, armName, column) {
  const out = new Map(), a = rows.tables.arm.findIndex(words => words[0] === armName);
  for (const c of casesOf(rows, suite, a, a, column)) out.set(c.one.name, c);
  return out;
}

// casesAcross are the cases of one name in the base and in the run.
function casesAcross(base, rows, arm, key) {
  const columnOf = all => valuesToCompare(all, arm.suite).find(v => v.key === key).column();
  const before = meansByCase(base, arm.suite, arm.baseArm || arm.headArm, columnOf(base)), out = [];
  for (const [caseName, c] of meansByCase(rows, arm.suite, arm.headArm, columnOf(rows))) {
    const was = before.get(caseName);
    if (was) out.push({one: c.one, a: was.a, b: c.a});
  }
  return out;
}

// drawAgainst draws an arm against that of the base.
function drawAgainst(base, rows, arm, i) {
  const before = new Set(valuesToCompare(base, arm.suite).map(v => v.key));
  const values = valuesToCompare(rows, arm.suite).filter(v => before.has(v.key));
  const place = h('div'), first = values.find(v => v.graded) || values[0];
  const by = picker('against-' + i, 'Value', values.map(v => [v.key, v.title]), first.key, () => draw());
  const sides = {a: 'base', b: 'head', words: `${arm.suite} on ${armName(arm)}.`, link: one => address(['case', one.suite, one.name], {arm: arm.headArm})};
  const draw = () => {
    const value = values.find(v => v.key === by.value());
    place.replaceChildren(...drawVersusOf(casesAcross(base, rows, arm, value.key), value, sides));
  };
  draw();
  return [picksForm(by.label), place];
}

// against is the place of the plot of each arm of the comparison. The base is read once, when the first of them is opened.
function against(rows) {
  if (typeof loadBase === 'undefined' || !loadBase) return () => null;
  let base = null;
  return (arm, i) => {
    const slot = h('div');
    const fill = async () => {
      if (slot.childElementCount > 0) return;
      slot.append(h('p', {class: 'note'}, 'Reading the base.'));
      try {
        base = base || loadRows(loadBase);
        slot.replaceChildren(...drawAgainst(await base, rows, arm, i));
      } catch (problem) {
        base = null;
        slot.replaceChildren(h('p', {class: 'telling'}, 'The base cannot be read: ' + problem.message));
      }
    };
    const folded = h('details', {ontoggle: () => { if (folded.open) fill(); }}, h('summary', null, 'Base and head, case by case'), slot);
    folded.open = i === 0 && rows.length <= fewTrials;
    return folded;
  };
}
