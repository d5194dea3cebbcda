"use strict";
const box = document.getElementById("search"), found = document.getElementById("found"), root = document.body.dataset.root;
const folded = sections.map((s) => ({ ...s, words: [s.heading, s.page + " " + s.address, s.text].map((t) => t.toLowerCase()) }));

// value is what a word counts in a section: the title and name of the page count as much as a heading, and both more than the text.
function value(section, word) {
  const [heading, page, text] = section.words.map((t) => t.split(word).length - 1);
  return (heading > 0 ? 9 : 0) + (page > 0 ? 9 : 0) + 4 * text / (text + 3);
}

// rank is 0 where a word is missing, and what pages say instead of it. A whole heading counts most.
function rank(section, words) {
  let sum = 0;
  for (const word of words) {
    const instead = Object.entries(synonyms).filter(([stem]) => word.startsWith(stem)).flatMap(([, other]) => other.split(" "));
    const best = Math.max(value(section, word), ...instead.map((other) => value(section, other) / 2));
    if (best === 0) return 0;
    sum += best;
  }
  return section.words[0] === words.join(" ") ? sum + 9 : sum;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return (at > 0 ? "..." : "") + text.slice(at, at + 140);
}

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const best = words.length === 0 ? [] : folded.map((s) => [rank(s, words), s]).filter(([r]) => r > 0)
    .sort(([a], [b]) => b - a).slice(0, 12).map(([, s]) => s);
  found.replaceChildren(...best.map((s) => {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
    link.href = root + s.address;
    link.textContent = s.heading === s.page ? s.page : s.page + ": " + s.heading;
    small.textContent = excerpt(s.text, words[0]);
    link.append(small);
    item.append(link);
    return item;
  }));
  if (words.length > 0 && best.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing found.";
    found.append(item);
  }
  found.hidden = words.length === 0;
}

function choose(step) {
  const links = [...found.querySelectorAll("a")], at = links.findIndex((l) => l.classList.contains("chosen"));
  links[at]?.classList.remove("chosen");
  links.at((at + step + links.length) % links.length)?.classList.add("chosen");
}

box.addEventListener("input", show);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(1);
  else if (event.key === "ArrowUp") choose(-1);
  else if (event.key === "Enter") (found.querySelector("a.chosen") ?? found.querySelector("a"))?.click();
  else if (event.key === "Escape") { box.value = ""; show(); } else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) { box.focus(); event.preventDefault(); }
});

// The scheme is the system's until the button says otherwise. Browsers may refuse to keep it for pages from files.
const kept = (() => { try { return localStorage; } catch { return {}; } })();
if (kept.scheme) document.documentElement.dataset.scheme = kept.scheme;
document.getElementById("scheme").addEventListener("click", () => {
  const dark = (document.documentElement.dataset.scheme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.documentElement.dataset.scheme = kept.scheme = dark ? "light" : "dark";
});
document.documentElement.dataset.ready = "";
