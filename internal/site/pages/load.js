// Where data comes from here: files next to the pages. Each is a script that calls evalrun with the name of a block and its text, packed.
// Browsers let a page that was opened from a folder load scripts, and no other files.
const {from, head: headFrom, root = ''} = document.documentElement.dataset;
const growing = false; // the site stays as it was written
const runAddress = key => `${root}runs/${key}.html`;
const comparisonsAddress = key => `${root}compare.html?run=${encodeURIComponent(key)}`;

// scriptAddress lets addresses of blocks pass, and nothing else.
function scriptAddress(address) {
  if (!/^(\.\.\/)?data\/[0-9a-f]+\/[a-z]+(\/[0-9a-f]+)?\.js$/.test(address)) throw new TypeError('this is not the address of a block');
  return address;
}
const scriptAddresses = window.trustedTypes ? trustedTypes.createPolicy('evalrun', {createScriptURL: scriptAddress}) : {createScriptURL: scriptAddress};

const loading = new Map(); // texts of blocks, by address
const scripts = new Map(); // what takes the text of a script
Object.defineProperty(window, 'evalrun', {value: (_, text) => { const take = scripts.get(document.currentScript); if (take) take(text); }});

// load reads a block. A comparison has a head and points of its own, and pages of several runs have blocks of their own.
const load = name => read(headFrom && (name === 'head' || name === 'points' || !from) ? headFrom : from, name);

async function read(folder, name) {
  if (name.startsWith('image/') && !/^image\/[0-9a-f]+$/.test(name)) return null;
  const address = folder + name + '.js';
  if (!loading.has(address)) loading.set(address, fetchText(address, name));
  try {
    const text = await loading.get(address);
    return text === null ? null : JSON.parse(await unpack(text));
  } finally {
    loading.delete(address);
  }
}

// fetchText adds the script of a block. An image may be missing, since it was gone when the site was written.
function fetchText(address, name) {
  const script = document.createElement('script');
  return new Promise((take, fail) => {
    const missing = () => {
      if (name.startsWith('image/')) take(null);
      else fail(new Error(`the file of ${name} is missing: reload the page, since the site may have been published again`));
    };
    scripts.set(script, take);
    script.addEventListener('error', missing);
    script.addEventListener('load', missing); // of a file that gave its text it changes nothing
    script.src = scriptAddresses.createScriptURL(address);
    document.head.append(script);
  }).finally(() => {
    scripts.delete(script);
    script.remove();
  });
}

// get reads what pages of several runs show. The numbers of the runs come with their list.
async function get(path) {
  const [name, key] = path.split('/'), data = await load(name);
  if (name !== 'runs') return data;
  return key ? data.numbers[key] : data.runs;
}
