// The list of runs. What their files say first is there at once; their numbers are read one by one.

const mostListed = 100; // at first, and with each press of the button
const pause = 3000;     // milliseconds between looks at what has changed

const stateTones = {__proto__: null, complete: 'pass', 'in progress': 'skip', interrupted: 'error', incomplete: 'error'};
const exitTones = {__proto__: null, 0: 'pass', 1: 'fail', 3: 'skip'};

class RunList {
  constructor(runs) {
    this.runs = runs;
    this.most = mostListed;
    this.numbers = new Map(); // by key
    this.place = h('div');
    this.more = h('button', {type: 'button', onclick: () => { this.most += mostListed; this.draw(); this.read(); }}, 'More');
  }

  draw() {
    const shown = this.runs.slice(0, this.most), focus = document.activeElement && document.activeElement.getAttribute('href');
    this.place.replaceChildren(
      this.runs.length === 0 ? h('p', null, 'There are no runs here yet: evalrun run makes one.') :
        table('Runs', ['Run', 'State', 'Gate', '#pass rate', 'Outcomes', ...outcomes.map(o => '#' + o), '#trials', 'Compare'], shown.map(r => this.row(r)), {class: 'runs'}));
    if (this.runs.length > shown.length) this.place.append(this.more);
    const link = focus && this.place.querySelector(`a[href="${CSS.escape(focus)}"]`);
    if (link) link.focus({preventScroll: true});
  }

  row(r) {
    const n = this.numbers.get(r.key), still = n && n.state === 'in progress';
    const suites = r.suites.slice(0, 5).join(', ') + (r.suites.length > 5 ? ', ...' : '');
    return [
      [h('a', {href: runAddress(r.key)}, name(r.id || r.key)), r.marks.map(mark => [' ', h('span', {class: 'chip'}, name(mark))]), r.emulator && [' ', h('span', {class: 'chip'}, 'emulator')], h('div', {class: 'on'}, name(suites), r.startedAt && [', ', name(when(r.startedAt)), ' UTC'])],
      !n ? '...' : n.problem ? h('span', {class: 'telling'}, name(n.problem)) : [badge(stateTones[n.state], n.state), n.reason && n.reason !== n.state && h('span', {class: 'on'}, ' ', name(n.reason))],
      n && n.exit !== null ? badge(exitTones[n.exit] || 'error', 'exit ' + n.exit) : '',
      !n ? '' : n.passRate === null ? '\u2013' : percent(n.passRate),
      n && outcomeBar(n) || '', ...outcomes.map(o => n ? number(n[o]) : ''),
      n ? number(n.pass + n.fail + n.error + n.skip) + (still ? ' of ' + number(r.planned) : '') : number(r.planned),
      h('a', {href: comparisonsAddress(r.key), 'aria-label': 'Compare ' + (r.id || r.key)}, 'compare'),
    ];
  }

  // read gets the numbers of what is shown and has none, or goes on.
  async read() {
    let changed = false;
    for (const r of this.runs.slice(0, this.most)) {
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

async function showRuns(main) {
  const list = new RunList(await get('runs'));
  main.append(h('h1', null, 'Runs'), list.place);
  list.draw();
  await list.read();
  if (!growing) return;
  const again = () => list.look().catch(() => 0).finally(() => setTimeout(again, pause)); // the server may be away for a moment
  setTimeout(again, pause);
}
