// Where the page's data comes from. A report holds it in blocks: 'head' and 'index' as they are, 'rows/N', 'trials/N' packed, and
// 'image/HASH'. `evalrun view` and `evalrun publish` know the same names and have another load each: nothing else in the
// page knows where the data is.
async function load(name) {
  const block = document.getElementById(name);
  if (!block) return null;
  if (block.type === 'application/json') return JSON.parse(block.textContent);
  return JSON.parse(await unpack(block.textContent));
}
