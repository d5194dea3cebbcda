// Runs a JavaScript provider of promptfoo as a program under test: evalrun writes the prompt as JSON to standard input and reads
// {"text", "usage"} or {"error"} from standard output. A tab after the text marks an object, for transforms and assertions. The
// author's code runs unchanged.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { filled, given, providerOf, retype } from './common.mjs';

const [file, ...rest] = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : undefined);
const input = await given();
retype(input.vars, existsSync('shims/typed.json') ? JSON.parse(readFileSync('shims/typed.json', 'utf8')) : []);
console.log = console.info = console.debug = (...words) => console.error(...words); // standard output is for the answer

function usage(tokens) {
  if (!tokens) return undefined;
  return { inputTokens: tokens.prompt, outputTokens: tokens.completion, totalTokens: tokens.total };
}

async function main() {
  const config = option('--config') ? JSON.parse(readFileSync(option('--config'), 'utf8'), filled) : {};
  const options = { id: option('--id'), config };
  const context = { vars: input.vars, prompt: { raw: input.prompt, label: '' }, originalProvider: { id: () => options.id }, logger: console };
  const provider = await providerOf(pathToFileURL(path.resolve(file)), option('--function'), options);
  const result = await provider.callApi(input.prompt, context, options);
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
