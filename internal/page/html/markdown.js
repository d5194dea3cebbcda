// Markdown as elements: the blocks of CommonMark with tables, without raw HTML, and without anything that loads. The text is read line
// by line, once for each level of quotes and lists; how many levels and elements there are is bounded.

const mostLevels = 12;
const mostElements = 8000;
const widestTable = 60;

const fenceStart = /^ {0,3}(`{3,}|~{3,})/;
const headingStart = /^ {0,3}(#{1,6})(?=[ ]|$)/;
const underline = /^ {0,3}(?:=+|-+) *$/;
const quoteStart = /^ {0,3}> ?/;
const itemStart = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const lineStart = /^([ \t]*)([-*+>]|\d{1,9}[.)]|#{1,6}|)([ \t]*)/;
const ruler = /^[ |:-]*$/;

// drawMarkdown draws a text.
function drawMarkdown(text) {
  const page = new Markdown();
  const lines = text.replace(/\r\n?/g, '\n').split('\n').map(spaced);
  const out = page.blocks(lines, 0);
  return h('div', {class: 'markdown', tabindex: text.length > 600 ? '0' : null},
    out, page.full && h('p', {class: 'note'}, 'The rest is shown as text: there is too much of it.'));
}

// spaced has blanks for the tabs before and after the mark that a line begins with.
function spaced(line) {
  const [start, before, mark, after] = lineStart.exec(line);
  if (!start.includes('\t')) return line;
  const lead = before.replaceAll('\t', '    '), used = lead.length + mark.length;
  return lead + mark + after.replace('\t', ' '.repeat(4 - used % 4)).replaceAll('\t', '    ') + line.slice(start.length);
}

class Markdown {
  constructor() {
    this.room = mostElements;
    this.level = 2; // of the last heading: none is left out on the way to a lower one
    this.full = false;
  }

  // make makes an element. Once there are too many, its children come without it.
  make(tag, props, ...content) {
    this.room--;
    return h(tag, props, ...content);
  }

  // blocks draws lines; `tight` leaves out the paragraphs around the text of a list without blank lines.
  blocks(lines, depth, tight) {
    const out = [];
    for (let at = 0; at < lines.length;) {
      if (lines[at].trim() === '') { at++; continue; }
      if (this.room <= 0 || depth >= mostLevels) {
        this.full = this.full || this.room <= 0;
        out.push(prose(lines.slice(at).join('\n')));
        break;
      }
      const [element, next] = this.block(lines, at, depth, tight);
      out.push(element);
      at = next;
    }
    return out;
  }

  // block draws the block that begins at a line, and gives the line after it.
  block(lines, at, depth, tight) {
    const line = lines[at];
    if (line.startsWith('    ')) return this.indented(lines, at);
    if (fenceStart.test(line)) return this.fence(lines, at);
    if (headingStart.test(line)) return [this.heading(line), at + 1];
    if (isRule(line)) return [this.make('hr'), at + 1];
    if (quoteStart.test(line)) return this.quote(lines, at, depth);
    if (itemStart.test(line)) return this.list(lines, at, depth);
    if (isTable(lines, at)) return this.table(lines, at);
    return this.paragraph(lines, at, tight);
  }

  code(lines, language) {
    this.room -= 2;
    return [language && h('p', {class: 'note language'}, name(language)), source(lines.join('\n'))];
  }

  indented(lines, at) {
    let end = at + 1, last = end;
    for (; end < lines.length; end++) {
      if (lines[end].trim() === '') continue;
      if (!lines[end].startsWith('    ')) break;
      last = end + 1;
    }
    return [this.code(lines.slice(at, last).map(line => line.slice(4))), last];
  }

  // fence takes all lines to the end of the fence, or of the text.
  fence(lines, at) {
    const mark = fenceStart.exec(lines[at])[1], indent = lines[at].indexOf(mark), info = lines[at].slice(indent + mark.length).trim();
    if (mark[0] === '`' && info.includes('`')) return this.paragraph(lines, at);
    let end = at + 1;
    while (end < lines.length && !closesFence(lines[end], mark)) end++;
    const inside = lines.slice(at + 1, end).map(line => line.slice(Math.min(indent, runFrom(line, 0, ' '))));
    return [this.code(inside, info.slice(0, 100).split(' ')[0]), end + 1];
  }

  heading(line) {
    const marks = headingStart.exec(line), text = line.slice(marks[0].length).trim();
    let end = text.length;
    while (text[end - 1] === '#') end--;
    return this.title(marks[1].length, end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trim() : text);
  }

  // title draws a heading of a rank from 1 on. On the page it is below that of the answer.
  title(rank, text) {
    if (text === '') return null;
    this.level = Math.min(rank + 2, this.level + 1, 6);
    return this.make('h' + this.level, {class: 'rank' + rank}, this.inline(text));
  }

  quote(lines, at, depth) {
    const inside = [];
    let end = at;
    for (; end < lines.length; end++) {
      if (!quoteStart.test(lines[end]) && !isLazy(lines, end, inside)) break;
      inside.push(lines[end].replace(quoteStart, ''));
    }
    return [this.make('blockquote', null, this.blocks(inside, depth + 1)), end];
  }

  list(lines, at, depth) {
    const kind = itemStart.exec(lines[at])[2].at(-1), items = [], first = parseInt(lines[at].trim(), 10);
    let loose = false, end = at;
    for (;;) {
      const start = end < lines.length && itemStart.exec(lines[end]);
      if (!start || start[2].at(-1) !== kind || isRule(lines[end])) break;
      const [inside, next, gap] = takeItem(lines, end, start);
      loose = loose || hasGap(inside) || gap && next < lines.length && itemOf(lines[next], kind);
      items.push(inside);
      end = next;
    }
    const ordered = kind === '.' || kind === ')';
    const drawn = [];
    while (drawn.length < items.length && this.room > 0) drawn.push(this.item(items[drawn.length], depth, !loose));
    const rest = items.slice(drawn.length).map(inside => inside.join('\n')).join('\n');
    this.full = this.full || rest !== '';
    return [[this.make(ordered ? 'ol' : 'ul', {start: ordered && first !== 1 && String(first)}, drawn), rest && prose(rest)], end];
  }

  item(inside, depth, tight) {
    const task = /^\[([ xX])\] /.exec(inside[0] || '');
    if (task) inside[0] = (task[1] === ' ' ? '\u2610 ' : '\u2611 ') + inside[0].slice(4);
    return this.make('li', null, this.blocks(inside, depth + 1, tight));
  }

  table(lines, at) {
    const heads = cells(lines[at]), sides = cells(lines[at + 1]).map(sideOf), shown = Math.min(heads.length, widestTable), rows = [];
    const draw = (list, tag) => {
      this.room--;
      return h('tr', null, Array.from({length: shown}, (_, i) => this.cell(tag, list[i] || '', sides[i])));
    };
    const top = draw(heads, 'th');
    let end = at + 2;
    for (; end < lines.length && this.room > 0; end++) {
      if (lines[end].trim() === '' || startsBlock(lines[end])) break;
      rows.push(draw(cells(lines[end]), 'td'));
    }
    const table = h('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table of the answer'},
      h('table', null, h('thead', null, top), h('tbody', null, rows)));
    return [[table, heads.length > shown && h('p', {class: 'note'}, `and ${count(heads.length - shown, 'more column')}`)], end];
  }

  cell(tag, text, side) {
    if (text === '') return this.make('td');
    return this.make(tag, {class: side, scope: tag === 'th' && 'col'}, this.inline(text));
  }

  paragraph(lines, at, tight) {
    const inside = [lines[at].trimStart()];
    let end = at + 1;
    for (; end < lines.length && lines[end].trim() !== ''; end++) {
      if (underline.test(lines[end])) return [this.title(lines[end].includes('=') ? 1 : 2, inside.join('\n').trim()), end + 1];
      if (interrupts(lines[end]) || isTable(lines, end)) break;
      inside.push(lines[end].trimStart());
    }
    const text = this.inline(inside.join('\n').trimEnd());
    return [tight ? this.make('div', null, text) : this.make('p', null, text), end];
  }

  inline(text) {
    return this.room > 0 ? this.pieces(new Inline(text).pieces(), false) : visible(text);
  }

  // pieces draws pieces; texts in a row become one.
  pieces(list, inLink) {
    const out = [];
    let text = '';
    for (const piece of list) {
      const drawn = this.piece(piece, inLink);
      if (typeof drawn === 'string') {
        text += drawn;
        continue;
      }
      if (text) out.push(text);
      text = '';
      out.push(drawn);
    }
    return text ? [...out, text] : out;
  }

  piece(piece, inLink) {
    if (!piece.kind || this.room <= 0) return visible(textOf(piece));
    if (piece.kind === 'br') return this.make('br');
    if (piece.kind === 'code') return this.make('code', null, visible(piece.text));
    if (piece.kind === 'image') return this.image(piece);
    const inside = this.pieces(piece.children, inLink || piece.kind === 'link');
    if (piece.kind === 'link') return inLink ? inside : this.link(piece, inside);
    return this.make(piece.kind, null, inside);
  }

  // link shows where a link leads, next to its text. Only addresses of the web and of mail can be followed.
  link(piece, inside) {
    const to = webAddress(piece.address), shown = visible(to || piece.address), text = textOf(piece);
    this.room--;
    const follow = label => to ? this.make('a', {href: to, target: '_blank', rel: 'noopener noreferrer nofollow'}, label) : label;
    if (text.trim() === '' || text === piece.address || text === to) return follow(shown);
    return [follow(inside), h('span', {class: 'on'}, ' (', name(shown), ')')];
  }

  // image says what an image is called and where it is. It is not loaded.
  image(piece) {
    const shown = webAddress(piece.address) || piece.address, text = textOf(piece).trim();
    return this.make('span', {class: 'picture'}, 'image', text && [' ', name(text)], h('span', {class: 'on'}, ' (', name(shown), ')'));
  }
}

// webAddress is an address that may be followed, as the browser reads it; '' for any other.
function webAddress(address) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return '';
  try {
    return new URL(address).href;
  } catch {
    return '';
  }
}

function isRule(line) {
  const signs = line.trim();
  if (signs.length < 3 || !'-*_'.includes(signs[0]) || line.startsWith('    ')) return false;
  let n = 0;
  for (const c of signs) {
    if (c === signs[0]) n++;
    else if (c !== ' ' && c !== '\t') return false;
  }
  return n >= 3;
}

function closesFence(line, mark) {
  const trimmed = line.trim();
  return trimmed.length >= mark.length && !line.startsWith('    ') && runFrom(trimmed, 0, mark[0]) === trimmed.length;
}

const startsOther = line => fenceStart.test(line) || headingStart.test(line) || quoteStart.test(line) || isRule(line);
const startsBlock = line => startsOther(line) || itemStart.test(line);

// interrupts reports whether a line ends the paragraph before it. A list does with text in it, and a numbered one that begins with 1.
function interrupts(line) {
  if (startsOther(line)) return true;
  const item = itemStart.exec(line);
  return Boolean(item) && item[0].length < line.length && (item[2].length === 1 || parseInt(item[2], 10) === 1);
}

// isLazy reports whether a line without its mark still belongs to the paragraph above it.
function isLazy(lines, at, inside) {
  const before = inside.at(-1);
  if (before === undefined || before.trim() === '' || lines[at].trim() === '') return false;
  return !startsBlock(lines[at]) && !fenceStart.test(before) && !before.startsWith('    ');
}

// takeItem takes the lines of an item of a list, without their indent, and says whether blank lines end it.
function takeItem(lines, at, start) {
  const blanks = start[3].length, wide = blanks > 4 || start[0].length === lines[at].length;
  const indent = start[1].length + start[2].length + (wide ? 1 : blanks), margin = ' '.repeat(indent), inside = [lines[at].slice(indent)];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end];
    if (line.trim() === '') inside.push('');
    else if (line.startsWith(margin)) inside.push(line.slice(indent));
    else if (isLazy(lines, end, inside)) inside.push(line.trimStart());
    else break;
  }
  let gap = false;
  for (; inside.length > 1 && inside.at(-1) === ''; gap = true) inside.pop();
  return [inside, end, gap];
}

// hasGap reports whether blank lines separate blocks of an item.
function hasGap(inside) {
  let fenced = '';
  return inside.some((line, i) => {
    if (fenced) fenced = closesFence(line, fenced) ? '' : fenced;
    else if (fenceStart.test(line)) fenced = fenceStart.exec(line)[1];
    return !fenced && i > 0 && line === '' && !(inside[i + 1] || '').startsWith('  ');
  });
}

const itemOf = (line, kind) => {
  const start = itemStart.exec(line);
  return Boolean(start) && start[2].at(-1) === kind;
};

function isTable(lines, at) {
  const next = lines[at + 1];
  if (next === undefined || !lines[at].includes('|') || !next.includes('-') || !ruler.test(next)) return false;
  const sides = cells(next);
  return sides.length === cells(lines[at]).length && sides.every(side => /^:?-+:?$/.test(side));
}

function sideOf(side) {
  if (!side.endsWith(':')) return null;
  return side.startsWith(':') ? 'middle' : 'num';
}

// cells are those of a row; a bar after a backslash is a sign like any other.
function cells(line) {
  const row = line.trim(), out = [];
  let from = row[0] === '|' ? 1 : 0;
  for (let at = from; at < row.length; at++) {
    if (row[at] === '\\') at++;
    else if (row[at] === '|') {
      out.push(row.slice(from, at).trim().replaceAll('\\|', '|'));
      from = at + 1;
    }
  }
  if (from < row.length) out.push(row.slice(from).trim().replaceAll('\\|', '|'));
  return out;
}
