// A difference of two texts word by word: [kind, text] with kind '=' in both, '-' only in the first, '+' only in the second.
// Words are compared by the algorithm of Myers (1986); texts too different for it are told apart as a whole.
function wordDiff(before, after) {
  const split = text => text.match(/\s+|[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu) || [];
  const a = split(before), b = split(after);
  let from = 0, endA = a.length, endB = b.length;
  while (from < endA && from < endB && a[from] === b[from]) from++;
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) { endA--; endB--; }
  const out = [];
  const add = (kind, words) => {
    if (words.length === 0) return;
    const last = out[out.length - 1];
    if (last && last[0] === kind) last[1] += words.join('');
    else out.push([kind, words.join('')]);
  };
  add('=', a.slice(0, from));
  for (const [kind, word] of myers(a.slice(from, endA), b.slice(from, endB))) add(kind, [word]);
  add('=', a.slice(endA));
  return out;
}

const mostEdits = 800;

function myers(a, b) {
  const whole = () => [...a.map(w => ['-', w]), ...b.map(w => ['+', w])];
  const max = Math.min(a.length + b.length, mostEdits); // nobody reads more differences, and finding them takes long
  const v = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= max; d++) {
    trace.push(new Map(v));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || k !== d && v.get(k - 1) < v.get(k + 1) ? v.get(k + 1) : v.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      v.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace);
    }
  }
  return whole();
}

function walkBack(a, b, trace) {
  const out = [];
  let x = a.length, y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const v = trace[d], k = x - y;
    const down = k === -d || k !== d && v.get(k - 1) < v.get(k + 1);
    const beforeK = down ? k + 1 : k - 1, beforeX = d === 0 ? 0 : v.get(beforeK), beforeY = d === 0 ? 0 : beforeX - beforeK;
    while (x > beforeX && y > beforeY) { out.push(['=', a[--x]]); y--; }
    if (d > 0) out.push(down ? ['+', b[--y]] : ['-', a[--x]]);
  }
  return out.reverse();
}

// drawDiff shows a difference: what is missing struck out, what is new underlined.
function drawDiff(before, after, label) {
  return h('pre', {class: 'prose diff', dir: 'auto', role: 'group', tabindex: before.length + after.length > 600 ? '0' : null, 'aria-label': label}, wordDiff(before, after).map(([kind, text]) => {
    if (kind === '=') return visible(text);
    return h(kind === '-' ? 'del' : 'ins', null, visible(text));
  }));
}
