#!/usr/bin/env node
// Starts the program of this platform, which a package beside this one has.
'use strict'
const {spawn} = require('child_process')
const {constants} = require('os')

const name = `@evalrun/${process.platform}-${process.arch}`
let program
try {
  program = require.resolve(`${name}/bin/evalrun${process.platform === 'win32' ? '.exe' : ''}`)
} catch {
  console.error(`evalrun: there is no package ${name}: install with optional dependencies, or take an archive for this platform`)
  process.exit(2)
}
const child = spawn(program, process.argv.slice(2), {stdio: 'inherit'})
// A terminal interrupts both programs; all else ends this one alone.
process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', problem => {
  console.error(`evalrun: ${problem.message}`)
  process.exit(2)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
