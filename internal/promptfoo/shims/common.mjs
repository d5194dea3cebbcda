// What the shims in JavaScript share.
import { Buffer } from 'node:buffer';
import process from 'node:process';

// given reads standard input, which may be a pipe that has nothing yet.
export async function given() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

// retype parses variables that were numbers or booleans: a suite has them as texts.
export function retype(vars, names) {
  for (const name of names) {
    if (typeof vars?.[name] !== 'string') continue;
    try {
      vars[name] = JSON.parse(vars[name]);
    } catch { /* a spelling that is not one of JSON stays a text */ }
  }
}

// loaded imports a file of the author.
export async function loaded(url) {
  if (/\.[mc]?ts$/.test(url.pathname) && !process.features.typescript) {
    throw new Error(`${url.pathname} is TypeScript, which node runs from 22.18 on, and this is ${process.version}: use a newer one, or compile it`);
  }
  return import(url);
}

// providerOf makes the provider that a module exports, as a class, a function, or an object.
export async function providerOf(url, name, options) {
  const found = exported(await loaded(url), name);
  if (typeof found?.callApi === 'function') return found;
  if (typeof found !== 'function') throw new Error(`${url.pathname} exports no provider`);
  if (found.prototype && typeof found.prototype.callApi === 'function') return new found(options);
  const made = name ? undefined : Reflect.construct(found, [options]);
  return typeof made?.callApi === 'function' ? made : { callApi: found };
}

// filled replaces ${env:NAME} by the variable of the environment, which holds a secret that the import did not copy.
export function filled(_, value) {
  if (typeof value !== 'string') return value;
  return value.replace(/\$\{env:(\w+)\}/g, (_, name) => {
    if (!process.env[name]) throw new Error(`set ${name}`);
    return process.env[name];
  });
}

// exported is what a module exports under a name; without one, its default.
export function exported(module, name) {
  const found = name ? module[name] ?? module.default?.[name] : module.default ?? module;
  return typeof found?.default === 'function' ? found.default : found;
}
