// The columns by which trials are filtered: a cell is the number of a list of words in the column's table.
const facets = ['outcome', 'suite', 'arm', 'tag', 'scorer', 'error', 'finish', 'category', 'note'];
// Lists of words that trials are not chosen by with a select: names of numbers, of tools that were called, of variables, and of classes.
const wordLists = [...facets, 'number', 'call', 'var', 'class', 'answered'];
// labelling is what the viewer knows of the labels of its reader: read sets known, the places in the plan of trials that are labelled
// (yes) and of those that can be (no), and ready reads what is not known. Who labels is blind: pages of answers then show nothing of
// what became of them. queue draws how many are labelled, with the next one.
const labelling = {read: null, known: null, blind: false, queue: null, ready: async () => labelling.known || labelling.read()};
const mostBlocks = 8; // in memory, parsed
const mostSearched = 200 << 20; // characters of answers in memory, after which they are read again

// searchedText is what a query searches of an answer.
function searchedText(t) {
  const replies = [...(t.turns || []), t.response].filter(Boolean).flatMap(r => r.candidates || []);
  const text = replies.flatMap(c => [c.text, ...(c.parts || []).filter(p => p.call).map(p => p.call.name + ' ' + JSON.stringify(p.call.args ?? ''))]).join('\n');
  return {text: folded(text), vars: Object.entries(t.vars || {}).map(([key, value]) => [folded(key), folded(value)])};
}

// Rows are the trials as columns, in the order of the plan.
class Rows {
  constructor(index) {
    this.blocks = index.blocks;
    this.tables = index.tables;
    this.left = index.left;
    this.order = null;   // of a run that is watched: for each place, which trial of the blocks stands there
    this.length = index.blocks.reduce((sum, n) => sum + n, 0);
    this.names = [];     // of the case
    this.why = [];
    this.input = [];     // what was asked, and the text that was wanted, of trials that did not pass
    this.wanted = [];
    this.answer = [];
    this.repeat = new Uint32Array(this.length);
    this.latency = new Float64Array(this.length);
    this.tokens = new Float64Array(this.length);
    this.text = new Uint32Array(this.length); // hashes of whole answers
    this.values = []; // the numbers of a trial, in the order of their names
    this.cells = {};
    for (const f of wordLists) this.cells[f] = new Uint32Array(this.length);
    this.cases = [];     // {suite, name, from, to}
    this.texts = [];     // what is searched
    this.cost = new Float64Array(this.length).fill(-1);
    this.plan = [];      // places in the plan, where they are told
    this.read = new Map(); // blocks of trials, or promises of them, by number; the one that was read last comes last
    this.searched = new Map(); // whole answers by number of the block
    this.searchedSize = 0;
    this.notes = index.tables.note.slice(); // as the blocks number them: gather adds some of its own
  }

  // take puts in a block of rows.
  take(block, at) {
    for (let i = 0; i < block.repeat.length; i++) {
      this.names[at + i] = block.case[i] === 0 ? this.names[at + i - 1] : block.case[i];
      this.why[at + i] = block.why[i];
      this.input[at + i] = block.input ? block.input[i] : '';
      this.wanted[at + i] = block.wanted ? block.wanted[i] : '';
      this.answer[at + i] = block.answer[i];
      this.texts[at + i] = folded(this.names[at + i] + '\n' + block.why[i] + '\n' + block.answer[i]);
    }
    this.repeat.set(block.repeat, at);
    this.latency.set(block.latency, at);
    this.tokens.set(block.tokens, at);
    if (block.cost) this.cost.set(block.cost, at);
    this.text.set(block.text, at);
    for (const f of wordLists) this.cells[f].set(block[f], at);
    this.takeValues(block, at);
    if (block.n) for (let i = 0; i < block.n.length; i++) this.plan[at + i] = block.n[i];
  }

  // takeValues gives each trial its numbers: a block has those of all trials in one list.
  takeValues(block, at) {
    let from = 0;
    for (let i = 0; i < block.number.length; i++) {
      const n = this.tables.number[block.number[i]].length;
      this.values[at + i] = block.value.slice(from, from + n);
      from += n;
    }
  }

  // grow takes in a block of trials that a run has got since, with the lists that are new in the tables. A trial takes the place of
  // an earlier one of the same place in the plan.
  grow(block, lists) {
    for (const f of wordLists) if (f !== 'note') this.tables[f].push(...lists[f]);
    this.notes.push(...lists.note);
    block.note = block.note.map(k => this.numberOf('note', this.notes[k]));
    const old = this.length, fresh = new Rows({blocks: [block.repeat.length], tables: this.tables, left: this.left});
    fresh.take(block, 0);
    labelling.known = null;
    const again = new Set(fresh.plan), known = this.blocks.reduce((sum, n) => sum + n, 0);
    const from = []; // for each place, where it comes from: a place of before, or a trial of the block
    for (let i = 0; i < old; i++) if (!again.has(this.plan[i])) from.push(i);
    for (let i = 0; i < fresh.length; i++) from.push(old + i);
    const planOf = i => i < old ? this.plan[i] : fresh.plan[i - old];
    from.sort((a, b) => planOf(a) - planOf(b) || a - b);
    const pick = (mine, its) => from.map(i => i < old ? mine[i] : its[i - old]);
    this.order = from.map(i => i < old ? (this.order ? this.order[i] : i) : known + i - old);
    for (const column of ['names', 'why', 'input', 'wanted', 'answer', 'texts', 'values', 'plan']) this[column] = pick(this[column], fresh[column]);
    for (const column of ['repeat', 'latency', 'tokens', 'cost', 'text']) this[column] = this[column].constructor.from(pick(this[column], fresh[column]));
    for (const f of wordLists) this.cells[f] = Uint32Array.from(pick(this.cells[f], fresh.cells[f]));
    this.blocks.push(fresh.length);
    this.length = from.length;
    this.gather();
  }

  // gather finds the cases: the trials of each stand together.
  gather() {
    this.verdicts = null;
    this.byName = new Map();
    this.cases = [];
    this.caseOf = new Uint32Array(this.length); // the case of each trial
    for (let from = 0, to; from < this.length; from = to) {
      const suite = this.cells.suite[from], name = this.names[from];
      for (to = from + 1; to < this.length && this.cells.suite[to] === suite && this.names[to] === name; to++);
      const one = {suite: this.word('suite', from), name, from, to};
      this.byName.set(one.suite + '\n' + name, this.cases.length);
      this.caseOf.fill(this.cases.length, from, to);
      this.cases.push(one);
      if (to - from > 1) this.noteFlaky(one);
    }
  }

  // judged says of each trial whether it passed (2), failed (1), or was not judged (0).
  judged() {
    if (this.verdicts && this.verdicts.length === this.length) return this.verdicts;
    const byWord = this.tables.outcome.map(words => words[0] === 'pass' ? 2 : words[0] === 'fail' ? 1 : 0);
    return this.verdicts = Uint8Array.from(this.cells.outcome, cell => byWord[cell]);
  }

  // numberOf is the number of a list of words in the table of a column, to which it is added when it is new.
  numberOf(facet, words) {
    const table = this.tables[facet], at = table.findIndex(list => list.join('\n') === words.join('\n'));
    return at >= 0 ? at : table.push(words) - 1;
  }

  // noteFlaky notes on which arms some repeats of a case passed and others failed.
  noteFlaky(one) {
    const seen = new Map();
    for (let i = one.from; i < one.to; i++) {
      const arm = this.cells.arm[i];
      seen.set(arm, (seen.get(arm) || new Set()).add(this.word('outcome', i)));
    }
    for (let i = one.from; i < one.to; i++) {
      const outcomes = seen.get(this.cells.arm[i]);
      if (!outcomes.has('pass') || !outcomes.has('fail') || this.words('note', i).includes('flaky')) continue;
      this.cells.note[i] = this.numberOf('note', [...this.words('note', i), 'flaky']);
    }
  }

  // some reports whether a test holds for a trial of a case.
  some(one, test) {
    for (let i = one.from; i < one.to; i++) if (test(i)) return true;
    return false;
  }

  // placesOf are the places of the trials of a case on an arm.
  placesOf(one, arm) {
    const out = [];
    for (let i = one.from; i < one.to; i++) if (this.word('arm', i) === arm) out.push(i);
    return out;
  }

  // differs reports whether arms of a case have another outcome or another text in the same repeat, among the trials that count.
  // What was never sent does not count.
  differs(one, counts) {
    const firsts = new Map(); // by repeat
    return this.some(one, i => {
      const outcome = this.word('outcome', i), first = firsts.get(this.repeat[i]);
      if (outcome === 'skip' || !counts(i)) return false;
      if (first === undefined) { firsts.set(this.repeat[i], i); return false; }
      return this.word('outcome', first) !== outcome || this.text[first] !== this.text[i];
    });
  }

  words(facet, i) { return this.tables[facet][this.cells[facet][i]]; }
  word(facet, i) { return this.words(facet, i)[0] || ''; }

  // find gives the trials that fit: filters name one word of a facet each, and tests take places.
  find(filters, tests) {
    const all = [...tests];
    for (const f of facets) {
      if (!filters[f]) continue;
      const cells = this.cells[f], fits = this.tables[f].map(words => words.includes(filters[f]));
      all.unshift(i => fits[cells[i]]);
    }
    const found = new Uint32Array(this.length);
    let n = 0;
    for (let i = 0; i < this.length; i++) if (all.every(test => test(i))) found[n++] = i;
    return found.subarray(0, n);
  }

  // forget takes words out of the notes: those of the gate's baseline, where another one is shown.
  forget(words) {
    this.tables.note = this.tables.note.map(list => list.filter(word => !words.includes(word)));
    this.notes = this.tables.note.slice();
  }

  // count says how many of the trials have each word of a facet, the most frequent first.
  count(facet) {
    const table = this.tables[facet], perList = new Uint32Array(table.length), perWord = new Map();
    for (const cell of this.cells[facet]) perList[cell]++;
    table.forEach((words, at) => { for (const w of words) perWord.set(w, (perWord.get(w) || 0) + perList[at]); });
    return [...perWord].sort((a, b) => b[1] - a[1]);
  }

  // spot is where a trial is: the number of its block, and its place there.
  spot(place) {
    let block = 0, at = this.order ? this.order[place] : place;
    while (at >= this.blocks[block]) at -= this.blocks[block++];
    return [block, at];
  }

  // block reads a block of trials. Those that were read last stay in memory.
  block(n) {
    const reading = this.read.get(n) || load('trials/' + n).then(trials => trials || Promise.reject(new Error(`trials/${n} is not there`)));
    this.read.delete(n);
    this.read.set(n, reading);
    if (this.read.size > mostBlocks) this.read.delete(this.read.keys().next().value);
    reading.catch(() => this.read.delete(n)); // it is read again when it is wanted again
    return reading;
  }

  // answers are the whole answers of a block, as they are searched: {text, vars} with texts and calls of all steps, and the variables.
  async answers(n) {
    if (!this.searched.has(n)) {
      const texts = (await this.block(n)).map(searchedText);
      this.searched.set(n, texts);
      this.searchedSize += texts.reduce((sum, {text}) => sum + text.length, 0);
      if (this.searchedSize > mostSearched) { this.searched = new Map([[n, texts]]); this.searchedSize = 0; }
    }
    return this.searched.get(n);
  }

  // trials reads trials in full, by their places.
  async trials(places) {
    return Promise.all(places.map(async place => {
      const [block, at] = this.spot(place);
      return (await this.block(block))[at];
    }));
  }
}

// loadRows reads the rows of the run, or of another one by a function like load.
async function loadRows(read = load) {
  const rows = new Rows(await read('index'));
  const starts = [];
  rows.blocks.reduce((at, n) => (starts.push(at), at + n), 0);
  await Promise.all(rows.blocks.map(async (_, i) => rows.take(await read('rows/' + i), starts[i])));
  rows.gather();
  return rows;
}
