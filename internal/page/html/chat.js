// The turns of a trial: those of a live chat as they were sent with what the model replied, and the steps in which the suite answered
// the model's calls.

const mostTurns = 200;

const hasTurns = t => (t.turns || []).length > 0 || Boolean(t.request && t.request.live);
const hasSteps = t => (t.turns || []).some(turn => turn.results);
const isChat = t => Boolean(t.request && t.request.live) || hasTurns(t) && !hasSteps(t);

// drawTurns shows a chat turn by turn, and all else step by step. The last reply is the answer, which the page holds but once; a trial
// that broke off has none.
function drawTurns(t) {
  const part = partDrawer(), asked = isChat(t) && (t.request && t.request.contents) || [], replies = rounds(t);
  const all = Math.max(replies.length, asked.length), chat = isChat(t);
  return [
    h('ul', {class: 'chat', 'aria-label': chat ? 'Turns of the chat' : 'Steps'}, Array.from({length: Math.min(all, mostTurns)}, (_, i) => h('li', {class: 'turn'},
      chat && h('h3', null, `Turn ${i + 1}`),
      asked[i] && (asked[i].parts || []).map(part),
      drawRound(t, replies[i] || [])))),
    all > mostTurns && h('p', {class: 'note'}, `and ${count(all - mostTurns, 'more turn')}`),
  ];
}

// rounds are the numbers of the replies to each turn of the user: the model calls functions until it has the last word.
function rounds(t) {
  const out = [];
  let open = false;
  for (const [i, turn] of (t.turns || []).entries()) {
    if (!open) out.push([]);
    out.at(-1).push(i);
    open = Boolean(turn.results);
  }
  return out;
}

function drawRound(t, places) {
  const turns = t.turns || [], last = places.at(-1), steps = hasSteps(t);
  return [
    places.slice(0, mostTurns).map((i, k) => [
      steps && h('h3', {class: 'step'}, `Step ${k + 1}`),
      drawReply(turns[i], i === turns.length - 1 && t.response || turns[i]),
      turns[i].results && drawResults(turns[i].results),
    ]),
    places.length > mostTurns && h('p', {class: 'note'}, `and ${count(places.length - mostTurns, 'more step')}`),
    (last === undefined || turns[last].results) && h('p', {class: 'note'}, 'Not answered.'),
  ];
}

// drawReply shows what came back in a turn, and what it cost.
function drawReply(turn, response) {
  const {usage, timing} = turn;
  return h('div', {class: 'reply'},
    drawTexts(response),
    h('p', {class: 'note'}, [
      usage && `${number(usage.promptTokens)} + ${number(usage.outputTokens)} tokens (${visible(usage.source)})`,
      timing && duration(timing.latencyMs),
      timing && timing.attempts > 1 && count(timing.attempts, 'attempt'),
    ].filter(Boolean).join(', ')),
    drawFoldedSafety(response),
    drawExtra(response));
}

// modelCalls are the calls of models that a program made in all turns.
const modelCalls = t => (hasTurns(t) ? [...(t.turns || []).slice(0, -1), t.response] : [t.response]).flatMap(r => (r && r.calls) || []);

// drawModelCalls shows the calls of models that a program made on its way to its answer, folded away.
function drawModelCalls(t) {
  const calls = modelCalls(t), program = t.request && t.request.app && t.request.app.program;
  if (calls.length === 0) return program && program.models && h('p', {class: 'note'}, 'The program made no call through the proxy.');
  return h('details', null, h('summary', null, count(calls.length, 'call'), ' of models'),
    h('ul', {class: 'chat', 'aria-label': 'Calls of models'}, calls.slice(0, mostTurns).map((call, i) => h('li', {class: 'turn'},
      h('h3', {class: 'step'}, `Call ${i + 1}: `, name(call.model), ', ', name(call.service)),
      call.error && h('p', {class: 'note'}, visible(call.error.message)),
      drawReply(call, call.response || {}),
      call.results && drawResults(call.results)))),
    calls.length > mostTurns && h('p', {class: 'note'}, `and ${count(calls.length - mostTurns, 'more call')}`));
}

// drawFoldedSafety keeps the ratings of a turn out of the way of the talk, and tells the highest.
function drawFoldedSafety(response) {
  const ratings = [response.promptFeedback, ...(response.candidates || [])].flatMap(one => (one && one.safetyRatings) || []);
  const highest = Math.max(-1, ...ratings.slice(0, 1000).map(r => probabilities.indexOf(r.probability)));
  return ratings.length > 0 && h('details', null, h('summary', null, 'Safety ratings', highest >= 0 && `, the highest ${probabilities[highest]}`), drawSafety(response));
}
