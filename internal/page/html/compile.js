// What a query means for the trials of a run.

// compileQuery gives the tests of a query: those that the rows of the table answer, by place, and those of whole answers, by text. It
// says whether something must be read first.
// A query with problems has no tests: it finds nothing.
function compileQuery(text, rows) {
  const {terms, problems} = parseQuery(text), tests = [], slow = [], labelled = terms.some(t => t.field === 'labelled');
  for (const term of terms) {
    const complain = (words, from = term.at, to = term.end) => problems.push({at: from, end: to, text: words});
    const made = term.word === undefined ? compileField(term, rows, complain) : compileWord(term, rows);
    if (made && made.slow) slow.push(made.slow);
    else if (made) tests.push(made);
  }
  problems.sort((a, b) => a.at - b.at);
  return {problems, tests, slow, labelled, reads: labelled || slow.length > 0, empty: terms.length === 0};
}

function compileWord({word}, rows) {
  const needle = folded(word);
  return i => rows.texts[i].includes(needle);
}

// compileField checks a term and gives its test; undefined when there is a problem.
function compileField(term, rows, complain) {
  const field = queryFields.get(term.field), nameEnd = term.from - term.op.length;
  if (!field) {
    return complain(`there is no field "${visible(term.written)}"; possible: ${[...queryFields.keys()].join(', ')}; put quotes around the text to search for it`, term.at, nameEnd);
  }
  if (term.dotted && !field.named) return complain(`${term.field} has no names; write ${term.field}:VALUE`, term.at, nameEnd);
  if (!operators[field.kind].includes(term.op)) return complain(`${term.field} takes no ${term.op}; possible: ${operators[field.kind].join(' ')}`, nameEnd, term.from);
  if (term.value === '') return complain(`${term.field}${term.op} needs a value: ${field.means}`);
  const test = compilers[field.kind](term, rows, complain, field);
  if (!test) return undefined;
  const not = term.not !== (term.op === '!=');
  if (test.slow) return {slow: one => test.slow(one) !== not};
  return not ? i => !test(i) : test;
}

const compilers = {__proto__: null, words: compileWords, text: compileText, number: compileNumber};

function compileWords(term, rows, complain) {
  const fits = patternOf(term);
  if (term.field === 'outcome' && !outcomeWords.some(fits)) return complain(`there is no outcome "${visible(term.value)}"; possible: ${outcomeWords.join(', ')}`, term.from);
  if (term.field === 'case') return compileCase(rows, fits);
  if (term.field === 'labelled') {
    const wanted = labelledWords.filter(fits);
    if (wanted.length === 0) return complain(`labelled is yes or no`, term.from);
    return i => wanted.some(word => labelling.known[word].has(rows.plan[i]));
  }
  const table = rows.tables[term.field].map(term.field === 'scorer' ? scorerWords : list => list), words = [...new Set(table.flat())];
  if (mustBeKnown.includes(term.field) && !words.some(fits)) {
    return complain(`this run has no ${term.field} "${visible(term.value)}"; ` + (words.length > 0 ? `possible: ${possible(words)}` : `it has none at all`), term.from);
  }
  const takes = table.map(list => list.some(fits)), cells = rows.cells[term.field];
  return i => takes[cells[i]];
}

// scorerWords are "NAME (KIND)" as such, and the name and the kind alone.
const scorerWords = list => list.flatMap(word => [word, ...(/^([^]*) \(([^()]*)\)$/.exec(word) || []).slice(1)]);

// mustBeKnown are the fields where a word that no trial has is rather a slip than a question.
const mustBeKnown = ['arm', 'suite', 'tag', 'call', 'class', 'answered'];

function compileCase(rows, fits) {
  const takes = rows.cases.map(one => fits(one.name));
  return i => takes[rows.caseOf[i]];
}

function compileText(term, rows, complain) {
  const needle = folded(term.value), wanted = folded(term.name);
  if (term.field === 'reason') return i => folded(rows.why[i]).includes(needle);
  if (rows.withoutContent) return complain('this run has no texts to search: it was made with --no-content');
  if (term.field === 'text') return {slow: one => one.text.includes(needle)};
  const known = namesOf(rows, 'var');
  if (known.length === 0 || term.dotted && !known.some(n => folded(n) === wanted)) return noName(term, known, complain);
  return {slow: one => one.vars.some(([key, value]) => (!term.dotted || key === wanted) && value.includes(needle))};
}

// noName says that a run has no score, metric or variable of a name.
function noName(term, known, complain) {
  const rest = known.length > 0 ? `possible: ${possible(known)}` : 'it has none at all';
  return complain(`this run has no ${term.field}${term.dotted ? ` "${visible(term.name)}"` : ''}; ${rest}`, term.at, term.from - term.op.length);
}

function compileNumber(term, rows, complain, field) {
  const value = numberOf(term, field);
  if (value === undefined) {
    return complain(`"${visible(term.value)}" is not a number; write ${term.written}${term.op}0.5` + (field.units ? `, or with a unit: ${[...field.units.keys()].join(', ')}` : ''), term.from);
  }
  const holds = comparisons[term.op](value);
  if (field.named) return compileNamed(term, rows, complain, holds);
  const column = rows[term.field];
  return i => column[i] >= 0 && holds(column[i]); // -1: not known
}

// numberOf is the value of a term in the unit of its field; undefined when it is no number.
function numberOf(term, {units}) {
  const m = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z]*)$/i.exec(term.value);
  if (!m || !Number.isFinite(Number(m[1])) || m[2] && !(units && units.has(m[2].toLowerCase()))) return undefined;
  return Number(m[1]) * (m[2] ? units.get(m[2].toLowerCase()) : 1);
}

const same = (a, b) => Math.abs(a - b) < 1e-9;
const comparisons = {
  __proto__: null,
  ':': v => x => same(x, v), '=': v => x => same(x, v), '!=': v => x => same(x, v), // != is turned round later
  '<': v => x => x < v, '<=': v => x => x <= v, '>': v => x => x > v, '>=': v => x => x >= v,
};

// compileNamed tests scores or metrics: those of a name, or all.
function compileNamed(term, rows, complain, holds) {
  const before = term.field + '.', wanted = folded(before + term.name);
  const fits = key => key.startsWith(before) && (!term.dotted || folded(key) === wanted);
  const places = rows.tables.number.map(list => list.flatMap((key, k) => fits(key) ? [k] : []));
  if (places.every(list => list.length === 0)) return noName(term, namesOf(rows, term.field), complain);
  const cells = rows.cells.number;
  return i => places[cells[i]].some(k => rows.values[i][k] !== null && holds(rows.values[i][k]));
}

// namesOf are the names of the scores, metrics or variables of a run.
const namesOf = (rows, field) => field === 'var' ? [...new Set(rows.tables.var.flat())] : [...new Set(rows.tables.number.flat())].filter(key => key.startsWith(field + '.')).map(key => key.slice(field.length + 1));

// seek finds the trials that fit filters and a compiled query. It gives them to show, with the share that is done, once or, where whole
// answers must be read, bit by bit. It stops when show returns false.
function seek(rows, filters, query, show) {
  const failed = problem => say('The answers cannot be read: ' + problem.message);
  if (query.problems.length > 0) return void show(new Uint32Array(0), 1);
  if (query.labelled && !labelling.known) {
    show(new Uint32Array(0), 0);
    labelling.read().then(() => seek(rows, filters, query, show)).catch(failed);
    return;
  }
  const places = rows.find(filters, query.tests);
  if (query.slow.length === 0) return void show(places, 1);
  show(new Uint32Array(0), 0);
  readAnswers(rows, places, query.slow, show).catch(failed);
}

const showEvery = 300; // milliseconds

async function readAnswers(rows, places, tests, show) {
  const found = [];
  let last = performance.now();
  for (let n = 0; n < places.length;) {
    const [block] = rows.spot(places[n]), texts = await rows.answers(block);
    for (let spot; n < places.length && (spot = rows.spot(places[n]))[0] === block; n++) {
      if (tests.every(test => test(texts[spot[1]]))) found.push(places[n]);
    }
    const due = performance.now() - last > showEvery || n >= places.length;
    if (due && show(Uint32Array.from(found), n / places.length) === false) return;
    if (due) last = performance.now();
  }
  if (places.length === 0) show(places, 1);
}

// searchingText says how much of the answers has been read.
const searchingText = share => share < 1 ? `, searching: ${Math.floor(100 * share)} % read` : '';
