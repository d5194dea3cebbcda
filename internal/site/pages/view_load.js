// Where data comes from here: the server, block by block. The blocks of a run hold together as long as its epoch stays; when the server
// has read the run anew, the page does so as well.
const from = document.documentElement.dataset.from;
const growing = true; // runs may come, and go on
const runAddress = key => `/run/${key}/`;
const comparisonsAddress = key => '/compare?head=' + encodeURIComponent(key);
let mark = ''; // how much of the run the page has: EPOCH-BLOCKS

// ofComparison says whether a block comes from the comparison, which the address chooses.
const ofComparison = name => name === 'head' || name === 'points';

async function load(name) {
  const query = new URLSearchParams(ofComparison(name) ? location.search : '');
  if (mark && !ofComparison(name) && name !== 'index') query.set('of', mark.split('-')[0]);
  const answer = await fetch(from + 'data/' + name + '?' + query);
  if (answer.status === 409) {
    location.reload();
    return new Promise(() => {});
  }
  if (!answer.ok) throw new Error(await answer.text());
  if (name === 'index') mark = answer.headers.get('Evalrun-Mark');
  return answer.json();
}

// get asks the server for anything but a run.
const get = path => read('/data/' + path);

async function read(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
