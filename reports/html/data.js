// Where the page's data comes from. A report holds it in blocks: 'head' and 'index' as they are, 'rows/N', 'trials/N' packed, and
// 'image/HASH'. A server would answer to the same names: nothing else in the page knows where the data is.
async function load(name) {
  const block = document.getElementById(name);
  if (!block) return null;
  if (block.type === 'application/json') return JSON.parse(block.textContent);
  return JSON.parse(await unpack(block.textContent));
}

// unpack undoes base64 and deflate.
async function unpack(text) {
  if (!window.DecompressionStream) throw new Error('this browser is too old to unpack the data of the report: it lacks DecompressionStream');
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
}

// The columns by which trials are filtered: a cell is the number of a list of words in the column's table.
const facets = ['outcome', 'suite', 'arm', 'tag', 'scorer', 'error', 'finish', 'category', 'note'];

// Rows are the trials as columns, in the order of the plan.
class Rows {
  constructor(index) {
    this.blocks = index.blocks;
    this.tables = index.tables;
    this.left = index.left;
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
  }

  // gather finds the cases: the trials of each stand together.
  gather() {
    this.byName = new Map();
    for (let from = 0, to; from < this.length; from = to) {
      const suite = this.cells.suite[from], name = this.names[from];
      for (to = from + 1; to < this.length && this.cells.suite[to] === suite && this.names[to] === name; to++);
      const one = {suite: this.word('suite', from), name, from, to};
      this.byName.set(one.suite + '\n' + name, this.cases.length);
      this.cases.push(one);
      if (to - from > 1) this.noteFlaky(one);
    }
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
      if (!outcomes.has('pass') || !outcomes.has('fail')) continue;
      const words = [...this.words('note', i), 'flaky'], table = this.tables.note;
      let at = table.findIndex(list => list.join('\n') === words.join('\n'));
      if (at < 0) at = table.push(words) - 1;
      this.cells.note[i] = at;
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

  // count says how many of the trials have each word of a facet, the most frequent first.
  count(facet) {
    const table = this.tables[facet], perList = new Uint32Array(table.length), perWord = new Map();
    for (const cell of this.cells[facet]) perList[cell]++;
    table.forEach((words, at) => { for (const w of words) perWord.set(w, (perWord.get(w) || 0) + perList[at]); });
    return [...perWord].sort((a, b) => b[1] - a[1]);
  }

  // trials reads trials in full, by their places in rising order.
  async trials(places) {
    const out = [];
    let block = 0, start = 0, all = null;
    for (const i of places) {
      while (i >= start + this.blocks[block]) { start += this.blocks[block++]; all = null; }
      all = all || await load('trials/' + block);
      out.push(all[i - start]);
    }
    return out;
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
