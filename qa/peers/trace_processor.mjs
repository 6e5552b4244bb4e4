#!/usr/bin/env node
// Asks Perfetto's own reader, without a network: trace_processor.mjs FOLDER TRACE SQL... prints a line of JSON for each row.
// FOLDER: what qa/fetch perfetto prints. Exit status 1: the trace or a statement was refused.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [folder, trace, ...queries] = process.argv.slice(2);
const { EngineBase } = await import(pathToFileURL(resolve(folder, 'engine.mjs')).href);
// The glue was made for a worker of a browser.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
Object.defineProperty(globalThis, 'location', { value: { href: pathToFileURL(resolve(folder)).href + '/' }, configurable: true });
globalThis.__wasm = new Uint8Array(readFileSync(join(folder, 'trace_processor.wasm')));
let glue = readFileSync(join(folder, 'engine_bundle.node.js'), 'utf8');
for (const [from, to] of [
  ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
  ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.__wasm,'],
  ['const wasmBridge = new wasm_bridge_1.WasmBridge();', 'const wasmBridge = new wasm_bridge_1.WasmBridge(); globalThis.__bridge = wasmBridge;'],
]) {
  if (!glue.includes(from)) throw new Error('another version of the glue: ' + from);
  glue = glue.replace(from, to);
}
const warn = console.warn;
console.warn = (...a) => { if (!/Unexpected QueryResult field/.test(String(a[0]))) warn(...a); };
vm.runInThisContext(glue);
const channel = new MessageChannel();
globalThis.__bridge.initialize(channel.port1);
class Engine extends EngineBase {
  mode = 'WASM'; id = 'offline';
  constructor(port) { super(); this.port = port; port.onmessage = (m) => { if (m.data instanceof Uint8Array) this.onRpcResponseBytes(m.data); }; }
  rpcSendRequestBytes(data) { this.port.postMessage(data); }
}
const engine = new Engine(channel.port2);
await new Promise((r) => setTimeout(r, Number(process.env.TP_INIT_MS || 1500)));
const bytes = new Uint8Array(readFileSync(trace));
let status = 0;
try {
  for (let at = 0; at < bytes.length; at += 4 << 20) await engine.parse(bytes.subarray(at, at + (4 << 20)));
  await engine.notifyEof();
  for (const sql of queries) {
    const result = await engine.query(sql);
    if (result.error()) throw new Error(result.error());
    const columns = result.columns();
    for (const it = result.iter({}); it.valid(); it.next()) {
      const row = {};
      for (const c of columns) { const v = it.get(c); row[c] = typeof v === 'bigint' ? String(v) : v; }
      console.log(JSON.stringify(row));
    }
  }
} catch (error) {
  console.error('trace processor: ' + error.message);
  status = 1;
}
process.exit(status);
