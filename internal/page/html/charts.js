// Charts: plots with two axes.

const letter = 6.8; // pixels of a letter of the numbers, about
const chartWidth = 400, chartHeight = 300; // of the large ones

// roundEnds widens a scale to round numbers, about as many as wanted: whole ones where only those are shown. Numbers whose texts are the
// same count once.
function roundEnds({lo, hi, show, wanted = 4, least = -Infinity, most = Infinity}) {
  [lo, hi] = apart(lo, hi, show, least, most);
  const rough = Math.max((hi - lo) / wanted, show === asCount ? 1 : 0), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= rough * 0.999);
  if (!(step > 0) || !isKnown(step)) return {lo, hi, numbers: [lo, hi]};
  const first = Math.floor(lo / step + 1e-9), last = Math.ceil(hi / step - 1e-9), numbers = new Map();
  for (let k = first; k <= last && numbers.size < 20; k++) {
    const v = k * step, text = show(v);
    if (v >= least && v <= most && !numbers.has(text)) numbers.set(text, v);
  }
  [lo, hi] = [Math.max(least, first * step), Math.min(most, last * step)];
  return {lo, hi, numbers: numbers.size < 2 ? [lo, hi] : [...numbers.values()]};
}

// axisOf is an axis between two pixels with round ends, and `at` places a value.
function axisOf(ends, from, to, show) {
  const at = scaleOf(ends.lo, ends.hi, from, to);
  return {...ends, at, marks: ends.numbers.map(v => ({px: at(v), text: show(v)}))};
}

// roomFor is how wide the numbers of an upright axis are, in pixels.
const roomFor = (ends, show) => 10 + letter * Math.max(...ends.numbers.map(v => show(v).length));

// upright draws the numbers of an axis from bottom to top, with a faint line at each.
function upright(axis, left, right) {
  return axis.marks.map(m => [
    svg('line', {x1: left, x2: right, y1: m.px, y2: m.px, class: 'gridline'}),
    svg('text', {x: left - 5, y: m.px + 4, 'text-anchor': 'end'}, m.text),
  ]);
}

// across draws the numbers of an axis from left to right below it, without those that would touch another. The numbers at the ends stay
// between the ends, or are in the middle of their places where the axis says so.
function across(axis, top, bottom) {
  const last = axis.marks.length - 1, texts = axis.marks.map((m, i) => {
    const width = letter * m.text.length, before = axis.middle || i > 0 && i < last ? 0.5 : i === 0 ? 0 : 1;
    return {...m, from: m.px - width * before, to: m.px + width * (1 - before), anchor: ['start', 'middle', 'end'][2 * before]};
  });
  let taken = -Infinity;
  return texts.map((t, i) => {
    const free = i === last || i === 0 || t.from > taken + 6 && t.to < texts[last].from - 6;
    if (free) taken = t.to;
    return [
      svg('line', {x1: t.px, x2: t.px, y1: top, y2: bottom, class: 'gridline'}),
      free && svg('text', {x: t.px, y: bottom + 14, 'text-anchor': t.anchor}, t.text),
    ];
  });
}

// labelled places texts next to points so that they cover no other text, no point and no bar where there is room: else their first word,
// the number. What has no room for that either is in the table next to the plot.
function labelled(points, all, left, right, bottom) {
  const taken = all.map(p => ({x0: p.x - 6, x1: p.x + 6, y0: p.y - 6, y1: p.y + 6}));
  for (const p of all) if (p.bar) taken.push({x0: p.x - 3, x1: p.x + 3, y0: p.bar[1], y1: p.bar[0]});
  const free = box => box.x0 >= left && box.x1 <= right && box.y0 >= 0 && box.y1 <= bottom &&
    taken.every(t => box.x1 < t.x0 || box.x0 > t.x1 || box.y1 < t.y0 || box.y0 > t.y1);
  const place = (p, text) => {
    const width = letter * text.length, boxes = [10, 22].flatMap(far => [
      {x0: p.x + far, y0: p.y - 7}, {x0: p.x - far - width, y0: p.y - 7},
      {x0: p.x - width / 2, y0: p.y - far - 12}, {x0: p.x - width / 2, y0: p.y + far - 2},
    ]).map(b => ({...b, x1: b.x0 + width, y1: b.y0 + 14}));
    const box = boxes.find(free);
    if (box) taken.push(box);
    return box && svg('text', {x: box.x0, y: box.y1 - 3}, text);
  };
  return points.map(p => place(p, p.text) || place(p, p.text.split(' ')[0]));
}

// picks are what a reader chose of plots. They stay when the page is drawn again.
const picks = new Map();

// picksForm holds the choices of a plot.
const picksForm = (...labels) => h('form', {class: 'picks', onsubmit: e => e.preventDefault()}, labels);

// picker is a choice of what a plot shows: options are pairs of a value and its text.
function picker(key, title, options, first, draw) {
  const chosen = options.some(([v]) => v === picks.get(key)) ? picks.get(key) : first;
  const select = h('select', {id: 'pick-' + key, onchange: () => { picks.set(key, select.value); draw(); }},
    options.map(([v, text]) => h('option', {value: v}, visible(text).slice(0, 80))));
  select.value = chosen;
  return {value: () => select.value, label: h('label', null, h('span', null, title), select)};
}

// titles names the two axes of a chart.
function titles(up, along, left, floor) {
  const short = text => visible(text).length > 40 ? visible(text).slice(0, 39) + '\u2026' : visible(text);
  const x = 12, y = (floor + 10) / 2;
  return [
    svg('text', {x, y, transform: `rotate(-90 ${x} ${y})`, 'text-anchor': 'middle', class: 'title'}, short(up)),
    svg('text', {x: (left + chartWidth) / 2, y: floor + 34, 'text-anchor': 'middle', class: 'title'}, short(along)),
  ];
}
