// A live chat: each turn of the user as it was sent, with what the model replied to it.

const mostTurns = 200;

const isChat = t => (t.turns || []).length > 0 || Boolean(t.request && t.request.live);

// drawChat shows a chat turn by turn. The reply to the last is the answer, which the page holds but once; a chat that broke off has none.
function drawChat(t) {
  const turns = t.turns || [], asked = (t.request && t.request.contents) || [], part = partDrawer();
  const all = Math.max(turns.length, asked.length);
  return [
    h('ul', {class: 'chat', 'aria-label': 'Turns of the chat'}, Array.from({length: Math.min(all, mostTurns)}, (_, i) => h('li', {class: 'turn'},
      h('h3', null, `Turn ${i + 1}`),
      asked[i] && (asked[i].parts || []).map(part),
      turns[i] ? drawReply(turns[i], i === turns.length - 1 && t.response || turns[i]) : h('p', {class: 'note'}, 'Not answered.')))),
    all > mostTurns && h('p', {class: 'note'}, `and ${count(all - mostTurns, 'more turn')}`),
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

// drawFoldedSafety keeps the ratings of a turn out of the way of the talk, and tells the highest.
function drawFoldedSafety(response) {
  const ratings = [response.promptFeedback, ...(response.candidates || [])].flatMap(one => (one && one.safetyRatings) || []);
  const highest = Math.max(-1, ...ratings.slice(0, 1000).map(r => probabilities.indexOf(r.probability)));
  return ratings.length > 0 && h('details', null, h('summary', null, 'Safety ratings', highest >= 0 && `, the highest ${probabilities[highest]}`), drawSafety(response));
}
