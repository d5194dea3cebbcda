// The confusion matrix of each arm whose suite has a classification.

const matrixLevels = 5; // of the scale of a cell
const openClasses = 30; // a larger matrix is drawn when it is opened

function drawClassifications(head) {
  const arms = head.arms.filter(a => a.classification).slice(0, mostArms), several = head.run.suites.length > 1;
  if (arms.length === 0) return null;
  return section('Classification', classFigures(arms, several), arms.map((a, i) => {
    const title = several ? `${a.suite} on ${a.arm}` : a.arm, slot = h('div');
    const fill = () => slot.childElementCount === 0 && slot.append(...drawClassification(title, a.classification, several, a));
    const open = i === 0 && a.classification.classes.length <= openClasses;
    if (open) fill();
    return h('details', {open, ontoggle: fill}, h('summary', null, 'Confusion matrix of ', name(title)), slot);
  }));
}

// cases writes a number of cases; repeats make fractions.
const caseCount = n => Math.abs(n - Math.round(n)) < 1e-6 ? number(Math.round(n)) : n.toFixed(1);

function classFigures(arms, several) {
  return table('Metrics of the classification', ['Arm', '#cases', '#accuracy', '#macro F1', '#weighted F1', "#Cohen's kappa", '#outside of the classes', '#not judged'], arms.map(a => {
    const c = a.classification;
    return [name(several ? `${a.suite} on ${a.arm}` : a.arm), caseCount(c.cases), percent(c.accuracy), percent(c.macro.f1), percent(c.weighted.f1), c.kappa === null ? 'undefined' : c.kappa.toFixed(3), caseCount(c.other), number(c.errors)];
  }));
}

function drawClassification(title, c, several, arm) {
  const query = [several && 'suite:' + quotedIfNeeded(arm.suite), 'arm:' + quotedIfNeeded(arm.arm)].filter(Boolean).join(' ');
  return [
    matrixTable(title, c, query),
    h('p', {class: 'note matrix-scale'}, 'A row is a label, a column an answer. Share of the cases with the label: ',
      Array.from({length: matrixLevels + 1}, (_, level) => [h('span', {class: `cell wrong level${level}`, 'aria-hidden': 'true'}), ` ${100 * level / matrixLevels} % `]),
      'green where the answer is right, red where it is wrong. A number leads to its trials.'),
    classTable(title, c),
  ];
}

// matrixTable has the counts; query finds the trials of the arm.
function matrixTable(title, c, query) {
  const names = c.classes.map(one => one.class), columns = c.other > 0 ? c.matrix.map(row => row) : c.matrix.map(row => row.slice(0, -1));
  const answers = [...names, '(other)'], trials = (i, j) => address(['cases'], {q: `${query} class:${quotedText(names[i])} answered:${quotedText(answers[j])}`});
  const heads = ['label', ...names.map(n => '#' + visible(n)), ...(c.other > 0 ? ['#(other)'] : [])];
  return table('Confusion matrix of ' + title, heads, columns.map((row, i) => [name(names[i]), ...row.map((n, j) => matrixCell(n, c.classes[i].support, i === j, trials(i, j)))]), {class: 'matrix'});
}

// matrixCell shows a count and its share of the label's cases, by numbers and by a shade.
function matrixCell(n, support, right, trials) {
  const part = support > 0 ? n / support : 0, level = n > 0 ? Math.max(1, Math.round(matrixLevels * part)) : 0;
  return h('span', {class: `cell ${right ? 'right' : 'wrong'} level${level}`}, n > 0 ? h('a', {href: trials}, h('b', null, caseCount(n))) : h('b', null, '0'), n > 0 && h('span', {class: 'part'}, ' ', percent(part)));
}

function classTable(title, c) {
  const value = (one, metric, v) => (one.undefined || []).includes(metric) ? '0 (undefined)' : percent(v);
  return table('Classes of ' + title, ['class', '#cases', '#answered', '#precision', '#recall', '#F1'], c.classes.map(one => [
    name(one.class), caseCount(one.support), caseCount(one.answered), value(one, 'precision', one.precision), value(one, 'recall', one.recall), value(one, 'f1', one.f1)]));
}
