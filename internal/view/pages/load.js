// Where data comes from here: the server, block by block. The blocks of a run hold together as long as its epoch stays; when the server
// has read the run anew, the page does so as well.
const from = document.documentElement.dataset.from;
const growing = true; // runs may come, and go on
const runAddress = key => `/run/${key}/`;
const comparisonsAddress = key => '/compare?head=' + encodeURIComponent(key);
let mark = ''; // how much of the run the page has: EPOCH-BLOCKS

async function load(name) {
  const query = new URLSearchParams(name === 'head' ? location.search : '');
  if (mark && name !== 'head' && name !== 'index') query.set('of', mark.split('-')[0]);
  const answer = await fetch(from + 'data/' + name + '?' + query);
  if (answer.status === 409) {
    location.reload();
    return new Promise(() => {});
  }
  if (!answer.ok) throw new Error(await answer.text());
  if (name === 'index') mark = answer.headers.get('Evalrun-Mark');
  return answer.json();
}

// baseOf is the base of the comparison that the page shows, where it shows one.
const baseOf = (from || '').match(/^\/compare\/([^/]+)\//);

// loadBase reads a block of the base.
const loadBase = baseOf && (name => read(`/run/${baseOf[1]}/data/${name}`));

// get asks the server for anything but a run.
const get = path => read('/data/' + path);

async function read(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
