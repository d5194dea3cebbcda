// Numbers for people: each kind has one form, here and in internal/text/numbers.go for the terminal.
const number = n => Math.round(n).toLocaleString('en');
const count = (n, noun) => number(n) + ' ' + noun + (n === 1 ? '' : 's');
const three = x => Math.abs(x) >= 1000 ? number(x) : x.toLocaleString('en', {maximumSignificantDigits: 3});
// percent writes a share; only none is 0.0 %, and only all is 100.0 %.
const percent = p => (100 * (p > 0 && p < 1 ? Math.min(Math.max(p, 0.001), 0.999) : p)).toFixed(1) + ' %';
// signed and change write a difference; change does it in few digits.
const signed = x => (x > 0 ? '+' : '') + x.toFixed(3);
const change = x => (x > 0 ? '+' : '') + three(x);
// asShare and asCount are short, for scales.
const asShare = v => three(100 * v) + ' %';
const asCount = v => Math.abs(v) < 1e6 ? number(v) : v.toLocaleString('en', {notation: 'compact', maximumSignificantDigits: 3});
// money writes an amount in decimals: two of them, or more for three significant digits.
const money = x => x.toLocaleString('en', {useGrouping: false, minimumFractionDigits: 2, maximumFractionDigits: x !== 0 && Math.abs(x) < 1 ? Math.min(12, 2 - Math.floor(Math.log10(Math.abs(x)))) : 2});
// perThousand writes what a thousand trials cost, from the cost of one.
const perThousand = (cost, currency) => `${money(1000 * cost)} ${visible(currency)} per 1,000 trials`;

// when shows a time in UTC; what is none stays as it is.
function when(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? String(at) : time.toISOString().replace('T', ' ').slice(0, 16);
}

// duration writes milliseconds: 357 ms, 1.76 s, 12.3 s, 2m3s.
function duration(ms) {
  const s = Math.round(ms / 1000), minutes = Math.floor(s / 60);
  if (ms < 999.5) return ms.toFixed(0) + ' ms';
  if (ms < 59950) return (ms / 1000).toFixed(ms < 9995 ? 2 : 1) + ' s';
  return `${minutes >= 60 ? Math.floor(minutes / 60) + 'h' : ''}${minutes % 60}m${s % 60}s`;
}
