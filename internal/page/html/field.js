// The field of a query: it says what is wrong with it, and completes names and words.

const mostOptions = 12;

class QueryField {
  // changed is called with each new text, leave when the reader goes on to what was found.
  constructor(rows, text, changed, leave) {
    Object.assign(this, {rows, changed, leave, options: [], at: -1});
    this.input = h('input', {
      type: 'text', id: 'search', value: text, placeholder: 'Words, or outcome:fail score<0.5', role: 'combobox', 'aria-label': 'Query', 'aria-expanded': 'false', 'aria-controls': 'words',
      'aria-autocomplete': 'list', 'aria-describedby': 'problems', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', 'aria-keyshortcuts': '/',
      oninput: () => { this.changed(this.input.value); this.offer(); }, onkeydown: e => this.key(e), onblur: () => this.close(),
    });
    this.list = h('ul', {id: 'words', role: 'listbox', 'aria-label': 'Completions', hidden: true});
    this.problems = h('div', {id: 'problems'});
    this.box = h('div', {class: 'query'}, this.input, this.list);
  }

  // complain shows the problems of the query under it, each with its place.
  complain(problems) {
    const text = this.input.value;
    this.input.setAttribute('aria-invalid', String(problems.length > 0));
    this.problems.replaceChildren(...problems.slice(0, 5).map(({at, end, text: words}) => h('p', {class: 'problem'},
      h('code', {dir: 'auto'}, visible(text.slice(Math.max(0, at - 30), at)), h('mark', null, visible(text.slice(at, Math.min(end, at + 60))) || '\u2423'), visible(text.slice(end, end + 20))),
      ` character ${number([...text.slice(0, at)].length + 1)}: `, name(words))));
    if (problems.length > 5) this.problems.append(h('p', {class: 'problem'}, `and ${count(problems.length - 5, 'more problem')}`));
  }

  // offer shows what could come at the place of the caret.
  offer(all) {
    const caret = this.input.selectionStart, found = completions(this.input.value, caret, this.rows, all);
    this.options = found.options.slice(0, all ? undefined : mostOptions);
    this.place = found;
    this.at = -1;
    this.list.replaceChildren(...this.options.map((o, i) => h('li', {role: 'option', id: 'word-' + i, 'aria-selected': 'false', onmousedown: e => { e.preventDefault(); this.accept(i); }},
      name(o.label), o.means && h('span', {class: 'on'}, ' ', name(o.means)))));
    this.list.hidden = this.options.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.list.hidden));
    this.input.removeAttribute('aria-activedescendant');
  }

  close() {
    this.options = [];
    this.list.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.input.removeAttribute('aria-activedescendant');
  }

  key(e) {
    const open = !this.list.hidden, step = {ArrowDown: 1, ArrowUp: -1}[e.key];
    if (e.key === 'ArrowDown' && e.altKey || e.key === ' ' && e.ctrlKey) this.offer(true);
    else if (e.ctrlKey || e.metaKey || e.altKey) return;
    else if (open && step) this.choose(step);
    else if (open && e.key === 'Escape') { this.close(); e.stopPropagation(); }
    else if (open && e.key === 'Enter' && this.at >= 0) this.accept(this.at);
    else if (e.key === 'ArrowDown' || e.key === 'Enter') { this.close(); this.leave(); }
    else return;
    e.preventDefault();
  }

  // choose moves to another completion.
  choose(step) {
    const n = this.options.length;
    this.at = (this.at + step + (this.at < 0 && step < 0 ? 1 : 0) + n) % n;
    for (const [i, option] of [...this.list.children].entries()) option.setAttribute('aria-selected', String(i === this.at));
    this.input.setAttribute('aria-activedescendant', 'word-' + this.at);
    this.list.children[this.at].scrollIntoView({block: 'nearest'});
  }

  // accept writes a completion into the field.
  accept(i) {
    const {from, to} = this.place, {insert} = this.options[i], text = this.input.value;
    this.input.value = text.slice(0, from) + insert + text.slice(to);
    this.input.setSelectionRange(from + insert.length, from + insert.length);
    this.changed(this.input.value);
    if (insert.endsWith(' ')) this.close();
    else this.offer();
  }
}

// completions are what could be written at a place of a query: {from, to} is what they replace. Nothing is offered for a blank, unless
// all is asked for.
function completions(text, caret, rows, all) {
  const term = parseQuery(text).terms.find(t => t.at < caret && caret <= t.end) || {at: caret, end: caret, word: ''};
  if (term.at === caret && !all) return {from: caret, to: caret, options: []};
  if (term.word === undefined && caret >= term.from) return {from: term.from, to: term.end, options: completeValue(term, text.slice(term.from, caret), rows)};
  const from = text[term.at] === '-' && caret > term.at ? term.at + 1 : term.at, to = term.word === undefined ? term.from : term.end;
  return {from, to, options: completeField(text.slice(from, caret), rows)};
}

function completeField(begun, rows) {
  const all = [...queryFields].flatMap(([field, {kind, named, means}]) => [
    {label: field, insert: field + (kind === 'number' ? '<' : ':'), means},
    ...(named ? namesOf(rows, field).map(n => field + '.' + (nameNeedsQuotes(n) ? quotedText(n) : n)).map(label => ({label, insert: label + (kind === 'number' ? '<' : ':')})) : []),
  ]);
  return all.filter(o => folded(o.label).startsWith(folded(begun)) && (o.means || begun.includes('.') || all.length < 40));
}

function completeValue({field}, begun, rows) {
  const known = queryFields.get(field), wanted = folded(begun.replace(/^["\u201c\u201d\u201e]/, ''));
  if (!known || known.kind !== 'words') return [];
  const words = field === 'outcome' ? outcomeWords : field === 'labelled' ? labelledWords : field === 'case' ? rows.cases.map(one => one.name) : rows.count(field).map(([w]) => w);
  const fits = words.filter(w => folded(w).includes(wanted)), first = fits.filter(w => folded(w).startsWith(wanted));
  return [...new Set([...first, ...fits])].slice(0, 100).map(w => ({label: visible(w), insert: quotedIfNeeded(w) + ' '}));
}

// queryHelp lists the fields.
function queryHelp() {
  return h('details', {class: 'help-query'}, h('summary', null, 'How to search'),
    h('p', {class: 'note'}, 'Words are searched in names, reasons and beginnings of answers. All terms hold for one trial: ', h('code', null, 'arm:pro/new outcome:fail score.tone<0.5 text:"refund"'), '.'),
    h('dl', {class: 'facts'}, [...queryFields].map(([field, {kind, means}]) => [h('dt', null, h('code', null, field), ' ', operators[kind].join(' ')), h('dd', null, means)])),
    h('p', {class: 'note'}, h('code', null, '*'), ' stands for any text in a word, ', h('code', null, '-'), ' before a term turns it round, quotes keep blanks together. ', h('kbd', null, 'Alt'), ' ', h('kbd', null, '\u2193'), ' lists the fields.'));
}
