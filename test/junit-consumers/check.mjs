// What the readers of JUnit files that run on Node count in each file, beside what the JSON report says.
import fs from 'node:fs'
import { execFileSync } from 'node:child_process'
import xml2js from 'xml2js'
import xmljs from 'xml-js'
import parse from 'xunit-viewer/src/cli/parse.js'
import { convertJUnitToCTRFReport } from 'junit-to-ctrf'

const list = x => x === undefined ? [] : Array.isArray(x) ? x : [x]
const tally = cases => {
  const out = { tests: 0, failed: 0, skipped: 0 }
  for (const outcome of cases) {
    out.tests++
    if (outcome in out) out[outcome]++
  }
  return out
}

const readers = {
  // Both of these tell failures from errors.
  'xunit-viewer': async (xml) => {
    const tests = Object.values((await parse(xml)).suites).flatMap(s => Object.values(s.tests))
    const n = status => tests.filter(t => t.status === status).length
    return { tests: tests.length, failures: n('failure'), errors: n('error'), skipped: n('skipped') }
  },
  'junit-to-ctrf': async (_, file) => {
    const s = (await convertJUnitToCTRFReport(file))?.results.summary ?? { tests: 0, failed: 0, skipped: 0 }
    return { tests: s.tests, failed: s.failed, skipped: s.skipped }
  },
  // The command guesses the encoding of the file before it reads it.
  'xunit-viewer, its command': async (_, file) => {
    const said = execFileSync('node', ['node_modules/xunit-viewer/bin/xunit-viewer.js', '-r', file, '-c', '-n']).toString()
    const counts = said.match(/^\d+ (skipped|error|passed|failure)(, \d+ \w+)*$/m)?.[0] ?? ''
    const n = word => Number(counts.match(new RegExp(`(\\d+) ${word}`))?.[1] ?? 0)
    return { failures: n('failure'), errors: n('error'), skipped: n('skipped') }
  },
  // The next two are actions, in no registry: the file goes through the XML library that each uses, and a case is judged by its rules.
  'dorny/test-reporter': async (xml) => {
    const { testsuites } = await xml2js.parseStringPromise(xml)
    return tally((testsuites.testsuite ?? []).flatMap(s => {
      s.$.name.trim() // it wants every suite and case to have names
      return (s.testcase ?? []).map(c => c.$.name.trim() === undefined || c.failure || c.error ? 'failed' : c.skipped ? 'skipped' : 'success')
    }))
  },
  'mikepenz/action-junit-report': async (xml) => {
    const report = JSON.parse(xmljs.xml2json(xml, { compact: true }))
    return tally(list(report.testsuites.testsuite).flatMap(s => list(s.testcase)).map(c => c.skipped ? 'skipped' : c.failure || c.error ? 'failed' : 'success'))
  }
}

let wrong = 0
for (const name of process.argv.slice(2)) {
  const { tests, failures, errors, skipped } = JSON.parse(fs.readFileSync(`${name}.json`, 'utf8')).summary.cases
  const want = { tests, failures, errors, skipped, failed: failures + errors }
  console.log(`${name}: ${JSON.stringify(want)}`)
  for (const [reader, count] of Object.entries(readers)) {
    const got = await count(fs.readFileSync(`${name}.xml`, 'utf8'), `${name}.xml`)
    const same = Object.keys(got).every(key => got[key] === want[key])
    console.log(`  ${same ? 'ok' : 'WRONG'} ${reader} ${same ? '' : JSON.stringify(got)}`)
    if (!same) wrong++
  }
}
process.exit(wrong ? 1 : 0)
