// Writes the suites and answers whose JUnit files are read: usage: node make.mjs HOSTILE.json
import fs from 'node:fs'

const hostile = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))
const suite = (name, cases, more = {}) => fs.writeFileSync(`${name}.yaml`, JSON.stringify({
  version: 1, name, targets: [{ name: 'pro', model: 'svc-pro' }, { name: 'warm', model: 'svc-pro' }], prompts: [{ name: 'p', text: 'ask {{.q}}' }],
  cases: cases.map((c, i) => ({ vars: { q: `${i}` }, ...c })), ...more
}))
const good = [{ contains: 'ask' }]
const bad = [{ equals: 'no' }]
const quarantine = { reason: 'known to be broken', owner: 'me', until: '2999-01-01' }

suite('mixed', [
  { name: 'passes', scorers: good }, { name: 'fails', scorers: bad }, { name: 'errs', scorers: good, vars: { q: 'BROKEN' } },
  { name: 'fails in quarantine', scorers: bad, quarantine }, { name: 'flaky', repeats: 3, scorers: bad }, { name: 'only warm', arms: ['warm/p'], scorers: good }
])
fs.writeFileSync('mixed-script.yaml', JSON.stringify({ rules: [{ match: { text: '*BROKEN*' }, faults: [{ status: 400 }] }] }))
suite('passes', [{ name: 'one', scorers: good }])
suite('gate', [{ name: 'one', scorers: good }], { gate: { latency: { p95: '1us' } } })
suite('skips', ['a', 'b', 'c'].map(name => ({ name, scorers: good, quarantine })))

// Every hostile text is an answer, and, as far as a name is one line, the name of a case.
const names = new Set()
const cases = []
const answers = []
hostile.forEach((text, i) => {
  let name = text.replace(/[\p{C}\p{Z}]+/gu, ' ').replaceAll('{{', '{ {').trim().slice(0, 200)
  if (name === '' || names.has(name)) name = `text ${i}`
  names.add(name)
  cases.push({ name, scorers: [{ equals: i % 2 ? 'no' : '{{.q}}' }], arms: ['pro/p'] })
  answers.push(JSON.stringify({ case: name, text }))
})
suite('hostile', cases)
fs.writeFileSync('answers.jsonl', answers.join('\n') + '\n')
