// A client of the language server: JSON-RPC over standard input and output.
import {spawn} from 'node:child_process'
import {pathToFileURL} from 'node:url'

export async function connect(schema) {
  const server = spawn(process.execPath, ['node_modules/yaml-language-server/bin/yaml-language-server', '--stdio'], {stdio: ['pipe', 'pipe', 'inherit']})
  const waiting = new Map()
  let read = Buffer.alloc(0), last = 0, documents = 0
  const send = message => {
    const text = JSON.stringify({jsonrpc: '2.0', ...message})
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const ask = (method, params) => new Promise((resolve, reject) => {
    waiting.set(++last, m => m.error ? reject(new Error(m.error.message)) : resolve(m.result))
    send({id: last, method, params})
  })
  const settings = {validate: true, completion: true, hover: true, schemaStore: {enable: false}}
  const take = message => {
    if (message.method && message.id !== undefined) {
      const asked = message.method === 'workspace/configuration' ? message.params.items : []
      send({id: message.id, result: asked.map(i => i.section === 'yaml' ? settings : null)})
    } else if (waiting.has(message.id)) {
      waiting.get(message.id)(message)
      waiting.delete(message.id)
    }
  }
  server.stdout.on('data', data => {
    read = Buffer.concat([read, data])
    for (;;) {
      const end = read.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/Content-Length: (\d+)/i.exec(read.subarray(0, end))[1])
      if (read.length < end + 4 + length) return
      take(JSON.parse(read.subarray(end + 4, end + 4 + length)))
      read = read.subarray(end + 4 + length)
    }
  })
  await ask('initialize', {
    processId: process.pid, rootUri: null,
    capabilities: {
      workspace: {configuration: true},
      textDocument: {completion: {completionItem: {snippetSupport: true, documentationFormat: ['markdown']}}, hover: {contentFormat: ['markdown']}},
    },
  })
  send({method: 'initialized', params: {}})

  // at opens a suite and asks about the place of the bar, or the end of the text.
  const at = (method, marked) => {
    const text = `# yaml-language-server: $schema=${pathToFileURL(schema)}\n${marked}`
    const place = text.includes('|') ? text.indexOf('|') : text.length
    const lines = text.slice(0, place).split('\n')
    const uri = pathToFileURL(`${++documents}.yaml`).href
    send({method: 'textDocument/didOpen', params: {textDocument: {uri, languageId: 'yaml', version: 1, text: text.replace('|', '')}}})
    return ask(method, {textDocument: {uri}, position: {line: lines.length - 1, character: lines.at(-1).length}})
  }
  return {
    complete: async text => {
      const found = await at('textDocument/completion', text)
      return found.items ?? found
    },
    hover: async text => (await at('textDocument/hover', text)).contents.value,
    close: () => server.kill(),
  }
}
