// unpack undoes base64 and deflate.
async function unpack(text) {
  if (!window.DecompressionStream) throw new Error('this browser is too old to unpack the data of the report: it lacks DecompressionStream');
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
}
