// What was asked: the prompt as it was sent, what the model may call, and what an application got.

// partDrawer draws parts of a request; of many images the later ones are named only.
function partDrawer() {
  let images = 0;
  return p => {
    if (p.image) return images++ < mostImages ? drawImage(p.image) : h('p', {class: 'note'}, 'image ', name(p.image.path));
    if (p.data) return h('p', {class: 'note'}, 'file ', fileFacts(p.data));
    if (p.raw !== undefined) return h('div', null, h('p', {class: 'note'}, 'a part as it is'), source(JSON.stringify(p.raw, null, 2)));
    if (p.result) return drawResults([p.result]);
    return [p.text === '' || p.text === undefined ? null : prose(p.text), drawWithheld(p.withheld, p.text)];
  };
}

// drawPrompts shows the requests as they were sent, contents that are the same once. Those of live chats stand with the answers.
function drawPrompts(firsts) {
  const seen = new Map(), part = partDrawer();
  for (const [arm, t] of firsts) {
    if (!t.request) continue;
    const r = t.request, chat = isChat(t), shared = {system: r.system, contents: chat ? [] : r.contents || [], tools: r.tools || [], toolChoice: r.toolChoice};
    const key = JSON.stringify([chat, shared]);
    if (!seen.has(key)) seen.set(key, {chat, shared, sent: []});
    seen.get(key).sent.push([arm, r]);
  }
  return h('div', {class: 'prompts'}, [...seen.values()].map(one => drawPrompt(one, part)));
}

function drawPrompt({chat, shared, sent}, part) {
  const list = (title, draw) => {
    const drawn = sent.map(([arm, r]) => [arm, draw(r)]).filter(([, one]) => one);
    return drawn.length > 0 && h('details', null, h('summary', null, title), drawn.map(([arm, one]) => [h('h3', null, name(arm)), one]));
  };
  return h('section', {class: 'prompt'},
    h('h2', null, chat ? 'Live chat' : 'Prompt as sent', h('span', {class: 'on'}, sent[0][0] && (chat ? ' with ' : ' to '), sent.map(([arm], i) => [i > 0 && ', ', name(arm)]))),
    shared.system && h('div', {class: 'turn'}, h('h3', null, 'system'), prose(shared.system)),
    shared.contents.map(c => h('div', {class: 'turn'}, h('h3', null, name(c.role || 'text')), (c.parts || []).map(part))),
    (shared.system || shared.contents.length > 0) && h('p', {class: 'copies'}, copyButton('prompt', () => promptText(shared), isCut(shared))),
    drawTools(shared),
    list('Sent to the application', r => r.app && drawApplication(r.app)),
    list('Configuration', drawConfiguration));
}

// drawConfiguration shows what else is sent with a prompt.
function drawConfiguration(r) {
  const text = ['generationConfig', 'safetySettings', 'extra'].filter(k => r[k]).map(k => `${k} ${JSON.stringify(r[k], null, 1)}`);
  if (r.toolResults) text.push(`toolResults given by the suite, hash ${String(r.toolResults).slice(0, 12)}`);
  return text.length > 0 && prose(text.join('\n'));
}

const mostTools = 200;

// drawTools shows which functions the model may call.
function drawTools({tools, toolChoice}) {
  if (tools.length === 0 && !toolChoice) return null;
  const shown = tools.slice(0, mostTools);
  return h('details', {class: 'tools-declared'}, h('summary', null, count(tools.length, 'tool'), ': ', shown.map((t, i) => [i > 0 && ', ', name(t.name)]), toolChoice && ['; toolChoice ', name(toolChoice.name || toolChoice.mode)]),
    shown.map(t => [h('h3', null, name(t.name)), t.description && h('p', {class: 'note', dir: 'auto'}, visible(t.description)), t.parameters !== undefined && source(JSON.stringify(t.parameters, null, 2))]),
    tools.length > shown.length && h('p', {class: 'note'}, `and ${count(tools.length - shown.length, 'more tool')}`));
}

// drawApplication shows what an application was sent. Values that are secret are not in the run.
function drawApplication({http, program, echo}) {
  if (http) return [
    source([`${http.method} ${http.url || '[url not kept]'}`, ...(http.headers || []).map(one => `${one.name}: ${one.secret ? '***' : one.value || ''}`)].join('\n') + (http.body ? '\n\n' + http.body : '')),
    http.stream && h('p', {class: 'note'}, 'Server-sent events are read.'),
  ];
  if (program) return [
    source((program.command || []).join(' ')),
    program.input !== undefined && program.input !== null && [h('p', {class: 'note'}, 'Standard input'), source(JSON.stringify(program.input, null, 2))],
    h('p', {class: 'note'}, Object.entries(program.files || {}).slice(0, mostTools).map(([file, hash]) => [name(file), `, sha256 ${String(hash).slice(0, 12)}; `]), program.workspace && `in a copy of the folder with sha256 ${String(program.workspace).slice(0, 12)}`),
  ];
  return echo && h('p', {class: 'note'}, 'It answers with the prompt.');
}

// fileFacts are what is known of a file that was sent.
const fileFacts = f => [name(f.path), h('span', {class: 'on'}, ' ', name(f.mimeType), `, ${number(f.bytes)} bytes${f.sourceSha256 ? ', resized when sent' : ''}, sha256 ${String(f.sha256).slice(0, 12)}`)];

function drawImage(img) {
  const figure = h('figure', {class: 'image'}, h('figcaption', null, fileFacts(img)));
  load('image/' + img.sha256).then(data => {
    if (typeof data !== 'string' || !data.startsWith('data:image/')) return;
    const el = h('img', {alt: 'image ' + img.path + ' of the prompt', loading: 'lazy'});
    el.src = data;
    figure.prepend(el);
  });
  return figure;
}
