// Where data comes from here: the server, block by block. The blocks of a run hold together as long as its epoch stays; when the server
// has read the run anew, the page does so as well.
const from = document.documentElement.dataset.from;
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

// get asks the server for anything but a run.
async function get(path) {
  const answer = await fetch('/data/' + path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
