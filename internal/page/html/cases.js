// The table of trials: filtered, sorted and searched. Only the rows in sight are in the page.

const severity = {__proto__: null, fail: 0, error: 1, skip: 2, pass: 3};
const columns = [
  {key: 'outcome', title: 'Outcome', order: (r, i) => severity[r.word('outcome', i)] ?? 2},
  {key: 'case', title: 'Case', order: (r, i) => r.names[i]},
  {key: 'arm', title: 'Arm', order: (r, i) => r.word('arm', i)},
  {key: 'text', title: 'Reason or answer'},
  {key: 'finish', title: 'Finish', order: (r, i) => r.word('finish', i)},
  {key: 'tokens', title: 'Tokens', order: (r, i) => r.tokens[i], num: true},
  {key: 'latency', title: 'Latency', order: (r, i) => r.latency[i], num: true},
];
const facetTitles = {outcome: 'Outcome', suite: 'Suite', arm: 'Arm', tag: 'Tag', scorer: 'Scorer not passed', error: 'Error', finish: 'Finish reason', category: 'Safety category', note: 'Note'};
const mostWords = 500; // offered to choose from
const mostPrinted = 1000; // rows on paper
const narrow = 900;    // pixels, as in the style

function trialAddress(rows, i) {
  return address(['case', rows.word('suite', i), rows.names[i]], {arm: rows.word('arm', i), repeat: rows.repeat[i] > 1 ? String(rows.repeat[i]) : ''});
}

class Cases {
  constructor(rows) {
    this.rows = rows;
    this.filters = {};
    this.query = '';
    this.sort = 'outcome';   // a column, with a minus for the other way round
    this.orders = new Map(); // places of all rows in a sorted order, by column
    this.active = 0;
    this.scroll = 0;
    this.find();
  }

  // show is the page with the filters of an address.
  show(query) {
    const before = JSON.stringify([this.filters, this.query, this.sort]);
    this.filters = {};
    for (const f of facets) if (query.get(f)) this.filters[f] = query.get(f);
    this.query = query.get('q') || '';
    const sort = query.get('sort') || 'outcome';
    this.sort = columns.some(c => c.order && c.key === sort.replace(/^-/, '')) ? sort : 'outcome';
    if (JSON.stringify([this.filters, this.query, this.sort]) !== before) { this.active = 0; this.scroll = 0; }
    this.build();
    this.find();
    return this.page;
  }

  // grow takes in a block of trials that the run has got since.
  grow({rows, lists}) {
    const chosen = this.found.length > 0 && trialAddress(this.rows, this.found[this.active]);
    this.rows.grow(rows, lists);
    this.orders.clear();
    this.find();
    this.active = Math.max(0, this.found.findIndex(i => trialAddress(this.rows, i) === chosen)); // the keys stay on their trial
  }

  leave() { this.scroll = window.scrollY; }

  // arrive draws the page when it is in place.
  arrive() {
    this.draw();
    window.scrollTo(0, this.scroll);
    this.draw();
    say(this.countText());
    this.grid.focus({preventScroll: true});
  }

  // redraw shows rows that have grown under the filters that are set.
  redraw() {
    for (const select of document.querySelectorAll('.choices select')) {
      const now = select !== document.activeElement && this.choice(select.name); // what is being chosen from stays
      if (now) select.closest('label').replaceWith(now);
    }
    this.draw();
  }

  address() { return address(['cases'], {...this.filters, q: this.query, sort: this.sort === 'outcome' ? '' : this.sort}); }

  build() {
    this.field = new QueryField(this.rows, this.query, text => { this.query = text; this.changed(); }, () => this.grid.focus());
    this.search = this.field.input;
    this.count = h('p', {class: 'found', id: 'found'});
    const choices = facets.filter(f => f !== 'suite' || this.rows.tables.suite.length > 1).map(f => this.choice(f)).filter(Boolean);
    this.head = h('div', {role: 'row', class: 'row heads', 'aria-rowindex': '1'}, columns.map(c => this.columnHead(c)));
    this.body = h('div', {role: 'rowgroup', class: 'rows'});
    this.grid = h('div', {role: 'grid', class: 'grid', id: 'grid', tabindex: '0', 'aria-label': 'Trials', 'aria-colcount': String(columns.length), 'aria-describedby': 'keys', onkeydown: e => this.key(e), onfocus: () => this.mark()},
      h('div', {role: 'rowgroup', class: 'headgroup'}, this.head), this.body);
    this.page = [
      h('h1', {class: 'unseen'}, 'Trials'),
      h('form', {class: 'tools', role: 'search', 'aria-label': 'Filters', onsubmit: e => e.preventDefault()},
        h('div', {class: 'searchline'}, this.field.box, this.count), this.field.problems, queryHelp(),
        h('details', {class: 'filters', open: window.innerWidth > narrow || Object.keys(this.filters).length > 0}, h('summary', null, 'Filters'),
          h('div', {class: 'choices'}, choices, h('button', {type: 'button', onclick: () => this.clear()}, 'Clear')))),
      this.grid,
      h('p', {class: 'note keys', id: 'keys'}, h('kbd', null, '/'), ' search, ', h('kbd', null, '\u2191'), ' ', h('kbd', null, '\u2193'), ' choose, ', h('kbd', null, 'Enter'), ' open, ', h('kbd', null, 'Esc'), ' back'),
    ];
  }

  choice(facet) {
    const words = this.rows.count(facet), chosen = this.filters[facet];
    if (words.length === 0 || words.length === 1 && !chosen && facet !== 'note' && facet !== 'scorer' && facet !== 'error') return null;
    const select = h('select', {onchange: () => { if (select.value) this.filters[facet] = select.value; else delete this.filters[facet]; this.changed(); }},
      h('option', {value: ''}, 'all'),
      chosen && !words.slice(0, mostWords).some(([w]) => w === chosen) && h('option', {value: chosen}, chosen),
      words.slice(0, mostWords).map(([w, n]) => h('option', {value: w}, `${visible(w).slice(0, 80)} (${number(n)})`)));
    select.value = chosen || '';
    select.name = facet;
    return h('label', null, h('span', null, facetTitles[facet]), select);
  }

  columnHead(c) {
    const cell = h('div', {role: 'columnheader', class: 'cell ' + c.key + (c.num ? ' num' : '')});
    if (!c.order) { cell.append(c.title); return cell; }
    const key = this.sort.replace(/^-/, ''), down = this.sort.startsWith('-');
    cell.setAttribute('aria-sort', key === c.key ? (down ? 'descending' : 'ascending') : 'none');
    cell.append(h('button', {type: 'button', onclick: () => {
      const first = c.num ? '-' + c.key : c.key, other = c.num ? c.key : '-' + c.key;
      this.sort = this.sort === first ? other : first;
      this.head.replaceChildren(...columns.map(one => this.columnHead(one)));
      this.changed();
      this.head.querySelectorAll('[role=columnheader]')[columns.indexOf(c)].querySelector('button').focus();
    }}, c.title, h('span', {class: 'arrow', 'aria-hidden': 'true'}, key === c.key ? (down ? ' \u2193' : ' \u2191') : '')));
    return cell;
  }

  clear() {
    this.filters = {};
    this.query = '';
    for (const select of document.querySelectorAll('.choices select')) select.value = '';
    this.search.value = '';
    this.changed();
    this.search.focus();
  }

  // changed finds anew, draws, and keeps the address.
  changed() {
    this.active = 0;
    history.replaceState(null, '', this.address());
    if (window.scrollY > this.grid.offsetTop) window.scrollTo(0, this.grid.offsetTop - 8);
    this.find();
    this.draw();
    clearTimeout(this.saying);
    this.saying = setTimeout(() => say(this.countText()), 400); // not at every letter
  }

  // find looks for the trials that fit; where whole answers must be read, it shows more and more of them.
  find() {
    const query = compileQuery(this.query, this.rows), ticket = this.ticket = {};
    this.invalid = query.problems.length > 0;
    if (this.field) this.field.complain(query.problems);
    seek(this.rows, this.filters, query, (places, share) => {
      if (ticket !== this.ticket) return false;
      this.share = share;
      this.found = this.inOrder(places);
      if (this.count) this.count.textContent = this.countText();
      if (query.reads && this.grid && this.grid.isConnected) this.draw();
    });
  }

  countText() { return `${number(this.found.length)} of ${count(this.rows.length, 'trial')}${searchingText(this.share)}`; }

  // inOrder sorts. The order of all rows by a column is worked out once.
  inOrder(fits) {
    const key = this.sort.replace(/^-/, '');
    if (!this.orders.has(key)) {
      const column = columns.find(c => c.key === key), values = Array.from({length: this.rows.length}, (_, i) => column.order(this.rows, i));
      const order = Array.from(values.keys()).sort((a, b) => values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : a - b);
      this.orders.set(key, Uint32Array.from(order));
    }
    const order = this.orders.get(key), keep = new Uint8Array(this.rows.length), out = new Uint32Array(fits.length);
    for (const i of fits) keep[i] = 1;
    let n = 0;
    if (this.sort.startsWith('-')) { for (let at = order.length - 1; at >= 0; at--) if (keep[order[at]]) out[n++] = order[at]; }
    else for (const i of order) if (keep[i]) out[n++] = i;
    return out;
  }

  // beside is the case before or after one in the order of the table, or of the plan where the table does not have it. A case is where
  // the table has its first trial.
  beside(one, step) {
    if (this.orderedFor !== this.found) {
      this.orderedFor = this.found;
      this.ordered = [...new Set(Array.from(this.found, i => this.rows.caseOf[i]))];
    }
    const all = this.rows.cases, at = all.indexOf(one), place = this.ordered.indexOf(at);
    return all[place < 0 ? at + step : this.ordered[place + step]];
  }

  rowHeight() { return window.innerWidth <= narrow ? 84 : 44; }

  // draw puts the rows in sight into the page.
  draw(paper) {
    const all = paper && mostPrinted;
    const height = this.rowHeight(), total = this.found.length;
    this.grid.setAttribute('aria-rowcount', String(total + 1));
    this.body.style.height = all ? 'auto' : Math.max(1, total) * height + 'px';
    const top = this.body.getBoundingClientRect().top, over = 8;
    const from = all ? 0 : Math.min(Math.max(0, Math.floor(-top / height) - over), total);
    const to = all ? Math.min(total, all) : Math.min(total, Math.ceil((window.innerHeight - top) / height) + over);
    const drawn = [];
    for (let at = from; at < to; at++) drawn.push(this.row(at, height, all));
    if (this.active < from || this.active >= to) if (total > 0 && !all) drawn.push(this.row(this.active, height));
    if (total === 0) drawn.push(h('div', {role: 'row', class: 'row empty', 'aria-rowindex': '2'}, h('div', {role: 'gridcell', class: 'cell'}, this.invalid ? 'The query is not valid.' : 'No trial fits the filters.')));
    if (all && total > all) drawn.push(h('div', {role: 'row', class: 'row empty'}, h('div', {role: 'gridcell', class: 'cell'}, `and ${number(total - all)} more`)));
    this.body.replaceChildren(...drawn);
    this.mark();
  }

  row(at, height, flowing) {
    const r = this.rows, i = this.found[at], outcome = r.word('outcome', i);
    const cell = (key, ...content) => h('div', {role: 'gridcell', class: 'cell ' + key}, ...content);
    const row = h('div', {role: 'row', class: 'row', id: 'trial-' + at, 'aria-rowindex': String(at + 2), onclick: e => { this.active = at; if (!e.target.closest('a')) this.open(); }},
      cell('outcome', badge(outcome)),
      cell('case', r.tables.suite.length > 1 && h('span', {class: 'on'}, name(r.word('suite', i)), ' '), h('a', {href: trialAddress(r, i), tabindex: '-1'}, name(r.names[i])),
        r.repeat[i] > 1 && h('span', {class: 'on'}, ` #${r.repeat[i]}`), r.words('note', i).map(n => [' ', h('span', {class: 'chip'}, n)])),
      cell('arm', name(r.word('arm', i))),
      cell('text' + (outcome === 'pass' ? ' quiet' : ''), h('span', {dir: 'auto'}, visible(r.why[i] || r.answer[i]))),
      cell('finish', name(r.words('finish', i).join(', '))),
      cell('tokens num', r.tokens[i] < 0 ? '' : number(r.tokens[i])),
      cell('latency num', r.latency[i] < 0 ? '' : duration(r.latency[i])));
    if (!flowing) { row.style.transform = `translateY(${at * height}px)`; row.style.height = height + 'px'; }
    return row;
  }

  // mark shows which row the keys are on.
  mark() {
    for (const row of this.body.querySelectorAll('[aria-selected]')) row.removeAttribute('aria-selected');
    const row = document.getElementById('trial-' + this.active);
    if (!row) { this.grid.removeAttribute('aria-activedescendant'); return; }
    row.setAttribute('aria-selected', 'true');
    this.grid.setAttribute('aria-activedescendant', row.id);
  }

  key(e) {
    if (e.target !== this.grid) return;
    const page = Math.max(1, Math.floor(window.innerHeight / this.rowHeight()) - 3);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (e.key in steps && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      this.active = Math.max(0, Math.min(this.found.length - 1, this.active + steps[e.key]));
      this.bring();
    } else if (e.key === 'Enter' && this.found.length > 0) {
      e.preventDefault();
      this.open();
    }
  }

  // bring scrolls the row of the keys into sight.
  bring() {
    const height = this.rowHeight(), y = this.body.getBoundingClientRect().top + this.active * height, above = this.head.offsetHeight + 8;
    if (y < above) window.scrollBy(0, y - above);
    else if (y + height > window.innerHeight - 8) window.scrollBy(0, y + height - window.innerHeight + 8);
    this.draw();
  }

  open() {
    location.hash = trialAddress(this.rows, this.found[this.active]);
  }
}
