// What came back: texts, calls, reasoning, and what they cost.

// drawTexts shows what came back: that the prompt was blocked, or every candidate.
function drawTexts(response) {
  if (!response) return null;
  const candidates = response.candidates || [], blocked = response.promptFeedback && response.promptFeedback.blockReason;
  return [
    blocked && h('p', {class: 'telling'}, 'The prompt was blocked: ', name(blocked)),
    candidates.map((c, i) => [
      candidates.length > 1 && h('h3', null, 'Candidate ' + i),
      h('div', {class: 'text'}, c.parts ? drawPieces(c) : drawText(c), drawRaw(c.raw)),
      (c.finishReason || c.text) && h('p', {class: 'note under'}, drawFinish(c), c.text && copyButton('answer', () => c.text, c.withheld)),
    ]),
  ];
}

function drawFinish(c) {
  return c.finishReason && h('span', null, 'finish reason ', name(c.vendorReason ? `${c.finishReason} (${c.vendorReason})` : c.finishReason));
}

// drawText shows the text of a candidate that is nothing else.
function drawText(c) {
  return [c.text === '' && !c.withheld ? h('p', {class: 'note'}, 'An empty answer.') : c.text === '' ? null : readable(c.text), drawWithheld(c.withheld, c.text)];
}

const mostPieces = 200;

// drawPieces shows an answer that is more than text, piece by piece.
function drawPieces(c) {
  return [
    c.parts.slice(0, mostPieces).map(drawPiece),
    c.parts.length > mostPieces && h('p', {class: 'note'}, `and ${count(c.parts.length - mostPieces, 'more part')}`),
    drawWithheld(c.withheld, c.text),
  ];
}

function drawPiece(p) {
  if (p.call) return drawCall(p.call);
  if (p.reasoning) return h('div', {class: 'reasoning'}, h('p', {class: 'note'}, 'Reasoning'), prose(p.reasoning));
  if (p.other !== undefined) return h('details', null, h('summary', null, 'Another part'), source(JSON.stringify(p.other, null, 2)));
  return p.text ? readable(p.text) : null;
}

// drawCall shows a call in a line; long arguments scroll.
function drawCall(call) {
  return h('div', {class: 'call'}, h('p', {class: 'note'}, 'calls ', h('b', null, name(call.name)), call.id && [', id ', name(call.id)]),
    call.args !== undefined && source(JSON.stringify(call.args)));
}

// drawResults shows what the suite answered to the calls of a step.
function drawResults(results) {
  return results.slice(0, mostPieces).map(r => h('div', {class: 'result' + (r.failed ? ' failed' : '')},
    h('p', {class: 'note'}, r.failed ? [badge('fail', 'failed'), ' '] : 'result of ', h('b', null, name(r.name)), r.id && [', id ', name(r.id)]), r.text !== '' && prose(r.text)));
}

// drawRaw keeps what came over the wire out of the way.
function drawRaw(raw) {
  return raw !== undefined && h('details', null, h('summary', null, 'As it came'), source(JSON.stringify(raw, null, 2)));
}

function drawSafety(response) {
  if (!response) return null;
  const candidates = response.candidates || [];
  return [
    candidates.map((c, i) => drawRatings(c.safetyRatings, candidates.length > 1 ? `Safety of candidate ${i}` : 'Safety of the answer')),
    response.promptFeedback && drawRatings(response.promptFeedback.safetyRatings, 'Safety of the prompt'),
  ];
}

function drawExtra(response) {
  return response && response.extra && h('details', null, h('summary', null, 'Other fields of the answer'), source(JSON.stringify(response.extra, null, 2)));
}

// drawWithheld tells what is known of a text that is not here, or not here in full.
function drawWithheld(w, text) {
  if (!w) return null;
  return h('p', {class: 'note'}, text ? 'Cut here: ' : 'Not kept: ', `${number(w.bytes)} bytes in all, sha256 ${String(w.sha256).slice(0, 12)}`);
}

function drawCost(t) {
  const facts = [];
  if (t.usage) facts.push(['tokens', tokens(t)]);
  if (t.timing) {
    const measured = t.timing.latencyMs > 0 || !(t.request && t.request.app);
    facts.push(['latency', measured ? duration(t.timing.latencyMs) : 'not measured'], ['waited', duration(t.timing.queuedMs)], ['attempts', String(t.timing.attempts)]);
    if (t.timing.chunks) facts.push(['stream', `first text after ${duration(t.timing.firstTokenMs || 0)}, ${count(t.timing.chunks, 'chunk')}, at most ${duration(t.timing.maxGapMs || 0)} apart`]);
  }
  return facts.length > 0 && h('dl', {class: 'facts'}, facts.map(([k, v]) => [h('dt', null, k), h('dd', null, v)]));
}

// tokens says what a trial cost: the same words as in the other reports.
function tokens(t) {
  const u = t.usage, source = t.request && t.request.app && u.source === 'service' ? 'application' : u.source;
  const part = (n, what, of, kind) => `${number(n)} ${what}` + (of > 0 ? ` (${number(of)} ${kind})` : '');
  return part(u.promptTokens, 'prompt', u.cachedTokens, 'cached') + (u.toolUseTokens > 0 ? ` + ${number(u.toolUseTokens)} tool use` : '') +
    ' + ' + part(u.outputTokens, 'output', u.reasoningTokens, 'reasoning') + ` = ${number(u.totalTokens)} (${visible(source)})`;
}
