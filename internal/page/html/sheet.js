// A list of rows of different heights. Only the rows in sight are in the page; a row counts with a guess until it has been drawn.

const guessedHeight = 130; // pixels
const beyond = 700;        // pixels that are drawn above and below what is in sight

class Sheet {
  // scroller is what scrolls, unless the whole page does; body holds the rows; make draws the row of a place; drawn is called when the
  // rows in the page are others.
  constructor(scroller, body, make, drawn) {
    Object.assign(this, {scroller, body, make, drawn});
    this.rows = new Map(); // elements by place
    this.watch = new ResizeObserver(entries => this.measured(entries));
    this.reset(0);
  }

  // reset begins again with a number of rows.
  reset(n) {
    for (const at of [...this.rows.keys()]) this.remove(at);
    this.brought = -1; // other rows have these places now
    this.heights = new Float64Array(n).fill(guessedHeight);
    this.body.replaceChildren();
  }

  remove(at) {
    const row = this.rows.get(at);
    this.watch.unobserve(row);
    if (row.contains(document.activeElement)) this.scroller.focus({preventScroll: true}); // the keys must not get lost with the row
    row.remove();
    this.rows.delete(at);
  }

  // sight is the part of the rows that can be seen, in pixels from the first.
  sight() {
    const box = this.scroller.getBoundingClientRect(), top = this.body.getBoundingClientRect().top, head = this.scrolls() ? this.body.offsetTop : 0;
    return [Math.max(box.top + head, 0) - top, Math.min(box.bottom, window.innerHeight) - top];
  }

  // range finds the rows between two heights: the first, the one after the last, and the heights above and below them.
  range(top, bottom) {
    const all = this.heights;
    let from = 0, above = 0;
    while (from < all.length && above + all[from] < top) above += all[from++];
    let to = from, end = above;
    while (to < all.length && end < bottom) end += all[to++];
    let below = 0;
    for (let at = to; at < all.length; at++) below += all[at];
    return {from, to, above, below};
  }

  // draw puts the rows in sight into the page.
  draw() {
    const [top, bottom] = this.sight(), {from, to, above, below} = this.range(top - beyond, bottom + beyond);
    for (const at of [...this.rows.keys()]) if (at < from || at >= to) this.remove(at);
    let next = this.body.firstChild;
    for (let at = from; at < to; at++) {
      const known = this.rows.get(at);
      if (known) { next = known.nextSibling; continue; }
      const row = this.make(at);
      row.dataset.at = String(at);
      this.rows.set(at, row);
      this.body.insertBefore(row, next);
      this.watch.observe(row);
    }
    this.pad(above, below);
    this.drawn();
  }

  pad(above, below) {
    this.body.style.paddingTop = above + 'px';
    this.body.style.paddingBottom = below + 'px';
  }

  // all puts the first rows into the page, for paper.
  all(most) {
    for (const at of [...this.rows.keys()]) this.remove(at);
    this.pad(0, 0);
    this.body.replaceChildren(...Array.from({length: Math.min(most, this.heights.length)}, (_, at) => this.make(at)));
  }

  // measured takes up the heights that rows turned out to have. What is in sight stays where it is.
  measured(entries) {
    const [top] = this.sight();
    let shift = 0, changed = false;
    for (const {target} of entries) {
      const at = Number(target.dataset.at), height = target.offsetHeight;
      if (!target.isConnected || this.rows.get(at) !== target || height === this.heights[at]) continue;
      if (this.offset(at) + this.heights[at] <= top) shift += height - this.heights[at];
      this.heights[at] = height;
      changed = true;
    }
    if (!changed) return;
    if (shift !== 0) this.by(shift);
    requestAnimationFrame(() => { if (this.body.isConnected) this.draw(); });
  }

  // first is the first row in sight, and how far above its beginning is.
  first() {
    const [top] = this.sight(), {from, above} = this.range(Math.max(0, top), Infinity);
    return {at: from, above: top - above};
  }

  // goTo scrolls to where first was.
  goTo(at, above) {
    this.by(this.offset(at) + above - this.sight()[0]);
    this.draw();
  }

  // measuredHeights are the heights that are no guesses, by the key of the row.
  measuredHeights(keyOf) {
    const out = new Map();
    this.heights.forEach((height, at) => { if (height !== guessedHeight) out.set(keyOf(at), height); });
    return out;
  }

  // offset is where a row begins, in pixels from the first.
  offset(at) {
    let y = 0;
    for (let i = 0; i < at; i++) y += this.heights[i];
    return y;
  }

  scrolls() { return this.scroller.scrollHeight > this.scroller.clientHeight + 1 && getComputedStyle(this.scroller).overflowY !== 'visible'; }
  by(pixels) { (this.scrolls() ? this.scroller : window).scrollBy(0, pixels); }

  // bring scrolls a row into sight. Rows that are drawn for it may turn out higher than guessed, so that it looks again.
  bring(at, again = 4) {
    this.brought = at;
    const [top, bottom] = this.sight(), y = this.offset(at), end = y + this.heights[at];
    if (y < top || end - y > bottom - top) this.by(y - top);
    else if (end > bottom) this.by(end - bottom);
    this.draw();
    if (again > 0) requestAnimationFrame(() => { if (this.body.isConnected && this.brought === at) this.bring(at, again - 1); });
  }
}
