// What an editor completes, inserts and shows in a suite. Every form that is inserted for a scorer makes a suite that evalrun takes.
import {execFileSync} from 'node:child_process'
import {writeFileSync} from 'node:fs'
import {connect} from './server.mjs'

const bin = process.argv[2]
const before = `version: 1
name: x
targets: [{name: a, model: m, stream: true}]
judges: [{name: j, model: m}]
prices: prices.yaml
prompts: [{name: p, text: hi}]
cases:
  - name: c
    scorers:
`
writeFileSync('prices.yaml', 'currency: USD\nmodels: {m: {input: 1, output: 1}}\n')
const server = await connect('suite.schema.json')
let problems = 0
const want = (what, ok, got) => {
  if (ok) return
  problems++
  console.error(`${what}: got ${JSON.stringify(got)}`)
}
const complete = async text => new Map((await server.complete(before + text)).map(i => [i.label, i.insertText]))

const kinds = JSON.parse(execFileSync(bin, ['scorers', '-o', 'json'])).map(k => k.kind)
const options = ['ignoreCase', 'trim', 'normalize']
const empty = await complete('      - ')
want('kinds of an empty scorer', kinds.every(k => empty.has(k)), [...empty.keys()])
const one = await complete('      - contains: Paris\n        ')
want('options next to a kind', options.every(o => one.has(o)) && one.has('threshold'), [...one.keys()])
want('kinds next to a kind', !kinds.some(k => one.has(k)), [...one.keys()])
const other = await complete('      - latency: 2s\n        ')
want('options of other kinds', !options.some(o => other.has(o)), [...other.keys()])

// inserted is the text of a snippet as an editor writes it: its fields filled with what they suggest, and lines indented as the first.
const inserted = (snippet, indent) => snippet
  .replace(/\$\{\d+:((?:\\.|[^}\\])*)\}/g, '$1').replace(/\$\d+/g, 'x').replace(/\\([\\$}])/g, '$1').replaceAll('\n', '\n' + indent)
for (const kind of kinds) {
  const snippet = empty.get(kind) ?? ''
  want(`${kind} inserts no form`, !snippet.includes('[object'), snippet)
  if (!snippet.trim().endsWith(':')) { // a key whose argument is completed next
    const suite = before + '      - ' + inserted(snippet, '      ').replace('./check.sh', 'sh') + '\n'
    writeFileSync('suite.yaml', suite)
    try {
      execFileSync(bin, ['validate', 'suite.yaml'], {stdio: 'pipe'})
    } catch (e) {
      want(`evalrun of the form of ${kind}`, false, [snippet, String(e.stderr) + e.stdout])
    }
  }
}
for (const kind of ['all', 'any', 'toolCalls', 'json']) want(`the form of ${kind}`, /:\n {4}\S/.test(empty.get(kind)), empty.get(kind))

for (const [text, key] of [['ver|sion: 1\n', 'version'], [before + '      - con|tains: Paris\n', 'contains'],
  [before + '      - length: {words: {m|ax: 5}}\n', 'max'], ['gate: {pass|Rate: {min: 1}}\n', 'passRate']]) {
  const shown = await server.hover(text)
  want(`hover of ${key}`, shown.startsWith(`#### ${key}\n`), shown)
}
server.close()
if (problems > 0) process.exit(1)
console.log(`${kinds.length} kinds complete to forms, options follow kinds, and hover names keys`)
