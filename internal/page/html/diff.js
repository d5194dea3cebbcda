// A difference of two texts word by word: [kind, text] with kind '=' in both, '-' only in the first, '+' only in the second.
// Words are compared by the algorithm of Myers (1986). Texts too different for it are compared line by line, and lines that changed word by
// word where that is possible.
function wordDiff(before, after) {
  const a = wordsOf(before), b = wordsOf(after);
  return joinChanges(join(listDiff(a, b) || lineDiff(before, after)));
}

const wordsOf = text => text.match(/\s+|[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu) || [];

// listDiff compares lists; null where they are too different.
function listDiff(a, b) {
  let from = 0, endA = a.length, endB = b.length;
  while (from < endA && from < endB && a[from] === b[from]) from++;
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) { endA--; endB--; }
  const changes = myers(a.slice(from, endA), b.slice(from, endB));
  if (!changes) return null;
  return [['=', a.slice(0, from).join('')], ...changes, ['=', a.slice(endA).join('')]];
}

function lineDiff(before, after) {
  const linesOf = text => text.split(/(?<=\n)/), out = [];
  let removed = '', added = '';
  const flush = () => {
    out.push(...listDiff(wordsOf(removed), wordsOf(added)) || [['-', removed], ['+', added]]);
    removed = added = '';
  };
  for (const [kind, line] of listDiff(linesOf(before), linesOf(after)) || [['-', before], ['+', after]]) {
    if (kind === '-') removed += line;
    else if (kind === '+') added += line;
    else { flush(); out.push([kind, line]); }
  }
  flush();
  return out;
}

// join makes one piece of pieces of a kind in a row.
function join(pieces) {
  const out = [];
  for (const [kind, text] of pieces) {
    const last = out.at(-1);
    if (text === '') continue;
    if (last && last[0] === kind) last[1] += text;
    else out.push([kind, text]);
  }
  return out;
}

// joinChanges makes one change of changed words with a blank between them.
function joinChanges(pieces) {
  const out = [];
  let removed = '', added = '';
  pieces.forEach(([kind, text], i) => {
    if (kind === '-') removed += text;
    else if (kind === '+') added += text;
    else if (text === ' ' && removed && added && i < pieces.length - 1 && bothFollow(pieces, i)) { removed += text; added += text; }
    else {
      out.push(['-', removed], ['+', added], ['=', text]);
      removed = added = '';
    }
  });
  return join([...out, ['-', removed], ['+', added]]);
}

// bothFollow reports whether words are removed and others added after a piece.
const bothFollow = (pieces, i) => pieces[i + 1][0] !== '=' && pieces[i + 2] !== undefined && pieces[i + 2][0] !== '=';

const mostEdits = 1500; // nobody reads more differences, and finding them takes memory by their square

// myers gives the changes from one list to another; null where they are too many.
function myers(a, b) {
  const max = Math.min(a.length + b.length, mostEdits), reach = new Int32Array(2 * max + 3), middle = max + 1, trace = [];
  for (let d = 0; d <= max; d++) {
    trace.push(reach.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || k !== d && reach[middle + k - 1] < reach[middle + k + 1] ? reach[middle + k + 1] : reach[middle + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace);
    }
  }
  return null;
}

function walkBack(a, b, trace) {
  const out = [];
  let x = a.length, y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const k = x - y, before = at => trace[d][at + d + 1];
    const down = k === -d || k !== d && before(k - 1) < before(k + 1);
    const beforeK = down ? k + 1 : k - 1, beforeX = d === 0 ? 0 : before(beforeK), beforeY = d === 0 ? 0 : beforeX - beforeK;
    while (x > beforeX && y > beforeY) { out.push(['=', a[--x]]); y--; }
    if (d > 0) out.push(down ? ['+', b[--y]] : ['-', a[--x]]);
  }
  return out.reverse();
}

// drawDiff shows a difference: what is missing struck out, what is new underlined; in brief, the first changes with what is around them.
function drawDiff(before, after, label, brief) {
  const all = wordDiff(before, after), pieces = brief ? all.slice(0, mostChanges).map(([kind, text], i) => [kind, kind === '=' ? around(text, i === 0, i === all.length - 1) : cutText(text, 240)]) : all;
  const long = pieces.reduce((sum, [, text]) => sum + text.length, 0) > 600, tags = {'-': 'del', '+': 'ins'};
  return h('pre', {class: 'prose diff', dir: 'auto', role: 'group', tabindex: long ? '0' : null, 'aria-label': label},
    pieces.map(([kind, text]) => kind === '=' ? visible(text) : h(tags[kind], null, visible(text))), pieces.length < all.length && '\u2026');
}

const mostChanges = 12; // of a difference in brief
const cutText = (text, most) => text.length > most ? text.slice(0, most) + '\u2026' : text;

// around is the end and the beginning of what is the same between two changes.
function around(text, first, last) {
  const end = first ? '' : text.slice(0, 40).replace(/\s\S*$/, ''), start = last ? '' : text.slice(-40).replace(/^\S*\s/, '');
  return text.length <= end.length + start.length + 20 ? text : end + '\u2026' + start;
}
