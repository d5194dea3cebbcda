// Which page is shown, and the keys that work everywhere.

// start draws the report, and gives what draws it again when the run has got on.
async function start() {
  const main = document.getElementById('main');
  let head, rows;
  document.querySelector('.jump').addEventListener('click', e => { e.preventDefault(); main.focus(); });
  try {
    head = await load('head');
    drawNav(head);
    rows = await loadRows();
    if (head.otherBaseline) rows.forget(standings);
  } catch (problem) {
    main.append(h('p', {class: 'telling'}, 'The report cannot be read: ' + problem.message));
    return null;
  }
  const cases = new Cases(rows);
  let shown = '', showing = Promise.resolve();

  // markNav says which of the pages is shown.
  function markNav() {
    for (const a of document.querySelectorAll('#nav a')) {
      if (a.dataset.page === shown || shown === 'case' && a.dataset.page === 'cases') a.setAttribute('aria-current', shown === 'case' ? 'true' : 'page');
      else a.removeAttribute('aria-current');
    }
  }

  async function show() {
    const [path, queryText] = location.hash.replace(/^#\/?/, '').split('?');
    const parts = path.split('/').map(part => { try { return decodeURIComponent(part); } catch { return part; } });
    const query = new URLSearchParams(queryText || ''), page = parts[0] || 'summary', ticket = location.hash;
    if (shown === 'cases') cases.scroll = window.scrollY;
    let content;
    if (page === 'cases') content = cases.show(query);
    else if (page === 'case' && parts.length >= 3) content = await drawCase(cases, head, parts[1], parts.slice(2).join('/'), query);
    else if (page === 'comparison' && head.comparison) content = drawComparison(head);
    else content = drawSummary(head, rows);
    if (ticket !== location.hash) return; // somebody was faster
    shown = page;
    main.className = page;
    main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    markNav();
    const title = main.querySelector('h1');
    document.title = `${title ? title.textContent : 'Summary'}: ${head.title}: evalrun report`;
    if (page === 'cases') {
      cases.draw();
      window.scrollTo(0, cases.scroll);
      cases.draw();
      say(cases.countText());
    } else {
      window.scrollTo(0, 0);
      const chosen = main.querySelector('.chosen');
      if (chosen && main.querySelectorAll('.answer').length > 1) chosen.scrollIntoView({block: 'nearest'});
    }
    if (page === 'cases') cases.grid.focus({preventScroll: true});
    else main.focus({preventScroll: true});
  }

  // renew shows the run as it is now, where the reader is: with another head, or with a block that its rows grow by.
  async function renew(now, block) {
    await showing;
    head = now || head;
    drawNav(head);
    markNav();
    if (block) cases.grow(block);
    if (shown === 'cases') return cases.redraw();
    if (shown !== 'summary') return; // what is being read stays
    const open = [...main.querySelectorAll('details')].map(d => d.open), focus = main.contains(document.activeElement) && document.activeElement.getAttribute('href');
    main.replaceChildren(...drawSummary(head, rows).flat(Infinity).filter(Boolean));
    main.querySelectorAll('details').forEach((d, i) => { d.open = Boolean(open[i]); });
    const link = focus && [...main.querySelectorAll('a')].find(a => a.getAttribute('href') === focus);
    if (link) link.focus({preventScroll: true});
  }

  history.scrollRestoration = 'manual';
  addEventListener('hashchange', () => { showing = show(); });
  let due = false;
  const redraw = () => {
    if (due || shown !== 'cases') return;
    due = true;
    requestAnimationFrame(() => { due = false; if (shown === 'cases') cases.draw(); });
  };
  addEventListener('scroll', redraw, {passive: true});
  addEventListener('resize', redraw);
  addEventListener('beforeprint', () => {
    if (shown === 'cases') cases.draw(1000);
    for (const d of document.querySelectorAll('#main details:not([open])')) { d.open = true; d.dataset.closed = '1'; }
  });
  addEventListener('afterprint', () => {
    if (shown === 'cases') cases.draw();
    for (const d of document.querySelectorAll('#main details[data-closed]')) { d.open = false; delete d.dataset.closed; }
  });
  addEventListener('keydown', e => keys(e, shown, cases));
  await (showing = show());
  document.documentElement.dataset.ready = 'yes';
  return renew;
}

function drawNav(head) {
  const link = (page, text, to) => h('a', {href: to, 'data-page': page}, text);
  const warnings = [head.run.emulator && 'emulator', head.running && 'still running', !head.running && head.run.partial && 'not complete', head.noContent && 'no content'].filter(Boolean);
  for (const old of document.querySelectorAll('#top > .chip')) old.remove();
  document.getElementById('nav').after(...warnings.map(text => h('span', {class: 'chip'}, text)));
  document.getElementById('nav').replaceChildren(link('summary', 'Summary', '#/'), link('cases', 'Cases', '#/cases'), ...(head.comparison && !head.comparison.notCompared ? [link('comparison', 'Baseline', '#/comparison')] : []));
}

function keys(e, shown, cases) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target.closest && e.target.closest('input, select, textarea');
  if (e.key === '/' && !typing) {
    e.preventDefault();
    if (shown === 'cases') return cases.search.focus();
    addEventListener('hashchange', () => setTimeout(() => cases.search.focus(), 0), {once: true});
    location.hash = cases.address();
  } else if (e.key === 'Escape') {
    if (shown === 'cases' && typing) return cases.grid.focus();
    location.hash = shown === 'case' ? cases.address() : '#/';
  } else if (shown === 'case' && !typing && (e.key === 'n' || e.key === 'p')) {
    const to = document.querySelector(e.key === 'n' ? '.pager a[rel=next]' : '.pager a[rel=prev]');
    if (to) to.click();
  }
}
