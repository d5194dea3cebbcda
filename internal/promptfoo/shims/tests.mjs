// Runs a test generator of promptfoo in JavaScript as a program that writes the cases of a suite. The author's code in code/ runs
// unchanged, in that folder. Assertions become scorers as far as this shim knows them; any other one is a scorer that never has a
// score, so that its trial is an error and never a pass.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { exported, loaded } from './common.mjs';

const [file, ...rest] = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
const read = (name) => JSON.parse(readFileSync(name, 'utf8'));
console.log = console.info = console.debug = (...words) => console.error(...words); // standard output is for the cases

const home = process.cwd();
const suite = read('shims/tests.json');
const config = option('--config') ? read(option('--config')) : undefined;
const shimmed = existsSync('shims/assert.mjs');
const shimmedPython = existsSync('shims/assert.py');
const typed = existsSync('shims/typed.json') ? read('shims/typed.json') : [];
const folder = option('--folder') ?? 'code';
const author = pathToFileURL(path.resolve(file));
process.chdir(folder);

async function generated() {
  const module = await loaded(author);
  const name = option('--function');
  let found = exported(module, name);
  if (typeof found === 'function') found = await found(config);
  if (!Array.isArray(found)) throw new Error(`${file} gives no list of tests`);
  return found;
}

const variable = /\{\{-?\s*(\w+(?:\.\w+)*)\s*-?\}\}/g;
const textOf = (value) => (value === undefined || value === null ? '' : String(value));
const isObject = (value) => value !== null && typeof value === 'object';

// rendered fills in variables; undefined for a text with another template.
function rendered(text, given) {
  if (typeof text !== 'string') return textOf(text);
  if (/\{\{|\{%|\{#/.test(text.replace(variable, ''))) return undefined;
  return text.replace(variable, (_, name) => {
    const value = name.split('.').reduce((at, key) => at?.[key], given);
    return isObject(value) ? JSON.stringify(value) : textOf(value);
  });
}

const unscored = (what, why) => ({ unscored: `\`${what}\`: ${why}` });

const folded = { ignoreCase: true };
const texts = { equals: ['equals'], contains: ['contains'], icontains: ['contains', folded], 'starts-with': ['startsWith'] };
const lists = {
  'contains-all': ['containsAll'], 'contains-any': ['containsAny'],
  'icontains-all': ['containsAll', folded], 'icontains-any': ['containsAny', folded],
};
const inShim = [...Object.keys(texts), ...Object.keys(lists), 'regex', 'levenshtein', 'is-json', 'contains-json', 'word-count'];

// native returns a scorer of evalrun; undefined if there is none.
function native(base, check, given, weighed) {
  const { value, threshold } = check;
  if (base === 'latency' && typeof threshold === 'number' && threshold > 0) return { latency: { max: `${threshold}ms` } };
  const text = value === undefined || value === null || isObject(value) ? undefined : rendered(value, given);
  if (base === 'llm-rubric' && text && suite.rubric && !['provider', 'rubricPrompt', 'threshold'].some((key) => key in check)) {
    return JSON.parse(JSON.stringify(suite.rubric).replace('"RUBRIC"', () => JSON.stringify(text)));
  }
  if (suite.changes.length > 0 || Object.values(suite.targets).some((t) => t.json || t.changes)) return undefined; // code changes the answers first
  const takes = { equals: ['string', 'number', 'boolean'], contains: ['string', 'number'], icontains: ['string', 'number'] }[base] ?? ['string'];
  if (Object.hasOwn(texts, base) && text && takes.includes(typeof value)) return { [texts[base][0]]: text, ...texts[base][1] };
  if (Object.hasOwn(lists, base) && Array.isArray(value) && value.length > 0) {
    const all = value.map((one) => rendered(one, given));
    return all.every(Boolean) ? { [lists[base][0]]: all, ...lists[base][1] } : undefined;
  }
  if (base === 'levenshtein' && !weighed && typeof value === 'string' && text !== undefined && !check.type.startsWith('not-')) return { levenshtein: { to: text, max: threshold ?? 5 } };
  return undefined;
}

// judgedInShim returns a scorer that the shim for assertions judges; undefined if it does not know the assertion.
function judgedInShim(base, check, not, given) {
  let { value } = check;
  const json = base === 'is-json' || base === 'contains-json';
  if (!inShim.includes(base) || !shimmed || (json && value !== undefined && value !== null)) return undefined;
  if (typeof value === 'string') value = rendered(value, given);
  if (!json && (value === undefined || value === null)) return undefined;
  if (base !== 'regex' && JSON.stringify(value ?? '').includes('{{')) return undefined;
  const args = { check: base, value, not, targets: suite.targets, changes: suite.changes, threshold: check.threshold };
  return { exec: { command: ['node', 'shims/assert.mjs'], args, timeout: '1m' } };
}

// ofCode returns a scorer that runs code in a shim: a text without templates, or a file that is there; undefined for anything else.
function ofCode(base, check, not, given, weighed) {
  const ending = { javascript: /\.[mc]?[jt]s$/, python: /\.py$/ }[base];
  const { value, config } = check;
  if (!ending || typeof value !== 'string' || value.trim() === '' || /^package:|\{\{|\{%|\{#/.test(value)) return undefined;
  const changed = suite.changes.length > 0 || Object.values(suite.targets).some((t) => t.changes);
  if (base === 'python' ? !shimmedPython || (changed && !shimmed) : !shimmed) return undefined;
  const numbers = Object.keys(given).filter((name) => ['number', 'boolean'].includes(typeof given[name]));
  const args = { check: base, not, threshold: check.threshold, config, targets: suite.targets, changes: suite.changes, typed: [...typed, ...numbers] };
  args.weighed = weighed && weightOf(check.weight) !== 0;
  const command = base === 'python' && !changed ? ['python3', 'shims/assert.py'] : ['node', 'shims/assert.mjs'];
  if (value.startsWith('file://')) {
    const [ref, name] = value.slice('file://'.length).split(':');
    if (!ending.test(ref) || !existsSync(ref)) return undefined;
    const at = path.relative(home, path.resolve(ref));
    args.code = name ? `${at}:${name}` : at;
    command.push(args.code);
  } else args.source = value;
  return { exec: { command, args, timeout: '1m' } };
}

const known = ['type', 'value', 'threshold', 'weight', 'metric', 'description', 'provider', 'rubricPrompt'];

// isKind reports whether promptfoo has the type of an assertion, and those of all in a set.
function isKind(check) {
  const base = String(check?.type).replace(/^not-/, '');
  if (base === 'assert-set') return [check.assert ?? []].flat().every(isKind);
  return base.startsWith('promptfoo:') || suite.kinds.includes(base);
}

// weightOf returns a number that is written as one, or as a text as in the configuration; NaN for anything else.
function weightOf(weight) {
  if (weight === undefined || weight === null) return 1;
  if (typeof weight === 'string' && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(weight)) weight = Number(weight);
  return typeof weight === 'number' && weight >= 0 && weight < Infinity ? weight : NaN;
}

// weighed: a threshold counts scores, and that of levenshtein must be 0 or 1, that of code between them.
function scorer(check, given, names, weighed) {
  const kind = check?.type;
  if (typeof kind !== 'string') return unscored('assert', 'an assertion without a type');
  const not = kind.startsWith('not-');
  const base = not ? kind.slice(4) : kind;
  let found;
  const elsewhere = [check.value].flat().some((one) => typeof one === 'string' && /^(file:\/\/|package:)/.test(one));
  if (Object.keys(check).every((key) => known.includes(key)) && typeof check.value !== 'function' && !elsewhere) {
    found = native(base, check, given, weighed);
    if (found && not) found = { not: found };
    found ??= judgedInShim(base, check, not, given);
  }
  if (Object.keys(check).every((key) => key === 'config' || known.includes(key))) found ??= ofCode(base, check, not, given, weighed);
  const weight = weightOf(check.weight);
  if (!found && weight === 0 && isKind(check)) return undefined; // its score was only shown
  found ??= unscored(kind, 'the program that writes the tests makes an assertion that the import does not know');
  const bad = `a weight is a number of 0 or more, such as 1, and not ${JSON.stringify(check.weight)}`;
  if (Number.isNaN(weight)) found = unscored('weight', bad);
  else if (weight === 0) Object.assign(found, { weight: 0, threshold: 0 });
  else if (check.weight !== undefined && check.weight !== null) found.weight = weight;
  if (typeof check.metric === 'string') {
    const name = check.metric.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 40) || 'metric';
    found.name = name;
    for (let n = 2; names.has(found.name); n++) found.name = `${name}-${n}`;
    names.add(found.name);
  }
  return found;
}

function tags(metadata) {
  const out = [];
  for (const [key, value] of Object.entries(metadata ?? {})) {
    for (const one of [value].flat()) {
      if (typeof one === 'string' && one) out.push(`${key}:${one}`.replaceAll(',', ';').slice(0, 80));
    }
  }
  return out;
}

// variables are those of a test, and those of the defaults that hold others: for each test, promptfoo fills in the first name of each text,
// five times, and then all. A text stays as it is where one of its variables is missing.
function variables(own, lost) {
  const around = { ...suite.vars, ...own };
  const isText = (name) => Object.hasOwn(around, name) && !isObject(around[name]);
  for (let n = 0; n < 5; n++) {
    for (const [name, value] of Object.entries(around)) {
      if (typeof value === 'string') around[name] = value.replace(/\{\{\s*(\w+)\s*\}\}/, (all, of) => (isText(of) ? textOf(around[of]) : all));
    }
  }
  const held = Object.keys(suite.vars).filter((name) => !Object.hasOwn(own, name) && (around[name] !== suite.vars[name] || String(around[name]).search(variable) >= 0));
  const filled = {};
  for (const name of [...held, ...Object.keys(own)]) {
    const value = around[name];
    if (typeof own[name] === 'string' && own[name].startsWith('file://')) {
      lost.push(unscored('vars', `promptfoo reads the file of \`${name}\`; read it in the program`));
    }
    if (typeof value === 'function') lost.push(unscored('vars', `\`${name}\` is a function`));
    filled[name] = value === undefined || value === null || typeof value === 'function' ? '' : value;
    if (typeof value !== 'string') continue;
    const names = [...value.matchAll(variable)].map((m) => m[1]);
    const missing = names.filter((one) => !Object.hasOwn(around, one.split('.')[0]));
    const bad = names.find((one) => (missing.includes(one) ? suite.broken.includes(one.split('.')[0]) : isObject(around[one])));
    if (bad) lost.push(unscored('vars', `\`${name}\` holds \`${bad}\`, which is not one text here`));
    const text = rendered(value, around);
    if (text === undefined) lost.push(unscored('vars', `\`${name}\` has a template that the import cannot fill in`));
    filled[name] = missing.length > 0 ? value : text ?? '';
  }
  return filled;
}

// product yields the variables with each combination of the values of some lists.
function product(given, names) {
  return names.reduce((all, name) => all.flatMap((one) => given[name].map((value) => ({ ...one, [name]: value }))), [given]);
}

const readKeys = ['vars', 'assert', 'description', 'threshold', 'metadata', 'options'];
const optionKeys = ['repeat', 'disableVarExpansion', 'disableDefaultAsserts', 'runSerially'];

function cases(test, number) {
  if (!isObject(test) || Array.isArray(test)) throw new Error(`test ${number} is no mapping: ${JSON.stringify(test)?.slice(0, 200)}`);
  const options = test.options ?? {};
  const lost = [...Object.keys(test).filter((key) => !readKeys.includes(key)), ...Object.keys(options).filter((key) => !optionKeys.includes(key))]
    .map((key) => unscored(key, 'a test of a program has no counterpart for it'));
  let given = test.vars ?? {};
  if (!isObject(given) || Array.isArray(given)) {
    lost.push(unscored('vars', 'they are no mapping'));
    given = {};
  }
  let { threshold } = test;
  if (threshold !== undefined && threshold !== null && !(threshold >= 0 && threshold <= 1)) {
    lost.push(unscored('threshold', 'it is no number from 0 to 1'));
    threshold = undefined;
  }
  const weighed = suite.weighed || typeof threshold === 'number';
  const expanded = options.disableVarExpansion ? [] : Object.keys(given).filter((name) => Array.isArray(given[name]));
  return product(given, expanded).map((one) => {
    const own = [...lost];
    const vars = variables(one, own);
    const names = new Set(suite.names);
    const found = [...(test.assert ?? []).map((check) => scorer(check, { ...suite.vars, ...vars }, names, weighed)).filter(Boolean), ...own];
    const alone = options.disableDefaultAsserts === true;
    const made = { name: String(test.description || `test ${number}`), vars, threshold: threshold ?? undefined };
    if (found.length > 0) made.scorers = found;
    else if (suite.bare || alone) made.scorers = [{ expr: 'true' }]; // no assertion: any answer passes, as in promptfoo
    if (tags(test.metadata).length > 0) made.tags = tags(test.metadata);
    if (options.repeat) made.repeats = options.repeat;
    if (alone) made.inheritScorers = false;
    return made;
  });
}

generated().then((tests) => {
  const lines = tests.flatMap((test, i) => cases(test, i + 1)).map((one) => `${JSON.stringify(one)}\n`);
  process.stdout.write(lines.join(''), () => process.exit(0));
}).catch((error) => {
  console.error(error.stack ?? error);
  process.exit(1);
});
