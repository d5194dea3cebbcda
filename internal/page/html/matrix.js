// The matrix: a row for each case, a column for each arm, and in each cell the whole answer with its outcome, scores and tool calls.

// rowFilters pick cases. Those of a baseline need one.
const rowFilters = [
  {key: '', title: 'All', means: 'All cases.'},
  {key: 'failing', title: 'Failing', means: 'Cases with a failed trial.'},
  {key: 'differs', title: 'Differs between arms', means: 'Cases whose arms have another text or outcome in the same repeat.'},
  {key: 'regressed', title: 'Regressed', means: 'Cases with fewer passing repeats than in the baseline.', baseline: true},
  {key: 'new', title: 'Newly failing', means: 'Cases that mostly passed in the baseline and mostly fail now.', baseline: true},
];
const mostColumns = 12; // arms at once, unless more are chosen
const mostChoices = 200; // arms to choose from
const mostThumbs = 4;    // images in the strip of a case
const leastColumn = 210; // pixels of an arm: six fit on a screen of 1,440
const leastRoom = 380;  // pixels of height for the rows
const mostPaper = 200;  // rows on paper

// isNew reports whether a case that changed passed mostly and fails mostly now.
const isNew = f => 2 * f.basePassed > f.baseJudged && 2 * f.headPassed <= f.headJudged && f.headJudged > 0;

class Matrix {
  constructor(rows, headNow) {
    this.rows = rows;
    this.headNow = headNow;
    this.only = '';
    this.query = '';
    this.found = [];
    this.wanted = []; // arms that were chosen; none: the first ones
    this.active = {row: 0, column: 0};
    this.repeats = new Map(); // places of trials that were chosen with the keys, by cell
    this.opened = new Set();  // cases whose answers are shown whole
    this.left = [0, 0];       // where the page and the matrix were scrolled to
  }

  address() {
    return matrixAddress({only: this.only, q: this.query}, this.wanted);
  }

  // show is the page with the choices of an address.
  show(query) {
    const before = this.address();
    this.only = rowFilters.some(f => f.key === query.get('only')) ? query.get('only') : '';
    this.query = query.get('q') || '';
    this.wanted = query.getAll('arm').slice(0, mostChoices);
    if (this.address() !== before) this.restart();
    this.build();
    this.find();
    return this.page;
  }

  restart() { this.kept = null; this.active = {row: 0, column: 0}; this.left = [0, 0]; }

  leave() { this.left = [window.scrollY, this.grid.scrollTop]; }

  // arrive draws the page when it is in place.
  arrive() {
    this.draw();
    window.scrollTo(0, this.left[0]);
    this.grid.scrollTop = this.left[1];
    this.draw();
    say(this.countText());
    this.grid.focus({preventScroll: true});
  }

  // grow takes up trials that the run has got since. What the reader looks at stays.
  grow() {
    this.repeats.clear(); // trials have other places
    if (!this.grid) return;
    this.found = this.keys.map(key => this.rows.byName.get(key)); // until the search is over, which may read answers
    this.find();
  }

  // redraw shows a run that has grown, or has a baseline now.
  redraw() {
    const choices = this.page[1].querySelector('.only');
    if (!choices.contains(document.activeElement)) choices.replaceWith(this.choices());
    this.draw();
  }

  keyOf(at) { const one = this.rows.cases[this.found[at]]; return one && one.suite + '\n' + one.name; }

  // keep notes the case of the keys, the first case in sight, and the heights of rows, before the run grows.
  keep() {
    if (!this.grid) return;
    this.keys = this.found.map((_, at) => this.keyOf(at));
    const first = this.sheet.first();
    this.kept = {active: this.keyOf(this.active.row), first: this.keyOf(first.at), above: first.above, heights: this.sheet.measuredHeights(at => this.keyOf(at))};
  }

  // restore goes back to what was noted, as far as it is still there.
  restore({active, first, above, heights}) {
    const places = new Map(this.found.map((_, at) => [this.keyOf(at), at]));
    for (const [key, height] of heights) if (places.has(key)) this.sheet.heights[places.get(key)] = height;
    this.active.row = places.get(active) ?? 0;
    if (!this.grid.isConnected) return;
    this.sheet.draw();
    if (places.has(first)) this.sheet.goTo(places.get(first), above);
  }

  draw(paper) {
    if (paper) this.sheet.all(mostPaper);
    else {
      const room = window.innerHeight - this.grid.offsetTop - 56; // below it is the line of the keys
      this.grid.style.setProperty('--room', Math.max(leastRoom, room) + 'px');
      this.sheet.draw();
    }
  }

  build() {
    this.field = new QueryField(this.rows, this.query, text => { this.query = text; this.changed(); }, () => this.grid.focus());
    this.search = this.field.input;
    this.count = h('p', {class: 'found', id: 'found'});
    this.means = h('p', {class: 'note', id: 'means'});
    this.heads = h('div', {role: 'row', class: 'line heads', 'aria-rowindex': '1'});
    this.body = h('div', {role: 'rowgroup', class: 'lines-body'});
    this.wide = h('div', {class: 'wide', role: 'presentation'}, h('div', {role: 'rowgroup', class: 'headline'}, this.heads), this.body);
    this.grid = h('div', {role: 'grid', class: 'sheet', id: 'grid', tabindex: '0', 'aria-label': 'Answers by case and arm', 'aria-describedby': 'keys', onkeydown: e => this.key(e), onfocus: () => this.mark()}, this.wide);
    this.grid.addEventListener('scroll', () => this.soon(), {passive: true});
    this.sheet = new Sheet(this.grid, this.body, at => this.row(at), () => this.mark());
    this.page = [
      h('h1', {class: 'unseen'}, 'Matrix'),
      h('form', {class: 'tools', role: 'search', 'aria-label': 'Filters', onsubmit: e => e.preventDefault()},
        h('div', {class: 'searchline'}, this.field.box, this.count), this.field.problems,
        h('div', {class: 'settings'}, this.choices(), drawReadings(), queryHelp(), this.armChoices()), this.means),
      this.grid,
      h('p', {class: 'note keys', id: 'keys'}, ['/', ' search, ', '\u2191', '\u2193', '\u2190', '\u2192', ' choose, ', 'Enter', ' whole answers, then open, ', 'r', ' next repeat, ', 's', ' side by side, ', 'Esc', ' back'].map(part => part.length > 6 || part.startsWith(' ') ? part : [h('kbd', null, part), ' '])),
    ];
  }

  // choices are the filters of cases. Without a baseline some have nothing to show.
  choices() {
    const {comparison} = this.headNow(), compared = comparison && !comparison.notCompared;
    return h('fieldset', {class: 'only'}, h('legend', {class: 'unseen'}, 'Cases'), rowFilters.map(f => h('label', {title: f.baseline && !compared ? 'This run has no baseline.' : f.means},
      h('input', {type: 'radio', name: 'only', value: f.key, checked: f.key === this.only, disabled: f.baseline && !compared, onchange: () => { this.only = f.key; this.changed(); }}), h('span', null, f.title, f.baseline && !compared && ' (no baseline)'))));
  }

  // armChoices pick the arms that are columns.
  armChoices() {
    const arms = this.allArms();
    if (arms.length < 2) return null;
    this.boxes = h('fieldset', {class: 'only'}, h('legend', {class: 'unseen'}, 'Arms'), arms.slice(0, mostChoices).map(arm =>
      h('label', null, h('input', {type: 'checkbox', value: arm, onchange: () => this.chooseArms()}), name(arm))));
    return h('details', {class: 'arms', open: this.wanted.length > 0}, h('summary', null, 'Arms'), this.boxes);
  }

  chooseArms() {
    const chosen = [...this.boxes.querySelectorAll('input:checked')].map(input => input.value);
    this.wanted = chosen.length === this.allArms().length ? [] : chosen;
    this.changed();
  }

  // checkArms shows which arms are columns.
  checkArms() {
    const details = this.page[1].querySelector('.arms'), n = this.allArms().length;
    if (!details) return;
    for (const input of this.boxes.querySelectorAll('input')) input.checked = this.arms.includes(input.value);
    details.firstChild.textContent = this.arms.length < n ? `Arms: ${this.arms.length} of ${number(n)}` : 'Arms';
  }

  // changed finds again, draws, and keeps the address.
  changed() {
    this.restart();
    history.replaceState(null, '', this.address());
    this.find();
    this.grid.scrollTop = 0;
    this.draw();
    clearTimeout(this.saying);
    this.saying = setTimeout(() => say(this.countText()), 400); // not at every letter
  }

  // soon draws once before the next picture.
  soon() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; if (this.grid.isConnected) this.draw(); });
  }

  // find looks for the cases with a trial that fits; where whole answers must be read, it shows more and more of them.
  find() {
    const own = rowFilters.find(f => f.key === this.only).query, query = compileQuery([this.query, own].filter(Boolean).join(' '), this.rows), ticket = this.ticket = {};
    this.asked = !query.empty;
    this.invalid = query.problems.length > 0;
    this.field.complain(query.problems);
    seek(this.rows, {}, query, (places, share) => {
      if (ticket !== this.ticket) return false;
      if (this.kept && share < 1) return true; // a run that grows does not look empty in between
      this.share = share;
      this.take(places);
      if (this.kept) this.restore(this.kept);
      this.kept = null;
      if (query.reads && this.grid.isConnected) this.draw();
    });
  }

  // take shows the cases of trials that were found, as far as the filter of cases takes them.
  take(places) {
    const rows = this.rows, takes = this.taking(), seen = new Uint8Array(rows.cases.length);
    this.hits = new Uint8Array(rows.length);
    const counts = this.counting();
    for (const i of places) if (counts(i)) { this.hits[i] = 1; seen[rows.caseOf[i]] = 1; }
    this.found = Array.from(seen.keys()).filter(at => seen[at] && takes(rows.cases[at]));
    this.filled();
  }

  // filled draws what find found.
  filled() {
    this.arms = this.columns();
    this.checkArms();
    this.count.textContent = this.countText();
    this.means.textContent = rowFilters.find(f => f.key === this.only).means + (this.chosenArms() ? ' Only the chosen arms count.' : '');
    this.wide.style.setProperty('--columns', `repeat(${Math.max(1, this.arms.length)}, minmax(${leastColumn}px, 1fr))`);
    this.wide.style.setProperty('--least', leastColumn * this.arms.length + 'px');
    this.heads.replaceChildren(h('div', {role: 'columnheader', class: 'case unseen', 'aria-colindex': '1'}, 'Case'),
      ...this.arms.map((arm, i) => h('div', {role: 'columnheader', class: 'arm', 'aria-colindex': String(i + 2)}, name(arm), h('p', {class: 'note'}, this.armFacts(arm)))));
    this.begin();
    this.grid.setAttribute('aria-rowcount', String(this.found.length + 1));
    this.grid.setAttribute('aria-colcount', String(this.last() + 1));
    this.sheet.reset(this.found.length);
    if (this.found.length === 0) this.body.replaceChildren(h('div', {role: 'row', class: 'line none'}, h('div', {role: 'gridcell', class: 'case'}, this.invalid ? 'The query is not valid.' : 'No case fits.')));
  }

  countText() { return `${number(this.found.length)} of ${count(this.rows.cases.length, 'case')}${searchingText(this.share)}`; }

  // last is the number of the last column; the arms come after the case.
  last() { return this.arms.length; }

  // armFacts are the figures of a column.
  armFacts(arm) {
    const all = this.headNow().arms.filter(a => a.arm === arm), one = all[0];
    if (all.length !== 1) return '';
    const n = one.pass + one.fail, {currency} = this.headNow().run.prices || {}, paid = currency && this.rows.left.passes === 0 ? meansByArm(this.rows, this.rows.cost).get(one.suite + '\n' + arm) : null;
    return [one.passRate === null ? '' : `${percent(one.passRate)} of ${number(n)}`, one.meanLatencyMs > 0 && duration(one.meanLatencyMs), n > 0 && one.tokens.total > 0 && `${number(one.tokens.total / n)} tokens`, isKnown(paid) && perThousand(paid, currency)].filter(Boolean).join(', ');
  }

  // begin writes below each arm the first line of its prompt that is not the same on all, as the first case that was found has it.
  async begin() {
    const one = this.rows.cases[this.found[0]], ticket = this.heads.firstChild;
    if (!one || this.arms.length < 2) return;
    const trials = await Promise.all(this.arms.map(arm => this.rows.trials(this.rows.placesOf(one, arm).slice(0, 1)).then(([t]) => t, () => null)));
    if (this.heads.firstChild !== ticket) return; // other columns by now
    const lines = trials.map(t => t && t.request ? promptText(t.request).split('\n').filter(line => line.trim() !== '') : []);
    const most = Math.max(...lines.map(list => list.length)), at = Array.from({length: most}, (_, k) => k).find(k => new Set(lines.map(list => list[k])).size > 1) || 0;
    lines.forEach((list, i) => { if (list[at]) this.heads.children[i + 1].append(h('p', {class: 'note first-line', dir: 'auto', title: visible(list[at])}, visible(list[at]))); });
  }

  // columns are the arms that are shown: those that were chosen, or, when there are too many, first those of what was found.
  columns() {
    const all = this.allArms(), chosen = this.chosenArms();
    if (chosen) return chosen;
    if (all.length <= mostColumns) return all;
    const hit = new Set(), near = new Set(), rows = this.rows;
    for (const at of this.found) for (let i = rows.cases[at].from; i < rows.cases[at].to; i++) (this.hits[i] ? hit : near).add(rows.word('arm', i));
    const rank = arm => hit.has(arm) ? 0 : near.has(arm) ? 1 : 2, shown = new Set([...all].sort((a, b) => rank(a) - rank(b)).slice(0, mostColumns));
    return all.filter(arm => shown.has(arm));
  }

  // chosenArms are the columns that the reader chose, null where that is none.
  chosenArms() {
    const chosen = this.allArms().filter(arm => this.wanted.includes(arm));
    return chosen.length > 0 ? chosen : null;
  }

  // counting is the test of trials that count: those of the arms that were chosen.
  counting() {
    const chosen = this.chosenArms();
    if (!chosen) return () => true;
    const {arm} = this.rows.cells, takes = this.rows.tables.arm.map(words => chosen.includes(words[0]));
    return i => takes[arm[i]];
  }

  // allArms are those with a trial, in the order of the plan.
  allArms() {
    const order = new Map(this.headNow().run.plan.arms.map((arm, i) => [arm, i]));
    return this.rows.count('arm').map(([arm]) => arm).sort((a, b) => (order.get(a) ?? Infinity) - (order.get(b) ?? Infinity) || 0);
  }

  // taking is the test of the filter of cases.
  taking() {
    const rows = this.rows, counts = this.counting();
    if (this.only === 'failing') return one => rows.some(one, i => counts(i) && rows.word('outcome', i) === 'fail');
    if (this.only === 'differs') return one => rows.differs(one, counts);
    if (this.only === '' || this.only === 'unlabelled') return () => true;
    const flips = this.flips(this.only === 'new' ? isNew : isWorse);
    return one => flips.has(JSON.stringify([one.suite, one.name]));
  }

  // flips are the cases whose change against the baseline fits.
  flips(fits) {
    const {comparison} = this.headNow(), chosen = this.chosenArms(), arms = ((comparison && comparison.arms) || []).filter(a => !chosen || chosen.includes(a.headArm));
    return new Set(arms.flatMap(a => (a.flips || []).filter(fits).map(f => JSON.stringify([a.suite, f.case]))));
  }

  // row draws a case: first from what the table knows, then in full.
  row(at) {
    const one = this.rows.cases[this.found[at]];
    const cells = this.arms.map((arm, k) => this.cell(one, arm, at, k + 1));
    return h('div', {role: 'row', class: 'line' + (this.opened.has(this.keyOf(at)) ? ' opened' : ''), 'aria-rowindex': String(at + 2)}, this.caseCell(one, at), cells);
  }

  // caseCell is the input across the row: the name of the case and its variables.
  caseCell(one, at) {
    const values = h('span', {class: 'values'});
    this.fillVariables(values, one);
    return h('div', {role: 'rowheader', class: 'case', id: `cell-${at}-0`, 'aria-colindex': '1', onclick: () => this.choose(at, 0)},
      this.rows.tables.suite.length > 1 && h('p', {class: 'note'}, name(one.suite)), h('div', {class: 'strip'}, h('a', {href: caseAddress(one), tabindex: '-1'}, name(one.name)), ' ', values));
  }

  // fillVariables draws the variables of a case, which each trial that was sent has.
  async fillVariables(values, one) {
    const rows = this.rows, place = Array.from({length: one.to - one.from}, (_, k) => one.from + k).find(i => rows.words('var', i).length > 0);
    if (place === undefined) return;
    const trial = await this.read(place, values);
    if (!trial) return;
    values.replaceChildren(...Object.entries(trial.vars || {}).filter(([, value]) => value !== one.name).map(([key, value]) =>
      h('span', {class: 'value'}, h('span', {class: 'note'}, name(key)), ' ', h('span', {dir: 'auto'}, visible(value)))));
    const images = ((trial.request && trial.request.contents) || []).flatMap(c => c.parts || []).filter(p => p.image).slice(0, mostThumbs);
    values.append(...images.map(p => drawImage(p.image)));
  }

  cell(one, arm, at, column) {
    const el = h('div', {role: 'gridcell', class: 'reply-cell', id: `cell-${at}-${column}`, 'aria-colindex': String(column + 1), onclick: e => this.press(e, at, column)});
    this.fill(el, one, arm);
    return el;
  }

  // fill draws the trial of a cell, at once in brief and then in full.
  async fill(el, one, arm) {
    const rows = this.rows, places = rows.placesOf(one, arm), place = this.pick(one, arm, places);
    if (place === undefined) { el.replaceChildren(h('p', {class: 'note who'}, name(arm)), h('p', {class: 'note'}, '\u2013')); return; }
    el.dataset.place = String(place);
    el.classList.toggle('hit', this.asked && this.hits[place] === 1);
    el.replaceChildren(...this.top(place, places, arm), h('p', {class: 'brief', dir: 'auto'}, visible(rows.answer[place] || rows.why[place])));
    const trial = await this.read(place, el);
    if (!trial || el.dataset.place !== String(place)) return; // another repeat by now
    el.replaceChildren(...this.top(place, places, arm), ...drawCell(trial));
  }

  // read gives a trial in full; a cell says why that is not possible.
  async read(place, cell) {
    try {
      return (await this.rows.trials([place]))[0];
    } catch (problem) {
      cell.append(h('p', {class: 'note'}, 'The rest cannot be read: ', visible(problem.message)));
      return null;
    }
  }

  // pick chooses the trial that a cell shows: the one that the keys chose, the first that the query found, or the worst.
  pick(one, arm, places) {
    const chosen = this.repeats.get(one.suite + '\n' + one.name + '\n' + arm);
    if (chosen !== undefined && places.includes(chosen)) return chosen;
    const rank = i => severity[this.rows.word('outcome', i)] ?? 2, found = this.asked ? places.find(i => this.hits[i]) : undefined;
    return found !== undefined ? found : places.reduce((worst, i) => worst === undefined || rank(i) < rank(worst) ? i : worst, undefined);
  }

  // top is the first line of a cell.
  top(place, places, arm) {
    const rows = this.rows, passed = places.filter(i => rows.word('outcome', i) === 'pass').length;
    return [
      h('p', {class: 'note who'}, name(arm)),
      h('p', {class: 'top'}, badge(rows.word('outcome', place)), ' ', h('a', {href: trialAddress(rows, place), tabindex: '-1', 'aria-label': `Open ${rows.names[place]} on ${arm}`}, 'open'), this.sideLink(rows.cases[rows.caseOf[place]], arm),
        places.length > 1 && h('span', {class: 'on'}, ` repeat ${rows.repeat[place]}, ${passed} of ${places.length} passed`),
        rows.words('note', place).map(n => h('span', {class: 'chip'}, n))),
    ];
  }

  // pair is the address of an answer side by side with another arm's: the first, or the second; undefined where there is no other.
  pair(one, arm) {
    const others = this.arms.filter(other => other !== arm && this.rows.placesOf(one, other).length > 0);
    if (others.length === 0) return undefined;
    const first = this.arms.indexOf(others[0]) < this.arms.indexOf(arm) ? others[0] : arm;
    return sideAddress(one, {a: first, b: first === arm ? others[0] : arm});
  }

  sideLink(one, arm) {
    const href = this.pair(one, arm);
    return href && h('a', {href, tabindex: '-1', 'aria-label': `${arm} side by side with another arm`}, 'side by side');
  }

  // press chooses a cell, and shows the answers of its case whole, or in short again.
  press(e, row, column) {
    this.choose(row, column);
    if (!e.target.closest('a, button, summary') && String(getSelection()) === '') this.toggle(row);
  }

  // toggle shows the answers of a case whole, or their first three lines.
  toggle(at) {
    const key = this.keyOf(at), whole = !this.opened.has(key), row = this.body.querySelector(`[data-at="${at}"]`);
    if (whole) this.opened.add(key); else this.opened.delete(key);
    if (row) row.classList.toggle('opened', whole);
  }

  choose(row, column) { this.active = {row, column}; this.mark(); }

  // mark shows which cell the keys are on.
  mark() {
    for (const cell of this.body.querySelectorAll('[aria-selected]')) cell.removeAttribute('aria-selected');
    const cell = document.getElementById(`cell-${this.active.row}-${this.active.column}`);
    if (!cell) { this.grid.removeAttribute('aria-activedescendant'); return; }
    cell.setAttribute('aria-selected', 'true');
    this.grid.setAttribute('aria-activedescendant', cell.id);
  }

  key(e) {
    if (e.target !== this.grid || e.ctrlKey || e.metaKey || e.altKey || this.found.length === 0) return;
    const rows = {ArrowDown: 1, ArrowUp: -1, PageDown: 5, PageUp: -5, Home: -Infinity, End: Infinity}, columns = {ArrowRight: 1, ArrowLeft: -1};
    if (e.key in rows) this.move(rows[e.key], 0);
    else if (e.key in columns) this.move(0, columns[e.key]);
    else if (e.key === 'Enter') this.open();
    else if (e.key === 'r') this.nextRepeat();
    else if (e.key === 's') this.showPair();
    else return;
    e.preventDefault();
  }

  move(down, right) {
    const within = (n, last) => Math.max(0, Math.min(last, n));
    this.active = {row: within(this.active.row + down, this.found.length - 1), column: within(this.active.column + right, this.last())};
    this.sheet.bring(this.active.row);
    const cell = document.getElementById(`cell-${this.active.row}-${this.active.column}`);
    if (right !== 0 && cell) cell.scrollIntoView({block: 'nearest', inline: 'nearest'});
  }

  // beside is the case before or after one in the order of the rows, or of the plan where they do not have it.
  beside(one, step) {
    const all = this.rows.cases, at = all.indexOf(one), row = this.found.indexOf(at);
    return all[row < 0 ? at + step : this.found[row + step]];
  }

  // at is the case, the arm and the cell of the keys.
  at() {
    const one = this.rows.cases[this.found[this.active.row]], arm = this.arms[this.active.column - 1];
    return {one, arm, cell: document.getElementById(`cell-${this.active.row}-${this.active.column}`)};
  }

  open() {
    const {one, cell} = this.at();
    if (cell && cell.dataset.place && !this.opened.has(this.keyOf(this.active.row))) { this.toggle(this.active.row); return; }
    location.hash = cell && cell.dataset.place ? trialAddress(this.rows, Number(cell.dataset.place)) : caseAddress(one);
  }

  // showPair shows the answer of the keys next to another arm's.
  showPair() {
    const {one, arm} = this.at(), href = this.pair(one, arm === undefined ? this.arms[0] : arm);
    if (href) location.hash = href;
  }

  // nextRepeat shows the next trial of the case on the arm.
  nextRepeat() {
    const {one, arm, cell} = this.at(), places = arm === undefined ? [] : this.rows.placesOf(one, arm);
    if (places.length < 2 || !cell) return;
    const place = places[(places.indexOf(Number(cell.dataset.place)) + 1) % places.length];
    this.repeats.set(one.suite + '\n' + one.name + '\n' + arm, place);
    this.fill(cell, one, arm);
    say(`repeat ${this.rows.repeat[place]}: ${this.rows.word('outcome', place)}`);
  }
}
