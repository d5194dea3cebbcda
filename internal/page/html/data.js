// The columns by which trials are filtered: a cell is the number of a list of words in the column's table.
const facets = ['outcome', 'suite', 'arm', 'tag', 'scorer', 'error', 'finish', 'category', 'note'];

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
    this.answer = [];
    this.repeat = new Uint32Array(this.length);
    this.latency = new Float64Array(this.length);
    this.tokens = new Float64Array(this.length);
    this.cells = {};
    for (const f of facets) this.cells[f] = new Uint32Array(this.length);
    this.cases = [];     // {suite, name, from, to}
    this.texts = [];     // what is searched
    this.plan = [];      // places in the plan, where they are told
    this.notes = index.tables.note.slice(); // as the blocks number them: gather adds some of its own
  }

  // take puts in a block of rows.
  take(block, at) {
    for (let i = 0; i < block.repeat.length; i++) {
      this.names[at + i] = block.case[i] === 0 ? this.names[at + i - 1] : block.case[i];
      this.why[at + i] = block.why[i];
      this.answer[at + i] = block.answer[i];
      this.texts[at + i] = (this.names[at + i] + '\n' + block.why[i] + '\n' + block.answer[i]).toLowerCase();
    }
    this.repeat.set(block.repeat, at);
    this.latency.set(block.latency, at);
    this.tokens.set(block.tokens, at);
    for (const f of facets) this.cells[f].set(block[f], at);
    if (block.n) for (let i = 0; i < block.n.length; i++) this.plan[at + i] = block.n[i];
  }

  // grow takes in a block of trials that a run has got since, with the lists that are new in the tables. A trial takes the place of
  // an earlier one of the same place in the plan.
  grow(block, lists) {
    for (const f of facets) if (f !== 'note') this.tables[f].push(...lists[f]);
    this.notes.push(...lists.note);
    block.note = block.note.map(k => this.numberOf('note', this.notes[k]));
    const old = this.length, fresh = new Rows({blocks: [block.repeat.length], tables: this.tables, left: this.left});
    fresh.take(block, 0);
    const again = new Set(fresh.plan), known = this.blocks.reduce((sum, n) => sum + n, 0);
    const from = []; // for each place, where it comes from: a place of before, or a trial of the block
    for (let i = 0; i < old; i++) if (!again.has(this.plan[i])) from.push(i);
    for (let i = 0; i < fresh.length; i++) from.push(old + i);
    const planOf = i => i < old ? this.plan[i] : fresh.plan[i - old];
    from.sort((a, b) => planOf(a) - planOf(b) || a - b);
    const pick = (mine, its) => from.map(i => i < old ? mine[i] : its[i - old]);
    this.order = from.map(i => i < old ? (this.order ? this.order[i] : i) : known + i - old);
    for (const column of ['names', 'why', 'answer', 'texts', 'plan']) this[column] = pick(this[column], fresh[column]);
    for (const column of ['repeat', 'latency', 'tokens']) this[column] = this[column].constructor.from(pick(this[column], fresh[column]));
    for (const f of facets) this.cells[f] = Uint32Array.from(pick(this.cells[f], fresh.cells[f]));
    this.blocks.push(fresh.length);
    this.length = from.length;
    this.gather();
  }

  // gather finds the cases: the trials of each stand together.
  gather() {
    this.byName = new Map();
    this.cases = [];
    for (let from = 0, to; from < this.length; from = to) {
      const suite = this.cells.suite[from], name = this.names[from];
      for (to = from + 1; to < this.length && this.cells.suite[to] === suite && this.names[to] === name; to++);
      const one = {suite: this.word('suite', from), name, from, to};
      this.byName.set(one.suite + '\n' + name, this.cases.length);
      this.cases.push(one);
      if (to - from > 1) this.noteFlaky(one);
    }
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

  words(facet, i) { return this.tables[facet][this.cells[facet][i]]; }
  word(facet, i) { return this.words(facet, i)[0] || ''; }

  // find gives the trials that fit: filters name one word of a facet each, and every word of the query stands in a trial's texts.
  find(filters, query) {
    const tests = [];
    for (const f of facets) {
      if (filters[f]) tests.push([this.cells[f], this.tables[f].map(words => words.includes(filters[f]))]);
    }
    const needles = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Uint32Array(this.length);
    let n = 0;
    next: for (let i = 0; i < this.length; i++) {
      for (const [cells, fits] of tests) if (!fits[cells[i]]) continue next;
      for (const needle of needles) if (!this.texts[i].includes(needle)) continue next;
      found[n++] = i;
    }
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

  // trials reads trials in full, by their places.
  async trials(places) {
    const read = new Map();
    return Promise.all(places.map(async place => {
      let block = 0, at = this.order ? this.order[place] : place;
      while (at >= this.blocks[block]) at -= this.blocks[block++];
      if (!read.has(block)) read.set(block, load('trials/' + block));
      return (await read.get(block))[at];
    }));
  }
}

async function loadRows() {
  const rows = new Rows(await load('index'));
  const starts = [];
  rows.blocks.reduce((at, n) => (starts.push(at), at + n), 0);
  await Promise.all(rows.blocks.map(async (_, i) => rows.take(await load('rows/' + i), starts[i])));
  rows.gather();
  return rows;
}
