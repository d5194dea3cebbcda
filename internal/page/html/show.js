// Which page this is: that of a run, or one of several runs.

async function showPage(run, several) {
  const page = document.documentElement.dataset.page, main = document.getElementById('main');
  if (page === 'run') {
    await run();
    return;
  }
  offerKeys();
  document.querySelector('.jump').addEventListener('click', e => { e.preventDefault(); main.focus(); });
  try {
    await several[page](main);
  } catch (problem) {
    main.append(h('p', {class: 'telling'}, 'This page cannot be drawn: ' + problem.message));
  }
  document.documentElement.dataset.ready = 'yes';
}
