// SPDX-License-Identifier: GPL-3.0-or-later
// Times ONNX Runtime in blocks, one for each line of input: the line says for how many seconds, the answer is a JSON list of ms.
// node ort_blocks.js MODEL THREADS INPUTS; INPUTS is a JSON file [{name, type, dims, file}] with raw little-endian values.
const fs = require('fs'), ort = require('onnxruntime-node');
const arrays = {float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array};
(async () => {
  const [model, threads, inputs] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'], intraOpNumThreads: +threads, interOpNumThreads: 1,
    executionMode: 'sequential', graphOptimizationLevel: 'all', logSeverityLevel: 3});
  const feeds = {};
  for (const input of JSON.parse(fs.readFileSync(inputs))) {
    const bytes = fs.readFileSync(input.file);
    const values = new arrays[input.type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    feeds[input.name] = new ort.Tensor(input.type, values, input.dims);
  }
  for (let i = 0; i < 3; ++i) await session.run(feeds);
  console.log('ready');
  for await (const line of require('readline').createInterface({input: process.stdin})) {
    const end = performance.now() + 1000 * +line, times = [];
    do {
      const begin = performance.now();
      await session.run(feeds);
      times.push(performance.now() - begin);
    } while (performance.now() < end);
    console.log(JSON.stringify(times));
  }
})().catch(problem => { console.error(String(problem)); process.exit(1); });
