// A run that goes on: what is new comes as events, one after the other.

async function showRun() {
  const renew = await start();
  if (!renew || !from.startsWith('/run/')) return;
  let last = Promise.resolve(), ended = false;
  const events = new EventSource(from + 'events?after=' + encodeURIComponent(mark));
  events.addEventListener('news', e => {
    const {head, block} = JSON.parse(e.data);
    last = last.then(() => renew(head, block));
  });
  events.addEventListener('again', () => { events.close(); location.reload(); });
  events.addEventListener('end', () => {
    events.close();
    ended = true;
    last = last.then(() => { if (document.documentElement.dataset.watched) say('The run has ended.'); document.documentElement.dataset.watched = 'ended'; });
  });
  events.addEventListener('open', () => { if (!ended) document.documentElement.dataset.watched = 'yes'; });
}
