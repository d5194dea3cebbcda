// The list of runs, the verdict first. What their files say first is there at once; their numbers are read one by one.

const mostListed = 100; // at first, and with each press of the button
const pause = 3000;     // milliseconds between looks at what has changed

class RunList {
  constructor(runs) {
    this.runs = runs;
    this.most = mostListed;
    this.numbers = new Map(); // by key
    this.query = new URLSearchParams(location.search);
    this.filters = h('form', {class: 'form', 'aria-label': 'Filters', onsubmit: e => e.preventDefault()});
    this.place = h('div');
    this.more = h('button', {type: 'button', onclick: () => { this.most += mostListed; this.draw(); this.read(); }}, 'More');
  }

  // words are those of a run that a filter chooses from.
  words(filter, r) {
    const n = this.numbers.get(r.key);
    return {suite: r.suites, branch: [r.branch], label: r.marks.filter(mark => mark !== r.branch), verdict: [n && n.verdict]}[filter].filter(Boolean);
  }

  fits(r) { return runFilters.every(f => !this.query.get(f) || this.words(f, r).includes(this.query.get(f))); }

  drawFilters() {
    if (this.filters.contains(document.activeElement)) return; // what is being chosen from stays
    this.filters.replaceChildren(...runFilters.map(f => {
      const words = [...new Set(this.runs.flatMap(r => this.words(f, r)))], chosen = this.query.get(f) || '';
      if (words.length < 2 && !chosen) return '';
      const select = h('select', {onchange: () => { if (select.value) this.query.set(f, select.value); else this.query.delete(f); history.replaceState(null, '', '?' + this.query); this.draw(); this.read(); }},
        h('option', {value: ''}, 'all'), [...new Set([...words, chosen])].filter(Boolean).slice(0, 500).map(w => h('option', {value: w}, visible(w))));
      select.value = chosen;
      return h('label', null, h('span', null, f), select);
    }));
  }

  draw() {
    const fitting = this.runs.filter(r => this.fits(r)), shown = fitting.slice(0, this.most);
    const focus = document.activeElement && document.activeElement.getAttribute('href');
    this.drawFilters();
    this.place.replaceChildren(
      this.runs.length === 0 ? h('p', null, 'There are no runs here yet: evalrun run makes one.') : shown.length === 0 ? h('p', null, 'No run fits the filters.') :
        table('Runs', ['Verdict', 'Run', '#Pass rate', 'Since the run before', 'Trials', 'Branch', 'Commit', 'Started (UTC)', 'Compare'], shown.map(r => this.row(r)), {class: 'runs'}));
    if (fitting.length > shown.length) this.place.append(this.more);
    const link = focus && this.place.querySelector(`a[href="${CSS.escape(focus)}"]`);
    if (link) link.focus({preventScroll: true});
  }

  row(r) {
    const n = this.numbers.get(r.key), waits = n && n.verdict === 'Waiting', still = waits || n && n.state === 'in progress', labels = r.marks.filter(mark => mark !== r.branch);
    const suites = r.suites.slice(0, 3).join(', ') + (r.suites.length > 3 ? ', ...' : '');
    return [
      !n ? '...' : n.problem ? badge('error', 'Unreadable') : badge(n.style, n.verdict),
      [h('a', {href: runAddress(r.key), title: r.id || r.key}, name(suites || r.id || r.key)), labels.map(mark => [' ', h('span', {class: 'chip'}, name(mark))]), r.emulator && [' ', h('span', {class: 'chip'}, 'emulator')]],
      !n || n.problem ? '' : n.passRate === null ? '\u2013' : percent(n.passRate),
      n && n.problem ? h('span', {class: 'telling'}, name(n.problem)) : waits ? name(n.reason) : n ? this.changes(r, n) : '',
      !n || n.problem ? number(r.planned) : number(outcomes.reduce((sum, o) => sum + n[o], 0)) + (still ? ' of ' + number(r.planned) : ''),
      name(r.branch || ''), name((r.commit || '').slice(0, 7)), r.startedAt ? name(when(r.startedAt)) : '',
      h('a', {href: comparisonsAddress(r.key), 'aria-label': 'Compare ' + (r.id || r.key)}, 'compare'),
    ];
  }

  // before yields the runs before one, of the same suites on the same branch, that came to an end; the newest first.
  *before(r) {
    const of = one => JSON.stringify([one.of, one.branch, one.emulator]);
    for (let i = this.runs.indexOf(r) + 1; i > 0 && i < this.runs.length; i++) {
      const n = of(this.runs[i]) === of(r) && this.numbers.get(this.runs[i].key);
      if (n && n.state === 'complete') yield [this.runs[i], n];
    }
  }

  // since says since when runs have failed, where it is more than one.
  since(r, n) {
    if (n.style !== 'fail') return false;
    let first = null;
    for (const [run, its] of this.before(r)) {
      if (its.style !== 'fail') break;
      first = run;
    }
    return first && first.startedAt && 'fails since ' + when(first.startedAt).slice(0, 10);
  }

  // changes says how a run differs from the one before.
  changes(r, n) {
    const [, before] = this.before(r).next().value || [];
    if (!before || n.state !== 'complete') return '';
    const by = isKnown(n.passRate) && isKnown(before.passRate) ? Math.round(1000 * (n.passRate - before.passRate)) / 10 : null, known = new Set(before.failing);
    const all = before.fail === 0 || before.failing, anew = (n.failing || []).filter(one => !known.has(one)).length;
    return name([by !== null && (by === 0 ? 'no change' : change(by) + ' points'), all && anew > 0 && number(anew) + ' newly failing', this.since(r, n)].filter(Boolean).join(', '));
  }

  // read gets the numbers of what is shown and has none, or goes on.
  async read() {
    let changed = false;
    for (const r of this.runs.slice(0, Math.max(this.most, [...this.query.keys()].length > 0 ? 5 * mostListed : 0))) {
      const n = this.numbers.get(r.key);
      if (n && n.state !== 'in progress') continue;
      try {
        const now = await get('runs/' + r.key);
        changed = changed || JSON.stringify(now) !== JSON.stringify(n);
        this.numbers.set(r.key, now);
      } catch (problem) {
        this.numbers.set(r.key, {state: 'partial', problem: problem.message, pass: 0, fail: 0, error: 0, skip: 0, passRate: null, exit: null});
        changed = true;
      }
      if (changed && !n) this.draw();
    }
    if (changed) this.draw();
  }

  // look takes up runs that are new.
  async look() {
    if (document.hidden) return;
    const runs = await get('runs');
    if (JSON.stringify(runs) !== JSON.stringify(this.runs)) {
      this.runs = runs;
      this.draw();
    }
    await this.read();
  }
}

const runFilters = ['suite', 'branch', 'label', 'verdict'];

async function showRuns(main) {
  const list = new RunList(await get('runs'));
  main.append(h('h1', null, 'Runs'), list.filters, list.place);
  list.draw();
  await list.read();
  if (!growing) return;
  const again = () => list.look().catch(() => 0).finally(() => setTimeout(again, pause)); // the server may be away for a moment
  setTimeout(again, pause);
}
