// How answers are read: as the text they are, or rendered from Markdown or JSON where the reader wants that.

const readings = {text: 'Text', markdown: 'Markdown', json: 'JSON'};
let shownAs = 'text';

// readable shows an answer in the way that is chosen, and again when another is. `plain` draws it as text, `json` as JSON if it is that.
function readable(text, plain = prose, json = drawJSON) {
  const box = h('div', {class: 'readable'});
  box.redraw = () => box.replaceChildren(...[drawReading(text, plain, json)].flat());
  box.redraw();
  return box;
}

function drawReading(text, plain, json) {
  if (shownAs === 'markdown') return drawMarkdown(text);
  if (shownAs === 'text') return plain(text);
  return jsonSource(text) === null ? [h('p', {class: 'note'}, 'Not JSON: shown as text.'), plain(text)] : json(text);
}

// chooseReading shows all answers of the page in another way.
function chooseReading(way) {
  shownAs = way;
  for (const button of document.querySelectorAll('.reading button')) button.setAttribute('aria-pressed', String(button.value === way));
  for (const box of document.querySelectorAll('.readable')) box.redraw();
  say(`Answers are shown as ${readings[way]}.`);
}

function toggleReading(way) { chooseReading(shownAs === way ? 'text' : way); }

// drawReadings are the buttons that choose.
function drawReadings() {
  const shortcuts = {markdown: 'm', json: 'j'};
  return h('div', {class: 'reading', role: 'group', 'aria-label': 'Show answers as'}, h('span', {class: 'on'}, 'Show answers as '),
    Object.entries(readings).map(([way, title]) => h('button', {
      type: 'button', value: way, onclick: () => chooseReading(way),
      'aria-pressed': String(way === shownAs), 'aria-keyshortcuts': shortcuts[way],
    }, title)));
}
