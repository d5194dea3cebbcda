// The query language of the table of trials and of the matrix: terms with blanks between them, all of which hold for a trial.
// A term is FIELD OPERATOR VALUE, with a minus before it when it must not hold, or a word that is searched.

// queryFields are the fields by name. Those of kind words have whole words, and * stands for any text in them.
const queryFields = new Map([
  ['outcome', {kind: 'words', means: 'pass, fail, error or skip'}],
  ['arm', {kind: 'words', means: 'target/prompt'}],
  ['suite', {kind: 'words', means: 'name of the suite'}],
  ['case', {kind: 'words', means: 'name of the case'}],
  ['tag', {kind: 'words', means: 'a tag of the case'}],
  ['text', {kind: 'text', means: 'words in the whole answer or in its tool calls'}],
  ['var', {kind: 'text', named: true, means: 'words in a variable, or in the variable var.NAME'}],
  ['reason', {kind: 'text', means: 'words at the beginning of the reason'}],
  ['call', {kind: 'words', means: 'name of a tool that was called'}],
  ['class', {kind: 'words', means: 'class of the case, of a classification'}],
  ['answered', {kind: 'words', means: 'class that was answered, or (other)'}],
  ['score', {kind: 'number', named: true, means: 'a score, or score.NAME'}],
  ['metric', {kind: 'number', named: true, means: 'a derived metric, or metric.NAME'}],
  ['scorer', {kind: 'words', means: 'a scorer that failed or gave no score'}],
  ['error', {kind: 'words', means: 'kind of the error'}],
  ['finish', {kind: 'words', means: 'finish reason'}],
  ['category', {kind: 'words', means: 'safety rating'}],
  ['note', {kind: 'words', means: 'a note such as flaky'}],
  ['repeat', {kind: 'number', means: 'number of the repeat, from 1'}],
  ['tokens', {kind: 'number', means: 'tokens of the trial'}],
  ['cost', {kind: 'number', means: 'cost of the trial, where the run has prices'}],
  ['latency', {kind: 'number', units: new Map([['ms', 1], ['s', 1000], ['min', 60000]]), means: 'milliseconds, or a number with ms, s or min'}],
]);
// labelledField is the field of runs that the reader can label.
const labelledField = {kind: 'words', means: 'yes or no: whether you labelled the answer'};
const operators = {__proto__: null, words: [':', '=', '!='], text: [':', '=', '!='], number: [':', '=', '!=', '<', '<=', '>', '>=']};
const labelledWords = ['yes', 'no'];
const outcomeWords = ['pass', 'fail', 'error', 'skip'];
const mostPossible = 12; // words in a message
const mostQuery = 2000;  // characters

const isGap = c => /\s/.test(c);
// Some keyboards write curved quotes, and each pair is as good as a straight one.
const curved = '\u201c\u201d\u201e', closes = quote => quote === '"' ? '"' : '\u201c\u201d';
const opensQuote = c => c === '"' || c !== undefined && curved.includes(c);

// parseQuery reads terms: {at, end} are places in the text, {word} is to be searched, {not, field, name, op, value, quoted, from} is a
// term of a field whose value begins at from. A problem has its place as well.
function parseQuery(text) {
  const terms = [], problems = [];
  const complain = (at, end, words) => problems.push({at, end, text: words});
  if (text.length > mostQuery) {
    complain(mostQuery, text.length, `the query is longer than ${number(mostQuery)} characters: shorten it`);
    return {terms, problems};
  }
  for (let at = 0; at < text.length;) {
    if (isGap(text[at])) { at++; continue; }
    const term = readField(text, at, complain) || readWord(text, at, complain);
    terms.push(term);
    at = term.end;
  }
  return {terms, problems};
}

// readField reads a term of a field; null where there is none.
function readField(text, at, complain) {
  const head = match(/(-?)([a-z_][a-z0-9_]*)/iy, text, at);
  if (!head) return null;
  let end = at + head[0].length, name = '';
  const dotted = text[end] === '.', troubles = [];
  if (dotted) ({value: name, end} = readName(text, end + 1, (...trouble) => troubles.push(trouble)));
  const op = match(/!=|<=|>=|[:=<>]/y, text, end);
  if (!op && troubles.length > 0 && queryFields.has(head[2].toLowerCase())) {
    complain(...troubles[0]);
    return {at, end: text.length, word: ''};
  }
  if (!op) return null;
  const from = end + op[0].length, read = readValue(text, from, complain);
  return {at, end: read.end, not: head[1] === '-', field: head[2].toLowerCase(), written: text.slice(at + head[1].length, end), dotted, name, op: op[0], value: read.value, quoted: read.quoted, from};
}

// match matches a pattern at a place.
function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// readName reads the name of a score or a metric, which ends before an operator.
function readName(text, at, complain) {
  if (opensQuote(text[at])) return readQuoted(text, at, complain);
  const [value] = match(/[^\s:=!<>"\u201c\u201d\u201e]*/y, text, at);
  return {value, end: at + value.length};
}

function readValue(text, at, complain) {
  if (opensQuote(text[at])) return readWhole(text, at, complain);
  let end = at;
  while (end < text.length && !isGap(text[end])) end++;
  return {value: text.slice(at, end), end, quoted: false};
}

// readWord reads what is searched.
function readWord(text, at, complain) {
  const {value, end, quoted} = readValue(text, at, complain);
  return {at, end, word: value, quoted};
}

// readWhole reads what is in quotes, after which a term ends.
function readWhole(text, at, complain) {
  const read = readQuoted(text, at, complain);
  let end = read.end;
  while (end < text.length && !isGap(text[end])) end++;
  if (end > read.end) complain(read.end, end, `put a space after the quote, or a backslash before a quote that is part of the text`);
  return {value: read.value, end, quoted: true};
}

// readQuoted reads what is in quotes. A backslash keeps a quote or another backslash.
function readQuoted(text, at, complain) {
  const ends = closes(text[at]);
  let value = '', end = at + 1;
  while (end < text.length && !ends.includes(text[end])) {
    if (text[end] === '\\' && (text[end + 1] === '\\' || opensQuote(text[end + 1]))) end++;
    value += text[end++];
  }
  if (end >= text.length) complain(at, text.length, `the quote is not closed: add ${ends[ends.length - 1]} at its end`);
  return {value, end: Math.min(text.length, end + 1), quoted: true};
}

// folded is a text as it is compared: without regard to case, and to how accents are written.
const folded = text => text.toLowerCase().normalize('NFC');

// patternOf tests words for the value of a term. Outside quotes, * stands for any text.
function patternOf({value, quoted}) {
  const wanted = folded(value);
  if (quoted || !wanted.includes('*')) return word => folded(word) === wanted;
  const parts = wanted.split('*'), first = parts[0], last = parts[parts.length - 1];
  return given => {
    const word = folded(given);
    if (word.length < first.length + last.length || !word.startsWith(first) || !word.endsWith(last)) return false;
    let at = first.length;
    for (const part of parts.slice(1, -1)) {
      const found = word.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= word.length - last.length;
  };
}

// possible lists words for a message.
function possible(words) {
  const shown = words.slice(0, mostPossible).map(w => quotedIfNeeded(visible(w)));
  if (words.length > shown.length) shown.push(`and ${number(words.length - shown.length)} more`);
  return shown.join(', ');
}

// quotedIfNeeded is a value as it is written in a query.
const quotedIfNeeded = word => /^$|[\s"*\\\u201c\u201d\u201e]/.test(word) ? quotedText(word) : word;
const quotedText = word => '"' + word.replace(/["\\\u201c\u201d\u201e]/g, c => '\\' + c) + '"';
const nameNeedsQuotes = word => /^$|[\s:=!<>"\u201c\u201d\u201e]/.test(word);
