// What a cell of the matrix shows of a trial.

const mostCalls = 20;  // in a cell
const mostScores = 12;

// drawCell shows the answer of a trial in full, its tool calls, and its scores.
function drawCell(t) {
  const candidates = (t.response && t.response.candidates) || [], first = candidates[0], calls = callsOf(t);
  const blocked = t.response && t.response.promptFeedback && t.response.promptFeedback.blockReason;
  return [
    t.skipReason && h('p', {class: 'telling'}, 'Not asked: ', name(t.skipReason)),
    t.error && h('p', {class: 'telling', dir: 'auto'}, name(t.error.kind), ': ', t.error.status ? `${t.error.status} ` : '', visible(t.error.message)),
    blocked && h('p', {class: 'telling'}, 'The prompt was blocked: ', name(blocked)),
    first && (first.text !== '' || first.withheld || calls.length === 0) && drawText(first),
    candidates.length > 1 && h('p', {class: 'note'}, `and ${count(candidates.length - 1, 'more candidate')}`),
    drawCallsInBrief(calls),
    drawScoresInBrief(t.scores || []),
  ].flat(Infinity).filter(Boolean);
}

// callsOf are the tool calls of all steps of a trial. The page holds the last reply but once, as the answer.
function callsOf(t) {
  const turns = (t.turns || []).slice(0, -1), made = modelCalls(t).map(call => call.response);
  return [...turns, ...made, t.response].flatMap(r => (((r && r.candidates) || [])[0] || {}).parts || []).filter(p => p.call).map(p => p.call);
}

// drawCallsInBrief folds the calls: how many there are and of which tools, then each with its arguments.
function drawCallsInBrief(calls) {
  const names = [...new Set(calls.map(call => call.name))];
  return calls.length > 0 && h('details', {class: 'calls'}, h('summary', null, count(calls.length, 'tool call'), ': ', name(names.slice(0, 5).join(', ') + (names.length > 5 ? ', \u2026' : ''))),
    calls.slice(0, mostCalls).map(drawCall), calls.length > mostCalls && h('p', {class: 'note'}, `and ${count(calls.length - mostCalls, 'more call')}`));
}

function drawScoresInBrief(scores) {
  if (scores.length === 0) return null;
  return h('ul', {class: 'brief-scores', 'aria-label': 'Scores'}, scores.slice(0, mostScores).map(s => {
    const outcome = s.value === null ? 'error' : s.passed ? 'pass' : 'fail';
    return h('li', {class: outcome}, badge(outcome, s.value === null ? 'unscored' : three(s.value)), ' ', name(s.name || s.scorer),
      !s.passed && s.reason && h('p', {class: 'note', dir: 'auto'}, visible(s.reason)));
  }), scores.length > mostScores && h('li', null, `and ${number(scores.length - mostScores)} more`));
}
