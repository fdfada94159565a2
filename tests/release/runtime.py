# SPDX-License-Identifier: GPL-3.0-or-later
"""ONNX Runtime on tensors of any name, type and layout; ort.js names files by tensors, and two names may clean to one."""
import json
from pathlib import Path

import numpy
from models import run

PROGRAM = """const fs = require('fs'), ort = require(process.argv[1] + '/node_modules/onnxruntime-node');
const kinds = {float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array, uint64: BigUint64Array, int32: Int32Array,
               uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array};
async function answer(job) {
    const session = await ort.InferenceSession.create(job.model, {executionProviders: ['cpu'], graphOptimizationLevel: job.level, logSeverityLevel: 4});
    const feeds = {};
    for (const input of job.inputs.filter(input => session.inputNames.includes(input.name))) {
        const bytes = fs.readFileSync(input.file);
        feeds[input.name] = new ort.Tensor(input.type, new kinds[input.type](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), input.shape);
    }
    const found = await session.run(feeds);
    return session.outputNames.map((name, i) => {
        const value = found[name], file = job.folder + '/raw_' + i;
        fs.writeFileSync(file, Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength));
        return {name, file, type: value.type, shape: value.dims};
    });
}
(async () => {
    const job = JSON.parse(fs.readFileSync(process.argv[2]));
    process.stdout.write(JSON.stringify(await answer(job)));
})().catch(error => { console.error(String(error)); process.exit(1); });"""


def answers(options, model, inputs, folder, level="disabled"):
    """The outputs of a model file by name, for inputs by name. Inputs that the model does not ask for are left out; the folder is for files of this call."""
    job = {"model": str(model), "folder": str(folder), "level": level, "inputs": []}
    for i, (name, values) in enumerate(inputs.items()):
        file = Path(folder, f"in_{i}")
        file.write_bytes(values.tobytes())
        job["inputs"].append({"name": name, "file": str(file), "type": values.dtype.name, "shape": values.shape})
    Path(folder, "job.json").write_text(json.dumps(job))
    reply = json.loads(run(["node", "-e", PROGRAM, Path(options.ort).resolve(), Path(folder, "job.json")]))
    return {output["name"]: numpy.frombuffer(Path(output["file"]).read_bytes(), output["type"]).reshape(output["shape"]) for output in reply}
