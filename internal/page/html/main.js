// Which page is shown.

const under = ['case', 'side']; // pages that show one case of a list

const pageShown = () => location.hash.replace(/^#\/?/, '').split(/[/?]/)[0] || 'summary';

// start draws the report, and gives what draws it again when the run has got on.
async function start() {
  const main = document.getElementById('main'), note = h('p', {class: 'note'}, 'Reading the trials\u2026');
  let head, rows;
  document.querySelector('.jump').addEventListener('click', e => { e.preventDefault(); main.focus(); });
  try {
    head = await load('head');
    drawNav(head);
    if (pageShown() === 'summary') {
      main.replaceChildren(drawVerdict(head), note);
      performance.mark('verdict');
    }
    rows = await loadRows();
    rows.withoutContent = head.noContent;
    if (head.otherBaseline) rows.forget(standings);
  } catch (problem) {
    note.remove();
    main.append(h('p', {class: 'telling'}, 'The report cannot be read: ' + problem.message));
    return null;
  }
  const cases = new Cases(rows), matrix = new Matrix(rows, () => head), lists = {__proto__: null, cases, matrix};
  let shown = '', choosing = null, showing = Promise.resolve(), list = 'cases'; // list is the one that was shown last
  const around = {rows, beside: (one, step) => lists[list].beside(one, step)};

  // markNav says which of the pages is shown.
  function markNav() {
    for (const a of document.querySelectorAll('#nav a')) {
      const below = under.includes(shown) && a.dataset.page === list;
      if (a.dataset.page === shown || below) a.setAttribute('aria-current', below ? 'true' : 'page');
      else a.removeAttribute('aria-current');
    }
  }

  async function show() {
    const [path, queryText] = location.hash.replace(/^#\/?/, '').split('?');
    const parts = path.split('/').map(part => { try { return decodeURIComponent(part); } catch { return part; } });
    const query = new URLSearchParams(queryText || ''), page = parts[0] || 'summary', ticket = location.hash;
    if (shown in lists) lists[shown].leave();
    let content;
    if (page in lists) content = lists[page].show(query);
    else if (page === 'case' && parts.length >= 3) content = await drawCase(around, head, parts[1], parts.slice(2).join('/'), query);
    else if (page === 'side' && parts.length >= 3) content = await drawSide(around, head, parts[1], parts.slice(2).join('/'), query);
    else if (page === 'comparison' && head.comparison) content = drawComparison(head, rows);
    else content = drawSummary(head, rows);
    if (ticket !== location.hash) return; // somebody was faster
    shown = page;
    if (page in lists) list = page;
    main.className = page;
    main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    markNav();
    const title = main.querySelector('h1');
    document.title = `${title ? title.textContent : 'Summary'}: ${head.title}: evalrun report`;
    if (page in lists) return lists[page].arrive();
    window.scrollTo(0, 0);
    const chosen = main.querySelector('.chosen');
    if (chosen && main.querySelectorAll('.answer').length > 1) chosen.scrollIntoView({block: 'nearest'});
    main.focus({preventScroll: true});
  }

  // renew shows the run as it is now, where the reader is: with another head, or with a block that its rows grow by.
  async function renew(now, block) {
    await showing;
    head = now || head;
    drawNav(head);
    markNav();
    if (block) { matrix.keep(); cases.grow(block); matrix.grow(); }
    if (shown in lists) return lists[shown].redraw();
    if (shown !== 'summary') return; // what is being read stays
    const open = [...main.querySelectorAll('details')].map(d => d.open), active = main.contains(document.activeElement) && document.activeElement;
    if (active && active.localName === 'select') { // what is being chosen from stays
      if (choosing !== active) active.addEventListener('blur', () => { choosing = null; renew(); }, {once: true});
      choosing = active;
      return;
    }
    const focus = active && active.getAttribute('href');
    main.replaceChildren(...drawSummary(head, rows).flat(Infinity).filter(Boolean));
    main.querySelectorAll('details').forEach((d, i) => { d.open = Boolean(open[i]); });
    const link = focus && [...main.querySelectorAll('a')].find(a => a.getAttribute('href') === focus);
    if (link) link.focus({preventScroll: true});
  }

  history.scrollRestoration = 'manual';
  addEventListener('hashchange', () => { showing = show(); });
  let due = false;
  const redraw = () => {
    if (due || !(shown in lists)) return;
    due = true;
    requestAnimationFrame(() => { due = false; if (shown in lists) lists[shown].draw(); });
  };
  addEventListener('scroll', redraw, {passive: true});
  addEventListener('resize', redraw);
  addEventListener('beforeprint', () => {
    if (shown in lists) lists[shown].draw(true);
    for (const d of document.querySelectorAll('#main details:not([open])')) { d.open = true; d.dataset.closed = '1'; }
  });
  addEventListener('afterprint', () => {
    if (shown in lists) lists[shown].draw();
    for (const d of document.querySelectorAll('#main details[data-closed]')) { d.open = false; delete d.dataset.closed; }
  });
  addEventListener('keydown', e => keys(e, shown, lists[list]));
  offerKeys();
  await (showing = show());
  performance.mark('drawn');
  document.documentElement.dataset.ready = 'yes';
  return renew;
}

function drawNav(head) {
  const link = (page, text, to) => h('a', {href: to, 'data-page': page}, text);
  const warnings = [head.run.emulator && 'emulator', head.running && 'in progress', !head.running && head.run.partial && (head.run.waiting ? 'waiting' : 'incomplete'), head.noContent && 'no content'].filter(Boolean);
  for (const old of document.querySelectorAll('#top > .chip')) old.remove();
  document.getElementById('nav').after(...warnings.map(text => h('span', {class: 'chip'}, text)));
  document.getElementById('nav').replaceChildren(link('summary', 'Summary', '#/'), link('cases', 'Cases', '#/cases'), link('matrix', 'Matrix', '#/matrix'), ...(head.comparison && !head.comparison.notCompared ? [link('comparison', 'Baseline', '#/comparison')] : []));
}
