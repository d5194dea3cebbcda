// Two answers to a case side by side, with the words that differ.

const baselineOf = 'baseline of ';
let side = null; // the page that is shown, for its keys

function sideAddress(one, {a, b, ra, rb} = {}) {
  return address(['side', one.suite, one.name], {a, b, ra, rb});
}

// sideLink leads from the page of a case to this one, where there are two answers to show.
function sideLink(cases, head, one, query) {
  const versions = versionsOf(cases.rows, one, head), chosen = query.get('arm');
  if (versions.length < 2) return null;
  const first = versions[0].arm, pair = chosen && chosen !== first ? {a: first, b: chosen} : {};
  return h('a', {class: 'to-side', href: sideAddress(one, pair), 'aria-keyshortcuts': 's'}, labelling.blind ? 'Label two side by side' : 'Two side by side');
}

// versionsOf are the answers that a case has: {arm, repeat, place} of each trial, then {arm, text} of the baseline, where the
// comparison has it.
function versionsOf(rows, one, head) {
  const out = [];
  for (let i = one.from; i < one.to; i++) out.push({arm: rows.word('arm', i), repeat: String(rows.repeat[i]), place: i});
  for (const a of (head.comparison && head.comparison.arms) || []) {
    const flip = a.suite === one.suite && (a.flips || []).find(f => f.case === one.name && f.baseAnswer);
    if (flip) out.push({arm: baselineOf + a.headArm, repeat: '1', text: flip.baseAnswer});
  }
  return out;
}

// pairOf reads a pair from an address. What it does not say is the first two arms, the baseline and an arm, or two repeats.
function pairOf(versions, query) {
  const arms = [...new Set(versions.map(v => v.arm))], own = arms.filter(arm => !arm.startsWith(baselineOf));
  const usual = own.length > 1 ? own : [...arms].reverse();
  const a = query.get('a') || usual.find(arm => arm !== query.get('b')) || usual[0];
  const b = query.get('b') || usual.find(arm => arm !== a) || a;
  const first = (arm, not) => (versions.find(v => v.arm === arm && v.repeat !== not) || {repeat: '1'}).repeat;
  const ra = query.get('ra') || first(a);
  return {a, b, ra, rb: query.get('rb') || first(b, a === b ? ra : '')};
}

async function drawSide(cases, head, suite, caseName, query) {
  const place = cases.rows.byName.get(suite + '\n' + caseName);
  if (place === undefined) return noSuchCase(suite, caseName);
  const page = new Side(cases, head, cases.rows.cases[place], query);
  await page.fill();
  side = page;
  return page.content();
}

class Side {
  constructor(cases, head, one, query) {
    Object.assign(this, {cases, head, one});
    this.locate();
    this.pair = pairOf(this.versions, query);
    this.place = h('div', {class: 'sides'});
    this.words = h('p', {class: 'found readable'});
    this.words.redraw = () => { this.words.textContent = this.wordsText(); };
    this.pairs = [];
    this.pager = h('p', {class: 'pager'});
    this.choices = h('div', {class: 'choices pair'});
    this.prompts = h('div');
    this.turn = 0;
  }

  content() {
    const {one} = this;
    return [
      h('p', {class: 'trail'}, name(one.suite), ' ', h('a', {class: 'chip', href: caseAddress(one)}, 'all answers')),
      h('h1', null, name(one.name)),
      !labelling.blind && this.pager,
      h('div', {class: 'reader'}, !labelling.blind && this.choices, drawReadings()),
      labelling.queue && labelling.queue(this.cases.rows, true),
      labelling.blind && this.prompts, this.words, this.place, !labelling.blind && this.prompts,
    ];
  }

  // locate finds the answers of the case, whose places change while a run grows.
  locate() {
    const {rows} = this.cases;
    this.one = rows.cases[rows.byName.get(this.one.suite + '\n' + this.one.name)];
    this.versions = versionsOf(rows, this.one, this.head);
    this.arms = [...new Set(this.versions.map(v => v.arm))];
  }

  // set shows another pair, and keeps it in the address.
  async set(change) {
    Object.assign(this.pair, change);
    history.replaceState(null, '', sideAddress(this.one, this.pair));
    await this.fill();
    say(this.words.textContent);
  }

  swap() { return this.set({a: this.pair.b, b: this.pair.a, ra: this.pair.rb, rb: this.pair.ra}); }

  // step shows the next arm on a side, and leaves out the one on the other side.
  step(key) {
    const other = this.pair[key === 'a' ? 'b' : 'a'], from = this.arms.indexOf(this.pair[key]);
    const arms = this.arms.map((_, i) => this.arms[(from + 1 + i) % this.arms.length]);
    const next = arms.find(arm => arm !== other) || other;
    return this.set({[key]: next, ['r' + key]: this.repeats(next)[0] || '1'});
  }

  repeats(arm) { return this.versions.filter(v => v.arm === arm).map(v => v.repeat); }

  // fill draws the pair. Who chooses faster than trials are read sees the last choice.
  async fill() {
    const turn = ++this.turn, {pair} = this;
    this.locate();
    const found = [[pair.a, pair.ra], [pair.b, pair.rb]].map(([arm, repeat]) =>
      this.versions.find(v => v.arm === arm && v.repeat === repeat) || this.versions.find(v => v.arm === arm) || {arm});
    const trials = await this.cases.rows.trials(found.filter(v => v.place !== undefined).map(v => v.place));
    if (turn !== this.turn) return;
    const both = found.map(v => ({...v, trial: v.place === undefined ? undefined : trials.shift()}));
    if (labelling.blind) {
      await labelling.ready();
      this.veiled = both.some(v => this.waits(v));
      const names = found.map(v => v.arm + '\n' + v.repeat), sorted = [...names].sort();
      if (shuffles([this.one.suite, this.one.name, ...sorted].join('\n')) === (names[0] === sorted[0])) both.reverse();
    }
    this.drawChoices(both);
    const link = step => pagerLink(this.cases.beside(this.one, step), step, to => sideAddress(to, pair));
    this.pager.replaceChildren(...[link(-1), link(1)].filter(Boolean));
    this.drawBoth(both);
    this.prompts.replaceChildren(...[drawBothPrompts(both)].flat().filter(Boolean));
  }

  // waits reports whether an answer waits for a label of the reader.
  waits({place}) { return place !== undefined && labelling.known.no.has(this.cases.rows.plan[place]); }

  // unveil shows which arms the answers are of, and what judges say of them, once the reader has labelled both.
  async unveil() {
    await labelling.ready();
    if (!this.veiled || this.places.some(v => this.waits(v))) return;
    await this.fill();
    follow('.queue a', 'focus');
  }

  // drawChoices keeps the fields: the focus may be in one.
  drawChoices(both) {
    if (!this.choices.firstChild) {
      const swap = h('button', {type: 'button', onclick: () => this.swap(), 'aria-keyshortcuts': 'x'}, 'Swap');
      this.choices.append(this.choice('a', 'Left'), this.choice('b', 'Right'), swap);
    }
    both.forEach((v, i) => {
      const key = 'ab'[i], [arm, repeat] = this.choices.querySelectorAll(`[name=${key}], [name=r${key}]`), list = this.repeats(v.arm);
      arm.value = v.arm;
      repeat.replaceChildren(...list.map(r => h('option', {value: r}, r)));
      repeat.value = v.repeat || '';
      repeat.closest('label').hidden = list.length < 2;
    });
  }

  choice(key, title) {
    const missing = this.arms.includes(this.pair[key]) ? [] : [this.pair[key]];
    const arm = h('select', {name: key, onchange: () => this.set({[key]: arm.value, ['r' + key]: this.repeats(arm.value)[0] || '1'})},
      [...missing, ...this.arms].map(one => h('option', {value: one}, visible(one))));
    const repeat = h('select', {name: 'r' + key, onchange: () => this.set({['r' + key]: repeat.value})});
    return h('div', {class: 'choice'},
      h('label', null, h('span', null, title), arm), h('label', {class: 'repeat'}, h('span', null, title + ', repeat'), repeat));
  }

  drawBoth(both) {
    this.places = both;
    const texts = both.map(textsOf), rows = Math.max(...texts.map(list => list.length), 1);
    this.alone = texts.some(list => list.length === 0);
    this.cut = texts.flat().filter(one => one.withheld);
    this.pairs = Array.from({length: rows}, (_, i) => pairedTexts(texts[0][i], texts[1][i], this.alone));
    this.words.redraw();
    this.place.replaceChildren(...both.map((v, i) => this.card(v, this.pairs.map(pair => pair.boxes[i]), i)));
  }

  // wordsText counts the words that differ, in answers as they are shown.
  wordsText() {
    const only = kind => this.pairs.reduce((sum, pair) => sum + pair.only(kind), 0), left = only('-'), right = only('+');
    if (this.versions.length < 2) return 'The case has one answer, shown twice.';
    if (this.alone) return '';
    if (this.cut.some(one => one.text === '')) return 'Not compared: the run does not keep the texts.';
    const part = this.cut.length > 0 ? 'In the part that is here: ' : '', hint = shownAs === 'markdown' ? ' Text marks them.' : '';
    if (left + right === 0) return part ? part + 'the same words.' : 'The same words.';
    return `${part}${count(left, 'word')} only on the left, ${number(right)} only on the right.${hint}`;
  }

  card(v, bodies, i) {
    const {trial} = v, title = ['Left', 'Right'][i], repeat = this.repeats(v.arm).length > 1 && h('span', {class: 'on'}, ` repeat ${v.repeat}`);
    const card = h('article', {class: 'answer half', 'aria-label': this.veiled ? title : `${title}: ${visible(v.arm)}`},
      h('div', null, h('h2', null, this.veiled ? title : [name(v.arm), repeat]), this.veiled ? trial && drawNoAnswer(trial) : this.top(v)),
      bodies,
      h('div', null,
        trial && labelling.blind && besideAnswer.map(draw => draw(trial)),
        trial && !this.veiled && [drawScores(trial.scores || []), drawMetrics(trial.metrics || {}), drawCost(trial)],
        !labelling.blind && [drawCopies(v), trial && besideAnswer.map(draw => draw(trial))]));
    card.style.gridRow = `span ${bodies.length + 2}`;
    return card;
  }

  // top says how a trial went, and why there is no answer where there is none.
  top({arm, trial, text}) {
    if (text !== undefined) return h('p', {class: 'note'}, 'The answer of the comparison\u2019s baseline.');
    if (!trial) return h('p', {class: 'telling'}, 'This case has no trial on ', name(arm), '.');
    const model = h('span', {class: 'on'}, name(appOf(this.head, trial) || trial.model));
    return [h('p', null, badge(trial.outcome), ' ', model), drawNoAnswer(trial)];
  }
}

pageKeys.side = {
  __proto__: null,
  n: pageKeys.case.n, p: pageKeys.case.p, m: pageKeys.case.m, j: pageKeys.case.j,
  a: () => side.step('a'), b: () => side.step('b'), x: () => side.swap(),
};

// textsOf are the texts that a trial answered with: of each turn or step, or of each candidate.
function textsOf({trial, text}) {
  if (text !== undefined) return [{title: '', text}];
  if (!trial) return [];
  const candidates = (trial.response && trial.response.candidates) || [];
  if (!hasTurns(trial)) return candidates.map((c, i) => textOfCandidate(c, candidates.length > 1 ? `Candidate ${i}` : ''));
  const turns = trial.turns || [], word = hasSteps(trial) ? 'Step' : 'Turn';
  return turns.slice(0, mostTurns).map((turn, i) => {
    const reply = i === turns.length - 1 && trial.response || turn; // the page holds the last reply but once
    return textOfCandidate((reply.candidates || [])[0] || {text: ''}, `${word} ${i + 1}`);
  });
}

// textOfCandidate has the calls of an answer as lines of its text.
function textOfCandidate(c, title) {
  const pieces = (c.parts || []).map(p => p.call ? `calls ${p.call.name} ${JSON.stringify(p.call.args)}` : p.text).filter(Boolean);
  return {title, text: c.parts ? pieces.join('\n') : c.text, withheld: c.withheld};
}

// pairedTexts are two texts as boxes that follow how answers are read, and how many words only one of them has. A text without its
// counterpart differs as a whole, but for one that is `alone`: there is no answer to compare it with.
function pairedTexts(left, right, alone) {
  const known = new Map(); // differences, by how the answers are read
  const words = () => {
    const way = shownAs === 'json' ? jsonText : text => text;
    const [before, after] = [left, right].map(one => one ? way(one.text) : '');
    if (!known.has(shownAs)) known.set(shownAs, alone ? [['=', before || after]] : wordDiff(before, after));
    return known.get(shownAs);
  };
  const box = (one, kind) => one ? pairedBox(one, () => drawHalf(words(), kind)) : h('div');
  const only = kind => left || right ? words().reduce((sum, [k, text]) => sum + (k === kind ? wordsIn(text) : 0), 0) : 0;
  return {boxes: left || right ? [box(left, '-'), box(right, '+')] : [h('div'), h('div')], only};
}

const wordsIn = text => (text.match(/[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu) || []).length;

function pairedBox({title, text, withheld}, half) {
  const body = text !== '' ? readable(text, half, half) : !withheld && h('p', {class: 'note'}, 'An empty answer.');
  return h('div', null, title && h('h3', null, title), body, drawWithheld(withheld, text));
}

// drawHalf shows the text on one side of a difference, with its own words marked.
function drawHalf(words, kind) {
  const tag = kind === '-' ? 'del' : 'ins', own = words.filter(([k]) => k === '=' || k === kind);
  return h('pre', {class: 'prose diff', dir: 'auto'}, own.map(([k, text]) => k === '=' ? visible(text) : h(tag, null, visible(text))));
}

function drawCopies({trial, text}) {
  if (text !== undefined) return h('p', {class: 'copies'}, copyButton('answer', () => text));
  if (!trial) return null;
  const c = trial.response && trial.response.candidates && trial.response.candidates[0];
  return h('p', {class: 'copies'}, c && c.text && copyButton('answer', () => c.text, c.withheld), copyTrial(trial));
}

// drawAsked shows what a case asks, and nothing of the arm: its variables.
const drawAsked = trial => h('dl', {class: 'facts'}, Object.entries(trial.vars || {}).slice(0, 50).map(([key, value]) => [h('dt', null, name(key)), h('dd', null, name(value))]));

// shuffles says of a pair, always in the same way, whether its sides change places.
const shuffles = key => Array.from(key).reduce((sum, c) => Math.imul(sum ^ c.codePointAt(0), 16777619), 0x811c9dc5) >>> 31 === 1;

// drawBothPrompts compares the prompts: often it is they that differ between arms.
function drawBothPrompts(both) {
  const prompts = both.map(v => v.trial && v.trial.request ? promptText(v.trial.request) : '');
  if (prompts.some(text => text === '')) return null;
  if (labelling.blind && prompts[0] !== prompts[1]) return drawAsked(both[0].trial);
  const same = prompts[0] === prompts[1], words = same ? [] : wordDiff(...prompts);
  return h('details', {class: 'both-prompts'},
    h('summary', null, same ? 'The prompt, the same for both' : 'The prompts, and the words that differ'),
    same ? prose(prompts[0]) : h('div', {class: 'sides'}, ['-', '+'].map((kind, i) =>
      h('div', null, h('h2', null, name(both[i].arm)), drawHalf(words, kind)))));
}
