// Runs a JavaScript provider of promptfoo as a program under test: evalrun writes the prompt as JSON to standard input and reads
// {"text", "usage"} or {"error"} from standard output. A tab after the text marks an object, for transforms and assertions. The
// author's code runs unchanged.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { exported, given, loaded, retype } from './common.mjs';

const [file, ...rest] = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
const input = await given();
retype(input.vars, existsSync('shims/typed.json') ? JSON.parse(readFileSync('shims/typed.json', 'utf8')) : []);
console.log = console.info = console.debug = (...words) => console.error(...words); // standard output is for the answer

function usage(tokens) {
  if (!tokens) return undefined;
  return { inputTokens: tokens.prompt, outputTokens: tokens.completion, totalTokens: tokens.total };
}

async function provider(options) {
  const module = await loaded(pathToFileURL(path.resolve(file)));
  const name = option('--function');
  const found = exported(module, name);
  if (typeof found?.callApi === 'function') return found;
  if (typeof found !== 'function') throw new Error(`${file} exports no provider`);
  if (found.prototype && typeof found.prototype.callApi === 'function') return new found(options);
  const made = name ? undefined : Reflect.construct(found, [options]);
  return typeof made?.callApi === 'function' ? made : { callApi: found };
}

// filled replaces ${env:NAME} by the variable of the environment, which holds a secret that the import did not copy.
function filled(_, value) {
  if (typeof value !== 'string') return value;
  return value.replace(/\$\{env:(\w+)\}/g, (_, name) => {
    if (!process.env[name]) throw new Error(`set ${name}`);
    return process.env[name];
  });
}

async function main() {
  const config = option('--config') ? JSON.parse(readFileSync(option('--config'), 'utf8'), filled) : {};
  const options = { id: option('--id'), config };
  const context = { vars: input.vars, prompt: { raw: input.prompt, label: '' }, originalProvider: { id: () => options.id }, logger: console };
  const result = await (await provider(options)).callApi(input.prompt, context, options);
  if (result?.error) return { error: String(result.error) };
  const output = typeof result === 'string' ? result : result?.output;
  if (output === undefined || output === null) return { error: 'the provider returned no output' };
  const { output: _, ...details } = typeof result === 'string' ? {} : result;
  const toolCalls = rest.includes('--details') ? [{ name: 'promptfoo.response', args: details }] : undefined;
  return { text: typeof output === 'string' ? output : `${JSON.stringify(output)}\t`, usage: usage(result.tokenUsage), toolCalls };
}

main().then((answer) => process.stdout.write(JSON.stringify(answer), () => process.exit(0)), (error) => {
  console.error(error.stack ?? error);
  process.exit(1);
});
