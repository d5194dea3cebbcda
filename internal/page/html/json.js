// JSON, indented. Numbers stay as they are written, and so do keys that are there twice.

const mostIndent = 32;     // levels
const mostColoured = 8000; // keys, texts and numbers

// drawJSON shows a text that is JSON; null for any other. A fence around it is left out.
function drawJSON(text) {
  const source = jsonSource(text);
  if (source === null) return null;
  const out = [];
  let coloured = 0, plain = '';
  for (const [kind, piece] of formatJSON(source)) {
    if (!kind || coloured++ >= mostColoured) {
      plain += piece;
      continue;
    }
    out.push(visible(plain), h('span', {class: 'json-' + kind}, visible(piece)));
    plain = '';
  }
  return h('pre', {class: 'prose json', tabindex: text.length > 600 ? '0' : null}, out, visible(plain));
}

// jsonText is a text with its JSON indented; one that is not JSON stays.
function jsonText(text) {
  const source = jsonSource(text);
  return source === null ? text : formatJSON(source).map(([, piece]) => piece).join('');
}

// jsonSource is the object or the list in a text, null where that is something else.
function jsonSource(text) {
  let source = text.trim();
  if (source.startsWith('```') && source.endsWith('```') && source.includes('\n')) source = source.slice(source.indexOf('\n'), -3).trim();
  if (!source.startsWith('{') && !source.startsWith('[')) return null;
  try {
    JSON.parse(source);
    return source;
  } catch {
    return null;
  }
}

// formatJSON cuts valid JSON into pieces, with line breaks: [kind, text] with kind 'key', 'text', 'value', or '' for signs.
function formatJSON(source) {
  const out = [];
  let depth = 0;
  const line = () => '\n' + '  '.repeat(Math.min(depth, mostIndent));
  for (let at = 0; at < source.length;) {
    const c = source[at];
    if (isJSONBlank(c)) { at++; continue; }
    if (c === '{' || c === '[') {
      const next = afterBlanks(source, at + 1);
      if (source[next] === '}' || source[next] === ']') { out.push(['', c + source[next]]); at = next + 1; continue; }
      depth++;
      out.push(['', c + line()]);
    } else if (c === '}' || c === ']') {
      depth--;
      out.push(['', line() + c]);
    } else if (c === ',') out.push(['', ',' + line()]);
    else if (c === ':') out.push(['', ': ']);
    else {
      const end = c === '"' ? endOfString(source, at) : endOfWord(source, at);
      const kind = c !== '"' ? 'value' : source[afterBlanks(source, end)] === ':' ? 'key' : 'text';
      out.push([kind, source.slice(at, end)]);
      at = end;
      continue;
    }
    at++;
  }
  return out;
}

const isJSONBlank = c => c === ' ' || c === '\n' || c === '\r' || c === '\t';

function afterBlanks(source, at) {
  while (at < source.length && isJSONBlank(source[at])) at++;
  return at;
}

function endOfString(source, at) {
  for (at++; at < source.length && source[at] !== '"'; at++) if (source[at] === '\\') at++;
  return at + 1;
}

function endOfWord(source, at) {
  while (at < source.length && !isJSONBlank(source[at]) && !'{}[],:"'.includes(source[at])) at++;
  return at;
}
