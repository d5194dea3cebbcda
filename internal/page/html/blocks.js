// Where the page's data comes from. A report holds it in blocks: 'head' and 'index' as they are, 'rows/N', 'trials/N' packed, and
// 'image/HASH'. `evalrun view` answers to the same names and has another load: nothing else in the page knows where the data is.
async function load(name) {
  const block = document.getElementById(name);
  if (!block) return null;
  if (block.type === 'application/json') return JSON.parse(block.textContent);
  return JSON.parse(await unpack(block.textContent));
}

// unpack undoes base64 and deflate.
async function unpack(text) {
  if (!window.DecompressionStream) throw new Error('this browser is too old to unpack the data of the report: it lacks DecompressionStream');
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
}
