// Judges an answer as promptfoo does. It is a scorer of kind exec: evalrun writes the answer as JSON to standard input and reads
// {"score", "passed", "reason"} from standard output. The author's code runs unchanged.
//
// Code that throws is a failed check, as in promptfoo. Code that cannot be loaded ends the shim with an error, which is no verdict.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { pathToFileURL } from 'node:url';
import { filled, given, loaded, providerOf } from './common.mjs';

const input = await given();
const args = input.args ?? {};
const target = (args.targets ?? {})[input.arm.split('/')[0]] ?? {};
// Numbers and booleans are texts in a suite.
const typed = args.typed ?? (existsSync('shims/typed.json') ? JSON.parse(readFileSync('shims/typed.json', 'utf8')) : []);
for (const name of typed) {
  if (typeof input.vars?.[name] === 'string') input.vars[name] = structured(input.vars[name], true);
}
if (input.vars) Object.defineProperty(input.vars, '_conversation', { get: () => { absent = '`_conversation`'; return []; } });
console.log = console.info = console.debug = (...words) => console.error(...words); // standard output is for the verdict

// What the author's provider returned besides its output, where the shim for providers passed it on.
const response = (input.toolCalls ?? []).find((call) => call.name === 'promptfoo.response')?.args;
if (response) input.toolCalls = input.toolCalls.filter((call) => call.name !== 'promptfoo.response');

const shimmed = Object.create(process, { mainModule: { value: { require: createRequire(path.resolve('suite.yaml')) } } });

function rendered(code) {
  if (!args.render) return code;
  return code.replace(/\{\{-?\s*(\w+(?:\.\w+)*)\s*(\|\s*(?:dump|tojson)\s*)?-?\}\}/g, (_, name, dump) => {
    const value = name.split('.').reduce((at, key) => at?.[key], input.vars);
    if (dump) return JSON.stringify(value);
    return value === undefined || value === null ? '' : String(value);
  });
}

// body is the body of a function for code on one line: it returns the last expression.
function body(code) {
  const trimmed = code.trim().replace(/;+\s*$/, '');
  if (!/^(const|let|var)\s/.test(trimmed)) return `return ${trimmed}`;
  const last = trimmed.lastIndexOf(';');
  const expression = trimmed.slice(last + 1).trim();
  return last >= 0 && expression ? `${trimmed.slice(0, last + 1)} return ${expression}` : trimmed;
}

function compiled(code, parameters, whole) {
  const run = new Function(...parameters, 'process', code.includes('\n') ? code : whole(code));
  return (...values) => run(...values, shimmed);
}

// load gives the function of a file: code that stood in the configuration is in checks/, any other file is a module of the author.
async function load(ref, parameters, whole) {
  const [file, name] = ref.split(':');
  if (file.startsWith('checks/')) return compiled(rendered(readFileSync(file, 'utf8')).trimEnd(), parameters, whole);
  const module = await loaded(pathToFileURL(path.resolve(file)));
  let found = name ? module[name] ?? module.default?.[name] : module.default ?? module;
  if (typeof found !== 'function' && typeof found?.default === 'function') found = found.default;
  if (typeof found !== 'function') throw new Error(`${ref} exports no function`);
  return found;
}

function promptText() {
  const contents = input.request?.contents ?? [];
  const text = (c) => (c.parts ?? []).map((p) => p.text ?? '').join('');
  return contents.length === 1 ? text(contents[0]) : JSON.stringify(contents.map((c) => ({ role: c.role, content: text(c) })));
}

// withCalls shows the tool calls of an answer in the form that promptfoo has for the target.
function withCalls(text) {
  const calls = (input.toolCalls ?? []).map(({ name, args: given = {} }, i) => ({ id: `call_${i}`, name, given, json: JSON.stringify(given) }));
  if (calls.length === 0) return text;
  const joined = (by, form) => [text, ...calls.map((call) => JSON.stringify(form(call)))].filter(Boolean).join(by);
  const message = (more) => ({ role: 'assistant', content: text, ...more });
  const ofFunction = { name: calls[0].name, arguments: calls[0].json };
  const ofTools = calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } }));
  switch (target.calls) {
    case 'anthropic': return joined('\n\n', ({ id, name, given }) => ({ type: 'tool_use', id, name, input: given }));
    case 'generative': return [...(text ? [{ text }] : []), ...calls.map(({ name, given }) => ({ functionCall: { name, args: given } }))];
    case 'responses': return joined('\n', ({ id, name, json }) => (json === '{}' ? { type: 'function_call', name, status: 'no_arguments_provided' }
      : { type: 'function_call', id, call_id: id, status: 'completed', name, arguments: json }));
    case 'function': return text ? message({ function_call: ofFunction }) : ofFunction;
    default: return text ? message({ tool_calls: ofTools }) : ofTools;
  }
}

function structured(text, any) {
  try {
    const value = JSON.parse(text);
    return any || (typeof value === 'object' && value !== null) ? value : text;
  } catch {
    return text;
  }
}

// gaveObject: of a shim, only what it marked with a tab was an object; a text that looks like one was a text.
const gaveObject = (output) => (target.json === 'marked' ? String(output).endsWith('\t') : target.json === true);

// What evalrun does not have is no answer to a check, which may be glad of nothing: reading it makes the trial an error, also where
// the check catches exceptions.
let absent = '';
const unasked = new Set(['then', 'toJSON', 'error', 'cached']);
const guarded = (name, has) => new Proxy(has, {
  get(of, key) {
    if (typeof key === 'symbol' || key in of || unasked.has(key)) return of[key];
    absent = `${name}.${key}`;
    throw new Error(`evalrun has no ${absent}`);
  },
});

const ofResponse = (change) => change.startsWith('checks/response') || change === target.response;

async function answer() {
  let output = withCalls(input.answer);
  const changes = [...(target.changes ?? []), ...(args.changes ?? [])];
  if (gaveObject(output) && !changes.some(ofResponse)) output = structured(output);
  const context = guarded('context', { vars: input.vars, prompt: { raw: promptText(), label: input.arm }, ...(response && { metadata: response.metadata }) });
  for (const ref of changes) {
    if (ofResponse(ref)) {
      const run = await load(ref, ['json', 'text', 'context'], responseBody);
      const made = await run(structured(input.answer), input.answer, context);
      output = made?.output ?? made;
      continue;
    }
    output = await (await load(ref, ['output', 'context'], (code) => `return ${code}`))(output, context);
    if (output === undefined || output === null) throw new Error(`the transform ${ref} returned nothing`);
  }
  return output;
}

function responseBody(code) {
  const trimmed = code.trim();
  return /^(async\s+)?(\(.*?\)\s*=>|\w+\s*=>|function\s*\(.*?\))/.test(trimmed) ? `return (${trimmed})(json, text, context);` : `return (${trimmed});`;
}

const asText = (output) => (typeof output === 'string' ? output : JSON.stringify(output));
const lower = (text) => String(text).toLowerCase();
// all splits a text at its commas, except in double quotes, where \" and "" stand for a quote.
function all(value) {
  if (Array.isArray(value)) return value;
  const found = [];
  const after = (text) => text.replace(/^[\s,]+/, '');
  for (let rest = after(String(value)); rest !== '';) {
    const m = /^"((?:\\["\\]|""|[^"\\]|\\[^"\\])*)"\s*(?:,|$)|^[^",][^,]*/.exec(rest);
    if (!m) throw new Error('a part in quotes does not end before a comma');
    found.push(m[1] === undefined ? m[0].trim() : m[1].replace(/\\(["\\])|"(")/g, '$1$2'));
    rest = after(rest.slice(m[0].length));
  }
  return found;
}

function jsonIn(text) {
  const found = [];
  for (let from = 0; from < text.length; from++) {
    if (text[from] !== '{') continue;
    for (let to = text.length; to > from; to--) {
      if (text[to - 1] !== '}') continue;
      try {
        found.push(JSON.parse(text.slice(from, to)));
        from = to;
        break;
      } catch { /* a shorter piece may be JSON */ }
    }
  }
  return found;
}

function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

const words = (text) => text.trim().split(/\s+/).filter(Boolean).length;

// The checks that promptfoo makes itself, for answers that the author's code changes first.
const checks = {
  equals: (text, value) => {
    if (typeof value !== 'object') return String(value) === text;
    try {
      return isDeepStrictEqual(value, JSON.parse(text));
    } catch {
      return false;
    }
  },
  contains: (text, value) => text.includes(String(value)),
  icontains: (text, value) => lower(text).includes(lower(value)),
  'contains-all': (text, value) => all(value).every((v) => text.includes(String(v))),
  'contains-any': (text, value) => all(value).some((v) => text.includes(String(v))),
  'icontains-all': (text, value) => all(value).every((v) => lower(text).includes(lower(v))),
  'icontains-any': (text, value) => all(value).some((v) => lower(text).includes(lower(v))),
  'starts-with': (text, value) => text.startsWith(String(value)),
  regex: (text, value) => new RegExp(value).test(text),
  'is-json': (text) => isJSON(text),
  'contains-json': (text) => jsonIn(text).length > 0,
  levenshtein: (text, value) => distance(text, String(value)) <= (args.threshold ?? 5),
  'word-count': (text, value) => (typeof value === 'object' ? words(text) >= (value.min ?? 0) && words(text) <= (value.max ?? Infinity)
    : words(text) === Number(value)),
};

// seeksNothing tells of checks that promptfoo refuses: a value that renders to nothing would fit any answer, others are no texts.
function seeksNothing(check, value) {
  switch (check) {
    case 'contains': case 'icontains': return !['string', 'number'].includes(typeof value) || value === '';
    case 'starts-with': case 'regex': return typeof value !== 'string' || value === '';
    case 'levenshtein': return typeof value !== 'string' || args.not === true; // it is not negated there
    case 'contains-all': case 'contains-any': case 'icontains-all': case 'icontains-any':
      return !(typeof value === 'string' || Array.isArray(value)) || all(value).length === 0 || all(value).includes('');
    case 'word-count': {
      const given = (typeof value === 'object' ? [value?.min, value?.max] : [value]).filter((v) => v !== undefined);
      return given.length === 0 || given.some((v) => String(v).trim() === '' || Number.isNaN(Number(v)));
    }
    default: return false;
  }
}

function verdict(result) {
  const not = args.not === true;
  if (typeof result === 'boolean') return { passed: result !== not, score: result !== not ? 1 : 0, reason: `the check returned ${result}` };
  if (Number.isFinite(result)) {
    const raw = args.threshold === undefined ? result > 0 : result >= args.threshold;
    return { passed: raw !== not, score: result, reason: `the check returned ${result}` };
  }
  if (typeof result?.pass === 'boolean' && Number.isFinite(result.score) && typeof result.reason === 'string') {
    return { passed: result.pass !== not, score: result.score, reason: result.reason };
  }
  return { passed: false, score: 0, reason: `the check returned ${JSON.stringify(result)}, which is no boolean, number or {pass, score, reason}` };
}

function write({ passed, score, reason }) {
  if (absent !== '') throw new Error(`the check reads ${absent}, which evalrun does not have`);
  let value = Number.isFinite(score) ? score : Number(passed);
  if (!args.weighed) value = Math.min(1, Math.max(0, value)); // a threshold would count what is cut off: evalrun refuses the score
  process.stdout.write(JSON.stringify({ score: value, passed, reason: String(reason ?? '').slice(0, 10000) }));
}

function inPython(output) {
  const run = spawnSync('python3', ['shims/assert.py', args.code ?? ''], { input: JSON.stringify({ ...input, output, response }), encoding: 'utf8', maxBuffer: 1 << 24 });
  if (run.status !== 0) {
    process.stderr.write(run.stderr ?? String(run.error));
    process.exit(1);
  }
  process.stdout.write(run.stdout);
}

// most judges a latency or a cost, which the author's provider may return itself.
function most(value) {
  if (typeof value !== 'number') throw new Error(`the provider returned no ${args.check}`);
  const passed = value <= args.threshold !== (args.not === true);
  write({ passed, score: passed ? 1 : 0, reason: `a ${args.check} of ${value}, and the threshold is ${args.threshold}` });
}

// inPythonOf has a provider in Python reply, in its own shim.
function inPythonOf({ file, name, id, settings }, prompt, vars) {
  const options = [...(name ? ['--function', name] : []), ...(settings ? ['--config', settings] : []), '--id', id];
  const run = spawnSync('python3', ['shims/provider.py', file, ...options], { input: JSON.stringify({ prompt, vars }), encoding: 'utf8', maxBuffer: 1 << 24 });
  if (run.status !== 0) throw new Error(run.stderr || String(run.error));
  const { text, error } = JSON.parse(run.stdout);
  return { output: text, error };
}

// grade has a provider of the author judge an answer by a rubric. A reply without a verdict is an error.
async function grade(output) {
  const { file, name, id, settings } = args.grader;
  const options = { id, config: settings ? JSON.parse(readFileSync(settings, 'utf8'), filled) : {} };
  const prompt = JSON.stringify([
    { role: 'system', content: 'You grade an output by a rubric. Reply with a JSON object: {"reason": text, "pass": boolean, "score": number from 0 to 1}' },
    { role: 'user', content: `<output>\n${asText(output)}\n</output>\n<rubric>\n${args.value}\n</rubric>` },
  ]);
  const vars = { ...input.vars, output, rubric: args.value };
  let reply;
  if (file.endsWith('.py')) {
    reply = inPythonOf(args.grader, prompt, vars);
  } else {
    const grader = await providerOf(pathToFileURL(path.resolve(file)), name, options);
    reply = await grader.callApi(prompt, { vars, prompt: { raw: prompt, label: 'llm-rubric' } }, options);
  }
  if (reply?.error || !reply?.output) throw new Error(`the judge gave no reply: ${reply?.error ?? ''}`);
  const verdict = typeof reply.output === 'string' ? jsonIn(reply.output)[0] : reply.output;
  if (typeof verdict !== 'object' || verdict === null) throw new Error('the reply of the judge has no JSON object');
  let { pass = true, score } = verdict;
  if (typeof pass !== 'boolean') pass = /^(true|yes|pass|y)$/i.test(String(pass));
  if (typeof score !== 'number') score = Number.isFinite(Number(score)) ? Number(score) : Number(pass);
  if (args.threshold !== undefined) pass = pass && score >= args.threshold;
  return write({ passed: pass !== (args.not === true), score, reason: verdict.reason });
}

async function main() {
  if (args.check === 'latency') return most(response?.latencyMs ?? input.timing?.latencyMs);
  if (args.check === 'cost') return most(response?.cost);
  if (seeksNothing(args.check, args.value)) throw new Error(`\`${args.check}\` has no value to look for that promptfoo takes`);
  let check;
  if (args.check === 'javascript') {
    check = args.source ? compiled(args.source.trimEnd(), ['output', 'context'], body) : await load(args.code, ['output', 'context'], body);
  }
  let output;
  try {
    output = await answer();
  } catch (error) {
    write({ passed: false, score: 0, reason: `the transform of the answer failed: ${error.message}` });
    return;
  }
  if (args.grader) return grade(output);
  if (args.check === 'python') return inPython(output);
  const context = guarded('context', {
    prompt: promptText(), vars: input.vars,
    test: guarded('context.test', { vars: input.vars, description: input.case, options: {}, ...(args.metadata && { metadata: args.metadata }) }),
    provider: { id: () => input.arm.split('/')[0] }, config: args.config,
    providerResponse: response ? { ...response, output } : guarded('context.providerResponse', {
      output, raw: input.answer, finishReason: input.finishReason, tokenUsage: {
        total: input.usage?.totalTokens, prompt: input.usage?.promptTokens, completion: input.usage?.outputTokens } }),
    ...(response && { metadata: response.metadata, logProbs: response.logProbs }),
  });
  try {
    write(verdict(check ? await check(output, context) : checks[args.check](asText(output), args.value)));
  } catch (error) {
    write({ passed: false, score: 0, reason: `the check failed: ${error.message}` });
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
