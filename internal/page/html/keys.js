// The keys, and the dialog that lists them.

// keyLists are the keys with what they do, by the pages where they work.
const keyLists = [
  ['On every page', [[['?'], 'list the keys'], [['/'], 'search the list'], [['Esc'], 'back']]],
  ['Table of trials', [
    [['\u2191', '\u2193'], 'choose a row'], [['Page Up', 'Page Down', 'Home', 'End'], 'choose a row further away'], [['Enter'], 'open it'],
  ]],
  ['Matrix', [
    [['\u2191', '\u2193', '\u2190', '\u2192'], 'choose an answer'], [['r'], 'next repeat'], [['s'], 'next to the answer of another arm'],
    [['Enter'], 'the whole answer, then its page'], [['m'], 'answers as Markdown, or as text'], [['j'], 'answers as JSON, or as text'],
  ]],
  ['A case', [
    [['n', 'p'], 'next and previous case'], [['s'], 'two answers side by side'], [['m'], 'answers as Markdown, or as text'],
    [['j'], 'answers as JSON, or as text'],
  ]],
  ['Two answers side by side', [
    [['n', 'p'], 'next and previous case, with the same pair'], [['a', 'b'], 'next answer on the left, on the right'],
    [['x'], 'swap the two'], [['m'], 'answers as Markdown, or as text'], [['j'], 'answers as JSON, or as text'],
  ]],
];

// pageKeys are what keys do on a page, by its name. Each gets the event.
const pageKeys = {
  __proto__: null,
  matrix: {__proto__: null, m: () => toggleReading('markdown'), j: () => toggleReading('json')},
  case: {
    __proto__: null,
    n: () => follow('.pager a[rel=next]'), p: () => follow('.pager a[rel=prev]'), s: () => follow('a.to-side'),
    m: () => toggleReading('markdown'), j: () => toggleReading('json'),
  },
};

// follow goes where a link of the page leads, if it is there.
function follow(selector, how = 'click') {
  const link = document.querySelector('#main ' + selector);
  if (link) link[how]();
}

let signsWork = true; // people who speak to their computer press keys by accident, and can turn off those that are a letter or a sign

const isIn = (e, fields) => Boolean(e.target.closest && e.target.closest(fields));
const isTyping = e => isIn(e, 'input:not([type=radio], [type=checkbox]), select, textarea');
const isBare = e => !e.ctrlKey && !e.metaKey && !e.altKey && !document.querySelector('dialog[open]');

// keys does what a key stands for on the page that is shown; list is the one that the reader saw last.
function keys(e, shown, list) {
  if (!isBare(e)) return;
  const typing = isTyping(e) || !signsWork, listed = Boolean(list.search && list.search.isConnected);
  if (e.key === '/' && !typing) {
    e.preventDefault();
    if (listed) return list.search.focus();
    addEventListener('hashchange', () => setTimeout(() => list.search.focus(), 0), {once: true});
    location.hash = list.address();
  } else if (e.key === 'Escape') {
    if (listed && isIn(e, 'input, select')) return list.grid.focus();
    location.hash = under.includes(shown) ? list.address() : '#/';
  } else if (!typing && pageKeys[shown] && pageKeys[shown][e.key]) {
    pageKeys[shown][e.key](e);
  }
}

// offerKeys puts the button of the list of keys into the head of the page, and listens for its key.
function offerKeys() {
  document.getElementById('top').append(h('button', {
    type: 'button', class: 'help', title: 'Keys', onclick: listKeys,
    'aria-label': 'Keys', 'aria-haspopup': 'dialog', 'aria-keyshortcuts': '?',
  }, '?'));
  addEventListener('keydown', e => {
    if (e.key !== '?' || !isBare(e) || isTyping(e) || !signsWork) return;
    e.preventDefault();
    listKeys();
  });
}

// listKeys opens the dialog; when it closes, the focus goes back to where it was.
function listKeys() {
  const outside = e => { if (e.target === dialog) dialog.close(); };
  const dialog = h('dialog', {class: 'keylist', 'aria-labelledby': 'keylist', onclose: () => dialog.remove(), onclick: outside},
    h('div', null,
      h('form', {method: 'dialog'}, h('h2', {id: 'keylist'}, 'Keys'), h('button', {autofocus: true}, 'Close')),
      keyLists.map(([title, list]) => [h('h3', null, title), h('dl', null, list.map(([names, does]) => [
        h('dt', null, names.map((key, i) => [i > 0 && ' ', h('kbd', null, key)])), h('dd', null, does),
      ]))]),
      signsChoice()));
  document.body.append(dialog);
  dialog.showModal();
}

function signsChoice() {
  const box = h('input', {type: 'checkbox', onchange: () => { signsWork = box.checked; }});
  box.checked = signsWork;
  return h('p', {class: 'note'}, h('label', null, box, ' Letters and signs work as keys'));
}
