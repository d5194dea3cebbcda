// Small helpers to make elements. Texts become text nodes and nothing else: what a model wrote is never markup.

// h makes an element: properties beginning with `on` are listeners, `class` and all that has a dash are attributes.
function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : value);
  }
  el.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return el;
}

// svg makes an element of a drawing.
function svg(tag, attrs, ...children) {
  const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attrs || {})) el.setAttribute(key, value);
  el.append(...children.flat(Infinity).filter(Boolean));
  return el;
}

// name shows a name that came with the data; its direction stays inside.
function name(text, props) { return h('bdi', props, visible(text)); }

// prose shows a text as it is, line breaks included. A long one scrolls, which the keyboard must reach.
function prose(text) { return h('pre', {dir: 'auto', class: 'prose', tabindex: text.length > 600 ? '0' : null}, visible(text)); }

// source is prose that is code or data.
function source(text) {
  const pre = prose(text);
  pre.classList.add('source');
  return pre;
}

// visible shows characters that hide, or that change the order of others, as what they are.
function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200b\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, c => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : '[U+' + code.toString(16).toUpperCase().padStart(4, '0') + ']';
  });
}

// badge shows an outcome by word, sign and colour. Data may name anything, so that the table has no prototype.
const signs = {__proto__: null, pass: '\u2713', fail: '\u2717', error: '!', skip: '\u2013'};
function badge(outcome, text) {
  return h('span', {class: 'badge ' + (signs[outcome] ? outcome : 'skip')}, h('span', {'aria-hidden': 'true'}, signs[outcome] || '?'), ' ', text || outcome);
}

// table makes a plain table. Heads are texts; a cell that starts with a number is set to the right by its class.
function table(caption, heads, rows, props) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
    h('table', props,
      h('caption', {class: 'unseen'}, caption),
      h('thead', null, h('tr', null, heads.map(t => h('th', {scope: 'col', class: t.startsWith('#') ? 'num' : null}, t.replace(/^#/, ''))))),
      h('tbody', null, rows.map(cells => h('tr', null, cells.map((cell, i) =>
        h(i === 0 ? 'th' : 'td', {scope: i === 0 ? 'row' : null, 'data-head': heads[i].replace(/^#/, ''), class: heads[i].startsWith('#') ? 'num' : null}, cell)))))));
}

// section is a part of a page under a heading.
function section(title, ...children) {
  return h('section', null, h('h2', null, title), children);
}

// say tells people who do not see the page what has changed.
function say(text) { document.getElementById('status').textContent = text; }

// link makes the address of a page from its parts and what it is to show.
function address(parts, query) {
  const q = new URLSearchParams(Object.entries(query || {}).filter(([, v]) => v)).toString();
  return '#/' + parts.map(encodeURIComponent).join('/') + (q ? '?' + q : '');
}
// matrixAddress is that of the matrix with arms as columns.
function matrixAddress(query, arms) {
  const start = address(['matrix'], query), chosen = arms.map(arm => 'arm=' + encodeURIComponent(arm)).join('&');
  return chosen ? start + (start.includes('?') ? '&' : '?') + chosen : start;
}
const caseAddress = one => address(['case', one.suite, one.name]);
