// SPDX-License-Identifier: GPL-3.0-or-later
// Computes models with ONNX Runtime. node run_models.js CASES: a JSON file [{model, feeds: [{name, type, dims, data}]}]; for each case a line of
// JSON, [{name, dims, data}] or {error}.
const fs = require('fs'), ort = require('onnxruntime-node');
const arrays = {float32: Float32Array, int64: BigInt64Array, bool: Uint8Array};
(async () => {
  for (const {model, feeds} of JSON.parse(fs.readFileSync(process.argv[2]))) {
    try {
      const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3});
      const given = {};
      for (const {name, type, dims, data} of feeds)
        given[name] = new ort.Tensor(type, arrays[type].from(type === 'int64' ? data.map(BigInt) : data), dims);
      const results = await session.run(given);
      console.log(JSON.stringify(session.outputNames.map(name => ({name, dims: results[name].dims, data: Array.from(results[name].data, Number)}))));
    } catch (problem) {
      console.log(JSON.stringify({error: String(problem.message)}));
    }
  }
})();
