// The inside of a paragraph of Markdown: code, emphasis, links. Each step looks at a character a bounded number of times.
// Raw HTML stays the text that it is.

// How deep emphasis and brackets go in one another: of more, the oldest stay signs.
const mostOpen = 16;
const mostRun = 6; // stars in a row

const entities = {
  __proto__: null, amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '\u00a9', reg: '\u00ae', trade: '\u2122',
  hellip: '\u2026', mdash: '\u2014', ndash: '\u2013', middot: '\u00b7', bull: '\u2022', times: '\u00d7', deg: '\u00b0', euro: '\u20ac',
  larr: '\u2190', rarr: '\u2192', le: '\u2264', ge: '\u2265', ne: '\u2260',
};
const entity = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/y;
const punctuation = /[!-/:-@[-`{-~\p{P}\p{S}]/u;
const special = /[\\`*_~[\]!<&\n]|https?:\/\//g;
const bareAddress = /https?:\/\/[^\s<>\]`*|"]+/y;
const angleAddress = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy;

// Inline cuts a text into a chain of pieces: {text}, {kind, text}, {kind, children}, and delimiters {sign, count} until they are paired.
class Inline {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.chain = {next: null, prev: null};
    this.last = this.chain;
    this.delimiters = [];
    this.brackets = [];
    this.never = new Set(); // signs that do not come again in the text
  }

  // pieces are those of the whole text.
  pieces() {
    const {text} = this;
    while (this.at < text.length) {
      special.lastIndex = this.at;
      const found = special.exec(text);
      if (!found) break;
      if (found.index > this.at) this.add({text: text.slice(this.at, found.index)});
      this.at = found.index;
      this.sign(text[this.at]);
    }
    if (this.at < text.length) this.add({text: text.slice(this.at)});
    this.pair(0);
    return children(this.chain.next, null);
  }

  sign(c) {
    switch (c) {
      case '\\': return this.escape();
      case '`': return this.code();
      case '*': case '_': case '~': return this.delimiter(c);
      case '!': return this.text[this.at + 1] === '[' ? this.open('![') : this.plain(1);
      case '[': return this.open('[');
      case ']': return this.close();
      case '<': return this.angle();
      case '&': return this.entity();
      case '\n': return this.lineEnd();
      default: return this.bare();
    }
  }

  add(piece) {
    piece.prev = this.last;
    piece.next = null;
    this.last.next = piece;
    this.last = piece;
    return piece;
  }

  plain(length) {
    this.add({text: this.text.slice(this.at, this.at + length)});
    this.at += length;
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === '\n') this.add({kind: 'br'});
    else if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) this.add({text: next});
    else return this.plain(1);
    this.at += 2;
  }

  // code takes what is between two equal runs of backticks.
  code() {
    const run = runFrom(this.text, this.at, '`'), from = this.at + run, to = this.backticks(run, from);
    if (to < 0) return this.plain(run);
    let inside = this.text.slice(from, to).replaceAll('\n', ' ');
    if (inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '') inside = inside.slice(1, -1);
    this.add({kind: 'code', text: inside});
    this.at = to + run;
  }

  // backticks is where the next run of that length begins, -1 where there is none. All runs are found once.
  backticks(length, from) {
    if (!this.runs) {
      this.runs = new Map();
      for (const run of this.text.matchAll(/`+/g)) {
        if (!this.runs.has(run[0].length)) this.runs.set(run[0].length, {places: [], at: 0});
        this.runs.get(run[0].length).places.push(run.index);
      }
    }
    const runs = this.runs.get(length);
    if (!runs) return -1;
    while (runs.at < runs.places.length && runs.places[runs.at] < from) runs.at++;
    return runs.at < runs.places.length ? runs.places[runs.at] : -1;
  }

  // delimiter takes a run of signs that may open or close emphasis: it depends on what is on either side.
  delimiter(sign) {
    const {text} = this, count = runFrom(text, this.at, sign), before = charBefore(text, this.at), after = charAt(text, this.at + count);
    const left = !isSpace(after) && (!punctuation.test(after) || isSpace(before) || punctuation.test(before));
    const right = !isSpace(before) && (!punctuation.test(before) || isSpace(after) || punctuation.test(after));
    const piece = this.add({text: text.slice(this.at, this.at + count), sign, count, all: count});
    piece.opens = left && (sign !== '_' || !right || punctuation.test(before));
    piece.closes = right && (sign !== '_' || !left || punctuation.test(after));
    if (count > (sign === '~' ? 2 : mostRun)) piece.opens = piece.closes = false;
    if (piece.opens || piece.closes) this.delimiters.push(piece);
    this.at += count;
  }

  open(sign) {
    this.brackets.push({piece: this.add({text: sign}), image: sign === '![', delimiters: this.delimiters.length});
    if (this.brackets.length > mostOpen) this.brackets.shift();
    this.at += sign.length;
  }

  // close makes a link or an image of what is between brackets, when an address follows.
  close() {
    const bracket = this.brackets.pop(), target = bracket && this.target(this.at + 1);
    if (!target) return this.plain(1);
    this.pair(bracket.delimiters);
    const inside = bracket.piece.next ? children(bracket.piece.next, null) : [];
    this.last = bracket.piece;
    bracket.piece.next = null;
    Object.assign(bracket.piece, {text: '', kind: bracket.image ? 'image' : 'link', children: inside, address: target.address});
    if (!bracket.image) this.brackets = []; // there are no links in links
    this.at = target.end;
  }

  // target reads "(address)" or "(address "title")"; null where there is none.
  target(at) {
    const {text} = this;
    if (text[at] !== '(') return null;
    at = skipBlanks(text, at + 1);
    const angled = text[at] === '<', end = angled ? endOfAngled(text, at + 1) : endOfAddress(text, at);
    if (end < 0) return null;
    const raw = text.slice(angled ? at + 1 : at, end);
    const close = this.afterTitle(angled ? end + 1 : end);
    return close < 0 ? null : {address: unescaped(raw), end: close + 1};
  }

  // afterTitle is where the bracket after an address and its title is, -1 where there is none.
  afterTitle(end) {
    let at = skipBlanks(this.text, end);
    const quote = this.text[at];
    if (at > end && (quote === '"' || quote === "'")) {
      const close = this.find(quote, at + 1);
      if (close < 0) return -1;
      at = skipBlanks(this.text, close + 1);
    }
    return this.text[at] === ')' ? at : -1;
  }

  // find looks for a sign, and remembers where there is none: so it does not look again.
  find(sign, from) {
    if (this.never.has(sign)) return -1;
    const at = this.text.indexOf(sign, from);
    if (at < 0) this.never.add(sign);
    return at;
  }

  angle() {
    angleAddress.lastIndex = this.at;
    const found = angleAddress.exec(this.text);
    if (!found) return this.plain(1);
    this.link(found[1]);
    this.at += found[0].length;
  }

  bare() {
    bareAddress.lastIndex = this.at;
    const found = bareAddress.exec(this.text);
    if (!found) return this.plain(1);
    const length = lengthOfAddress(found[0]);
    if (/[\p{L}\p{N}]/u.test(charBefore(this.text, this.at))) return this.plain(length);
    this.link(found[0].slice(0, length));
    this.at += length;
  }

  link(address) { this.add({kind: 'link', children: [{text: address}], address}); }

  entity() {
    entity.lastIndex = this.at;
    const found = entity.exec(this.text), sign = found && entityText(found);
    if (!sign) return this.plain(1);
    this.add({text: sign});
    this.at += found[0].length;
  }

  // lineEnd keeps a line break after two spaces, or a backslash; any other is a space.
  lineEnd() {
    const {last} = this, hard = last.text !== undefined && !last.kind && last.text.endsWith('  ');
    if (last.text !== undefined && !last.kind && !last.sign) last.text = last.text.trimEnd();
    this.add(hard ? {kind: 'br'} : {text: '\n'});
    this.at = skipBlanks(this.text, this.at + 1);
  }

  // pair makes emphasis of the delimiters from one on, as CommonMark describes it.
  pair(from) {
    const open = [];
    for (const closer of this.delimiters.splice(from)) {
      while (closer.closes && closer.count > 0) {
        const at = open.findLastIndex(opener => pairs(opener, closer));
        if (at < 0) break;
        this.wrap(open[at], closer);
        open.length = open[at].count > 0 ? at + 1 : at;
      }
      if (closer.opens && closer.count > 0) open.push(closer);
      if (open.length > mostOpen) open.shift();
    }
  }

  // wrap puts what is between two delimiters into an element of its own.
  wrap(opener, closer) {
    const used = opener.sign === '~' ? opener.count : opener.count > 1 && closer.count > 1 ? 2 : 1;
    const inside = opener.next === closer ? [] : children(opener.next, closer);
    for (const one of [opener, closer]) {
      one.count -= used;
      one.text = one.text.slice(used);
    }
    const kind = opener.sign === '~' ? 'del' : used === 2 ? 'strong' : 'em';
    opener.next = closer.prev = {kind, children: inside, prev: opener, next: closer};
  }
}

function pairs(opener, closer) {
  if (opener.sign !== closer.sign) return false;
  if (opener.sign === '~') return opener.count === closer.count;
  const both = opener.closes || closer.opens;
  return !both || (opener.all + closer.all) % 3 !== 0 || opener.all % 3 === 0 && closer.all % 3 === 0;
}

// children is a part of a chain as a list.
function children(from, end) {
  const out = [];
  for (let piece = from; piece && piece !== end; piece = piece.next) if (piece.kind || piece.text) out.push(piece);
  return out;
}

// textOf is the text of a piece without its emphasis.
function textOf(piece) {
  if (piece.kind === 'br') return '\n';
  return piece.children ? piece.children.map(textOf).join('') : piece.text;
}

function runFrom(text, at, sign) {
  let end = at;
  while (text[end] === sign) end++;
  return end - at;
}

// charAt and charBefore are whole characters; the ends of a text count as blank.
const charAt = (text, at) => at < text.length ? String.fromCodePoint(text.codePointAt(at)) : ' ';
function charBefore(text, at) {
  if (at === 0) return ' ';
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff && at > 1 ? text.slice(at - 2, at) : text[at - 1];
}

const isSpace = c => /\s/.test(c);

function skipBlanks(text, at) {
  while (text[at] === ' ' || text[at] === '\n') at++;
  return at;
}

const mostBrackets = 8; // in an address

// endOfAddress is where an address without angles ends: at a blank, or at the bracket that closes the link.
function endOfAddress(text, at) {
  let open = 0;
  for (; at < text.length; at++) {
    const c = text[at];
    if (c === '\\' && text[at + 1] > ' ') at++;
    else if (c <= ' ') return open === 0 ? at : -1;
    else if (c === '(' && ++open > mostBrackets) return -1;
    else if (c === ')' && open-- === 0) return at;
  }
  return -1;
}

function endOfAngled(text, at) {
  while (at < text.length && text[at] !== '>' && text[at] !== '<' && text[at] !== '\n') at++;
  return text[at] === '>' ? at : -1;
}

// lengthOfAddress leaves out the signs that end a sentence, and a bracket that was opened before.
function lengthOfAddress(address) {
  let length = address.length, extra = 0;
  for (const c of address) extra += c === ')' ? 1 : c === '(' ? -1 : 0;
  for (; length > 0; length--) {
    const c = address[length - 1];
    if (c === ')' && extra > 0) extra--;
    else if (!'.,:;!?\'_~'.includes(c)) break;
  }
  return length;
}

function entityText([, decimal, hex, named]) {
  if (named) return entities[named];
  const code = parseInt(decimal || hex, decimal ? 10 : 16);
  return code === 0 || code > 0x10ffff || code >= 0xd800 && code < 0xe000 ? '\ufffd' : String.fromCodePoint(code);
}

const escaped = /\\([!-/:-@[-`{-~])|&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g;

// unescaped is an address as it is meant.
function unescaped(raw) {
  return raw.replace(escaped, (whole, sign, ...groups) => sign || entityText([whole, ...groups]) || whole);
}
