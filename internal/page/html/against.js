// An arm against that of the baseline, case by case. The block of points has the values of both sides.

// pointUnits are how the amounts are written.
const pointUnits = {__proto__: null, latency: duration, tokens: asCount};

const plainMetrics = ['pass', 'blocked', 'latency', 'tokens'];

// pointValues are the metrics by which an arm can be compared with that of the baseline.
function pointValues({metrics}) {
  return metrics.map(({name: key, base, head}) => {
    const amount = key in pointUnits, values = [...base, ...head].filter(isKnown), share = !amount && values.every(v => v >= 0 && v <= 1);
    const title = key === 'pass' ? 'pass rate' : visible(key), show = amount ? pointUnits[key] : key === 'pass' || key === 'blocked' ? asShare : three;
    return {key, title, show, amount, better: !amount && key !== 'blocked', graded: share && values.some(v => v !== 0 && v !== 1), base, head};
  });
}

// drawAgainst draws an arm against that of the base.
function drawAgainst(arm, points, i) {
  const values = pointValues(points), first = values.find(v => v.graded) || values[0], place = h('div');
  const sides = {
    a: 'base', b: 'head', words: `${arm.suite} on ${armName(arm)}.`,
    link: one => address(['case', one.suite, one.name], {arm: arm.headArm}),
  };
  const by = picker('against-' + i, 'Value', values.map(v => [v.key, v.title]), first.key, () => draw());
  const draw = () => {
    const value = values.find(v => v.key === by.value());
    const all = points.cases.map((caseName, k) => ({one: {suite: arm.suite, name: caseName}, a: value.base[k], b: value.head[k]}));
    place.replaceChildren(...drawVersusOf(all.filter(c => isKnown(c.a) && isKnown(c.b)), value, sides));
  };
  draw();
  return [picksForm(by.label), place];
}

// against gives the place of the plot of each arm of the comparison. The points are read once, when the first of them is opened.
function against(head) {
  if (!head.points) return () => null;
  let all = null;
  return (arm, i) => {
    const slot = h('div');
    const fill = async () => {
      if (slot.childElementCount > 0) return;
      slot.append(h('p', {class: 'note'}, 'Reading the values.'));
      try {
        all = all || load('points');
        const points = (await all)[i];
        slot.replaceChildren(...points ? drawAgainst(arm, points, i) : [h('p', {class: 'note'}, 'Not drawn: no cases, or too many.')]);
      } catch (problem) {
        all = null;
        slot.replaceChildren(h('p', {class: 'telling'}, 'The values cannot be read: ' + problem.message));
      }
    };
    const folded = h('details', {ontoggle: () => { if (folded.open) fill(); }}, h('summary', null, 'Base and head, case by case'), slot);
    folded.open = i === 0 && (arm.metrics || []).some(m => !plainMetrics.includes(m.name)); // outcomes are listed case by case already
    return folded;
  };
}
