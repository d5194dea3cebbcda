// Which page this is.

async function view() {
  const page = document.documentElement.dataset.page, main = document.getElementById('main');
  if (page === 'run') {
    await showRun();
    return;
  }
  document.querySelector('.jump').addEventListener('click', e => { e.preventDefault(); main.focus(); });
  try {
    await {runs: showRuns, trends: showTrends, compare: showCompare}[page](main);
  } catch (problem) {
    main.append(h('p', {class: 'telling'}, 'This page cannot be drawn: ' + problem.message));
  }
  document.documentElement.dataset.ready = 'yes';
}

view();
