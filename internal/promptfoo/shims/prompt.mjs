// Runs a prompt function of promptfoo in JavaScript as a program that writes prompts: evalrun writes {"vars", "target"} to standard
// input and reads {"system", "turns", "tools"} from standard output. The author's code in code/ runs unchanged, in that folder.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { exported, given, loaded, retype } from './common.mjs';

const [file, ...rest] = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
const read = (name, missing) => (name && existsSync(name) ? JSON.parse(readFileSync(name, 'utf8')) : missing);
const input = await given();
if (input.vars.notImported) { // a case that is only an error
  console.log('not imported');
  process.exit();
}
console.log = console.info = console.debug = (...words) => console.error(...words); // standard output is for the prompt

const target = read('shims/targets.json', {})[input.target.name] ?? {};
const config = read(option('--config'), {});
retype(input.vars, read('shims/typed.json', []));
const author = pathToFileURL(path.resolve(file));
process.chdir(option('--folder') ?? 'code');

// provider has an id that is a function, as in promptfoo, and reads as a text too.
const id = Object.assign(() => target.id ?? '', { toString: () => target.id ?? '', toJSON: () => target.id ?? '' });

async function made() {
  const module = await loaded(author);
  const name = option('--function');
  const found = exported(module, name);
  if (typeof found !== 'function') throw new Error(`${file} exports no function`);
  return found({ vars: input.vars, provider: { id, label: target.label }, config });
}

const variable = /\{\{-?\s*(\w+(?:\.\w+)*)\s*(\|\s*(?:dump|tojson|safe)\s*)?-?\}\}/g;

// rendered fills in variables, as promptfoo does in what the function returns.
function rendered(text) {
  if (/\{\{|\{%|\{#/.test(text.replace(variable, ''))) {
    throw new Error(`the prompt has a template that the shim cannot fill in; fill it in by the function: ${text.slice(0, 200)}`);
  }
  return text.replace(variable, (tag, name, filter) => {
    const value = name.split('.').reduce((at, key) => at?.[key], input.vars);
    if (filter && !filter.includes('safe')) return JSON.stringify(value ?? null);
    if (value !== null && typeof value === 'object') {
      throw new Error(`the prompt has the template ${tag} of a list or a mapping; return its text`);
    }
    return value === undefined || value === null ? '' : String(value);
  });
}

const roles = { user: 'user', assistant: 'model', model: 'model', system: 'system', developer: 'system' };
const excerpt = (value) => JSON.stringify(value)?.slice(0, 200);

function content(message) {
  if (typeof message.content === 'string') return rendered(message.content);
  const parts = Array.isArray(message.content) ? message.content : [{}];
  if (parts.some((part) => part.type !== 'text' && part.type !== 'input_text')) {
    throw new Error(`a message has a part that is no text; name the file in a prompt of the suite: ${excerpt(message.content)}`);
  }
  return parts.map((part) => ({ text: rendered(part.text) }));
}

const partsOf = (body) => (typeof body === 'string' ? [{ text: body }] : body);

function chat(messages) {
  const system = [];
  const turns = [];
  for (const message of messages) {
    let role = roles[message.role];
    if (!role || message.tool_calls) throw new Error(`a message has no counterpart in a suite: ${excerpt(message)}`);
    const body = content(message);
    if (role === 'system' && turns.length === 0 && typeof body === 'string') {
      system.push(body);
      continue;
    }
    if (role === 'system') role = 'user';
    const last = turns.at(-1);
    if (!last || !(role in last)) turns.push({ [role]: body });
    else if (typeof last[role] === 'string' && typeof body === 'string') last[role] += `\n\n${body}`;
    else last[role] = [...partsOf(last[role]), ...partsOf(body)];
  }
  if (turns.length === 0) return { turns: [{ user: system.join('\n\n') }] };
  if ('model' in turns.at(-1)) throw new Error('the chat ends with a message of the assistant, and the user has the last one');
  return { system: system.length > 0 ? system.join('\n\n') : undefined, turns };
}

const isChat = (value) => Array.isArray(value) && value.length > 0 && value.every((m) => m && typeof m === 'object' && 'role' in m && 'content' in m);

// plain returns a prompt that is no chat. promptfoo fills in the texts of JSON one by one.
function plain(result) {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return rendered(text);
  }
  return JSON.stringify(value, (_, at) => (typeof at === 'string' ? rendered(at) : at), 2);
}

function parsed(text) {
  if (/^\s*- role:/.test(text)) throw new Error('the function returns a chat in YAML; return the list itself');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function main() {
  let result = await made();
  let tools;
  if (result && typeof result === 'object' && !Array.isArray(result) && 'prompt' in result) {
    for (const [name, value] of Object.entries((target.chat && result.config) || {})) { // applications have no settings
      if (name !== 'tools') throw new Error(`the function sets \`${name}\`, a setting of the provider, which belongs to a target here`);
      tools = value.map(({ function: { name, description, parameters } }) => ({ name, description, parameters }));
    }
    result = result.prompt;
  }
  if (result === undefined || result === null) throw new Error('the function returned no prompt');
  const messages = target.chat && typeof result === 'string' ? parsed(result) : result;
  if (target.chat && isChat(messages)) return { ...chat(messages), tools };
  return { turns: [{ user: plain(result) }], tools };
}

main().then((prompt) => process.stdout.write(JSON.stringify(prompt), () => process.exit(0)), (error) => {
  console.error(error.stack ?? error);
  process.exit(1);
});
