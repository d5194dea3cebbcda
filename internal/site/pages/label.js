// Labels: what people say of answers. The token of this start comes behind the # of the address that evalrun prints, and a code for it
// in the address that evalrun opens. The page keeps the token for its origin, which is that of one server, and shows it no more.
const labeller = document.documentElement.dataset.who || '', tokenKey = 'evalrun-token';
const labelWords = {__proto__: null, pass: 'pass', fail: 'fail'};

async function takeToken() {
  const [, kind, word] = /^#(token|code)=([A-Za-z0-9]+)$/.exec(location.hash) || [];
  if (kind) history.replaceState(null, '', location.pathname + location.search);
  const fresh = kind === 'code' ? await tokenFor(word).catch(() => '') : word;
  try {
    if (fresh) localStorage.setItem(tokenKey, fresh);
    return fresh || localStorage.getItem(tokenKey) || '';
  } catch { // where the browser keeps nothing, other tabs only read
    return fresh || '';
  }
}

// tokenFor gives the token for a code, which is good once.
async function tokenFor(code) {
  const answer = await fetch('/token', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({code})});
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).token;
}

// labelsAt is where the labels of the answer of a trial are. The epoch keeps a label from an answer that the page does not show.
function labelsAt(trial) {
  return '/run/' + from.split('/').at(-2) + '/labels/' + encodeURIComponent(trial.id) + '?' + new URLSearchParams({of: mark.split('-')[0]});
}

// drawLabels is the part of an answer in which people label it.
function drawLabels(trial) {
  if (!trial.response) return null;
  const place = h('div', {class: 'labels', role: 'group', 'aria-label': 'Labels'});
  fetch(labelsAt(trial)).then(async answer => {
    if (!answer.ok) throw new Error(await answer.text());
    showLabels(place, trial, await answer.json());
  }).catch(problem => place.replaceChildren(h('p', {class: 'note', role: 'alert'}, 'The labels cannot be read: ' + problem.message)));
  return place;
}

function showLabels(place, trial, said) {
  const own = said.labels.find(l => l.own), others = said.labels.filter(l => !l.own);
  const blind = !said.closed && !(own && own.label) && others.length > 0; // agreement counts where people judge by themselves
  place.replaceChildren(...[
    h('h3', null, 'Labels'),
    blind ? h('p', {class: 'note'}, `Labelled by ${count(others.length, 'other person').replace('persons', 'people')}: choose pass or fail to see how.`) : others.length > 0 && h('ul', {class: 'scores'}, others.map(drawOpinion)),
    said.closed ? h('p', {class: 'note'}, visible(said.closed)) : drawLabelForm(place, trial, said, own),
    said.closed && own && h('ul', {class: 'scores'}, drawOpinion(own)),
    said.problem && h('p', {class: 'note', role: 'alert'}, visible(said.problem)),
  ].filter(Boolean));
}

function drawOpinion(l) {
  return h('li', null, labelWords[l.label] ? badge(l.label) : h('span', {class: 'chip'}, 'comment'), ' ', h('b', null, name(l.who)), h('span', {class: 'on'}, ' ' + when(l.at)),
    l.comment && h('p', {class: 'telling', dir: 'auto'}, visible(l.comment)));
}

// drawLabelForm has the buttons of the person who labels here: a button that is pressed takes the label back.
function drawLabelForm(place, trial, said, own) {
  const label = own ? own.label : '', comment = h('textarea', {rows: '2', maxlength: '4000', onkeydown: stay}), note = h('p', {class: 'note', role: 'status'});
  comment.value = own ? own.comment : '';
  note.textContent = own ? `Yours, of ${when(own.at)}.` : '';
  const send = async (word, back) => {
    try {
      const now = await writeLabel(trial, {hash: said.hash, label: word, comment: comment.value});
      labelling.known = null;
      showLabels(place, trial, now);
      const queue = document.querySelector('.queue');
      if (queue) await queue.refresh();
      const again = place.querySelector(back);
      if (again) again.focus();
      if (pageShown() === 'side') await side.unveil();
      say(word ? `Labelled ${word}.` : 'The label is saved.');
    } catch (problem) { note.textContent = problem.message; }
  };
  const button = word => h('button', {type: 'button', class: 'label-' + word, 'aria-pressed': String(label === word), onclick: () => send(label === word ? '' : word, '.label-' + word)}, badge(word));
  return h('form', {class: 'label-form', onsubmit: e => { e.preventDefault(); send(label, '.label-save'); }},
    h('div', {class: 'repeats', role: 'group', 'aria-label': `Your label, ${labeller}`}, button('pass'), button('fail')),
    h('label', null, h('span', null, 'Comment of ', name(labeller)), comment), h('button', {class: 'label-save'}, 'Save the comment'), note);
}

// drawQueue says how many answers of the run are labelled, and leads to the next one that waits; pairs leads to it with an answer of
// another arm to the same case, if there is one.
function drawQueue(rows, pairs) {
  const place = h('p', {class: 'queue', role: 'status'});
  place.refresh = async () => {
    await labelling.ready();
    const {yes, no} = labelling.known, waiting = Array.from(rows.plan.keys()).filter(i => no.has(rows.plan[i]));
    const next = (pairs && waiting.find(i => side.places.every(v => v.place !== i))) ?? waiting[0], pair = pairs && next !== undefined && pairWith(rows, next);
    place.replaceChildren(`${number(yes.size)} of ${count(yes.size + no.size, 'answer')} labelled. `,
      next === undefined ? 'None waits.' : h('a', {href: pair || trialAddress(rows, next), class: 'waiting', 'aria-keyshortcuts': 'u'}, pair ? 'Next pair to label' : 'Next answer to label'));
  };
  place.refresh().catch(problem => place.replaceChildren('The labels cannot be read: ' + problem.message));
  return place;
}

// pairWith is the address of an answer with one of another arm to the same case and repeat, rather one that waits too; '' without one.
function pairWith(rows, i) {
  const one = rows.cases[rows.caseOf[i]], arm = rows.word('arm', i), others = [];
  for (let k = one.from; k < one.to; k++) if (rows.repeat[k] === rows.repeat[i] && rows.word('arm', k) !== arm) others.push(k);
  const other = others.find(k => labelling.known.no.has(rows.plan[k])) ?? others[0], repeat = String(rows.repeat[i]);
  return other === undefined ? '' : sideAddress(one, {a: arm, b: rows.word('arm', other), ra: repeat, rb: repeat});
}

// labelBy presses a button of a form: of the answer, or of that on the right.
const labelBy = (word, half = '') => follow(`${half} .label-form .label-${word}`);

// goToLabels moves the focus to the buttons of the answer.
function goToLabels() {
  const form = document.querySelector('.label-form');
  if (form) form.querySelector('button').focus();
}

// stay keeps Escape from leaving the page, and with it what is written.
function stay(e) {
  if (e.key !== 'Escape') return;
  e.stopPropagation();
  e.target.closest('form').querySelector('button').focus();
}

async function writeLabel(trial, label) {
  const answer = await fetch(labelsAt(trial), {
    method: 'POST', headers: {'Content-Type': 'application/json', 'Evalrun-Token': await token}, body: JSON.stringify(label),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// showLabelFiles is the page of all labels: how many there are, and how far people agree.
async function showLabelFiles(main) {
  const {files, more} = await get('labels');
  main.append(h('h1', null, 'Labels'), h('p', {class: 'lead'}, 'You label as ', name(labeller), ': open an answer of a run, and choose pass or fail. The labels of a suite are lines of SUITE.labels.jsonl in the folder of evalrun view.'));
  if (files.length === 0) {
    const [newest] = await get('runs');
    main.append(h('p', null, 'No answer has a label yet. ', newest && h('a', {href: runAddress(newest.key) + '#/matrix?only=unlabelled'}, 'Label answers of the newest run'), newest && '.'));
  }
  main.append(...files.map(drawLabelFile));
  if (more > 0) main.append(h('p', {class: 'note'}, `${number(more)} more are not listed.`));
}

function drawLabelFile(f) {
  const split = f.split > 0 && `, divided on ${number(f.split)}`, more = f.split - f.divided.length;
  return section(name(f.suite),
    f.problem && h('p', {class: 'telling', role: 'alert'}, visible(f.problem)),
    h('p', null, `${count(f.answers, 'answer')}: ${number(f.pass)} pass, ${number(f.fail)} fail`, split),
    f.people.length > 0 && table(`Who labelled answers of ${f.suite}`, ['Who', '#answers', '#pass', '#fail'], f.people.map(p => [name(p.who), number(p.answers), number(p.pass), number(p.answers - p.pass)])),
    f.agreements.length > 0 && table(`Agreement on answers of ${f.suite}`, ['Two people', '#both labelled', '#agree', '#agreement (90 % interval)', "#Cohen's kappa (90 % interval)"], f.agreements.map(agreementCells)),
    (f.judges || []).map(j => drawJudge(f, j)),
    f.split > 0 && h('details', null, h('summary', null, 'People are divided on ' + count(f.split, 'answer')),
      h('ul', {class: 'lines'}, f.divided.map(d => h('li', null, name(d.case), ' on ', name(d.arm))), more > 0 && h('li', null, `and ${number(more)} more`))));
}

// drawJudge lists the answers on which a judge and people disagree.
function drawJudge(f, j) {
  const on = d => runAddress(f.run) + address(['case', f.suite, d.case], {arm: d.arm, repeat: String(d.repeat)}), more = j.disagreed - j.disagreements.length;
  return [h('h3', null, name(j.scorer), ', judge ', name(j.judge), `: disagrees with people on ${number(j.disagreed)} of ${count(j.answers, 'answer')} in the newest run`),
    j.disagreements.length > 0 && table(`Answers of ${f.suite} on which people and ${j.judge} disagree`, ['Case', 'Arm', '#Repeat', 'People', 'Judge'], j.disagreements.map(d => [
      h('a', {href: on(d)}, name(d.case)), name(d.arm), number(d.repeat), ...[d.people, d.judge].map(word => labelWords[word] ? badge(word) : name(word))])),
    more > 0 && h('p', {class: 'note'}, `and ${number(more)} more: evalrun judge-check lists them.`)];
}

// agreementCells are the cells of two people; intervals are at 90 %.
function agreementCells(a) {
  const range = (bounds, unit) => ` (${unit(bounds[0])} to ${unit(bounds[1])})`;
  return [[name(a.one), ' and ', name(a.other)], number(a.answers), number(a.agree), percent(a.agree / a.answers) + range(a.interval, percent),
    a.kappa === null ? 'undefined: both always say the same' : three(a.kappa) + range(a.kappaInterval, three)];
}

const token = takeToken();
if (labeller) {
  queryFields.set('labelled', labelledField);
  rowFilters.push({key: 'unlabelled', title: 'Not labelled yet', means: 'Cases with an answer that you have not labelled.', query: 'labelled:no'});
  labelling.read = async () => {
    const {yes, no} = await read(`/run/${from.split('/').at(-2)}/labelled?` + new URLSearchParams({of: mark.split('-')[0]}));
    labelling.known = {__proto__: null, yes: new Set(yes), no: new Set(no)};
  };
  labelling.blind = true;
  besideAnswer.push(drawLabels);
  labelling.queue = drawQueue;
  const keys = {l: goToLabels, u: () => follow('.queue a'), 1: () => labelBy('pass'), 2: () => labelBy('fail')};
  Object.assign(pageKeys.case, keys);
  pageKeys.side = {__proto__: null, ...keys, m: pageKeys.case.m, j: pageKeys.case.j, 3: () => labelBy('pass', '.half + .half'), 4: () => labelBy('fail', '.half + .half')};
  for (const [title, list] of keyLists) {
    if (title === 'A case') list.push([['1', '2'], 'pass, fail'], [['u'], 'next answer to label'], [['l'], 'go to the buttons']);
    if (title === 'Two answers side by side') list.splice(0, 3, [['1', '2'], 'pass, fail on the left'], [['3', '4'], 'pass, fail on the right'], [['u'], 'next pair to label'], [['l'], 'go to the buttons']);
  }
}
