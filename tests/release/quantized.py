# SPDX-License-Identifier: GPL-3.0-or-later
"""Float and quantised models, and both as ONNX Runtime saves them at level extended, in every way that we compute them against ONNX Runtime.

Writes samples of ours, quantises copies of them (vision models by QuantizeLinear and DequantizeLinear around every operator, the encoder by
DynamicQuantizeLinear and MatMulInteger), and has ONNX Runtime fuse each. Prints the operators of com.microsoft in each, and the largest errors
as agreement.py does, of which a quantised model may have more: a byte that falls to the other side of a tie is seen. Needs Debian's python3-onnx."""
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy
import onnx
from models import Case, arguments, file_name, run
from onnx import helper, numpy_helper
from ways import WAYS, row

SAVE = """const ort = require(process.argv[1] + '/node_modules/onnxruntime-node');
ort.InferenceSession.create(process.argv[2], {executionProviders: ['cpu'], graphOptimizationLevel: process.argv[4],
optimizedModelFilePath: process.argv[3], logSeverityLevel: 3}).catch(e => {console.error(String(e)); process.exit(1);});"""


def save(options, source, target, level):
    run(["node", "-e", SAVE, Path(options.ort).resolve(), source, target, level])


def constants(model):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def with_outputs(model, names):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for name in names:
        copy.graph.output.append(helper.make_empty_tensor_value_info(name))
    return copy


def ranges(options, model, work):
    """The smallest and the largest number of every value on one input."""
    names = [name for node in model.graph.node for name in node.output if name and name not in {o.name for o in model.graph.output}]
    onnx.save(with_outputs(model, names), str(work / "ranges.onnx"))
    run(["node", Path(options.ort) / "ort.js", "run", work / "ranges.onnx", "--out", work / "ranges"])
    found = {}
    for prefix, tensors in (("in.", model.graph.input), ("out.", [])):
        for tensor in tensors:
            values = numpy.load(work / "ranges" / (prefix + file_name(tensor.name)))
            found[tensor.name] = (float(values.min()), float(values.max()))
    for name in names + [o.name for o in model.graph.output]:
        values = numpy.load(work / "ranges" / ("out." + file_name(name)))
        if values.dtype.kind == "f" and values.size:
            found[name] = (float(values.min()), float(values.max()))
    return found


class Quantizer:
    def __init__(self, model):
        self.model, self.values, self.nodes, self.made, self.scales = model, constants(model), [], {}, {}

    def constant(self, name, values):
        self.model.graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    def pair(self, name, scale, zero):
        """The value through bytes and back."""
        if name not in self.made:
            inputs = [self.constant(name + ".scale", numpy.float32(scale)), self.constant(name + ".zero", zero)]
            self.nodes.append(helper.make_node("QuantizeLinear", [name, *inputs], [name + ".q"]))
            self.nodes.append(helper.make_node("DequantizeLinear", [name + ".q", *inputs], [name + ".dq"]))
            self.made[name], self.scales[name] = name + ".dq", numpy.float32(scale)
        return self.made[name]

    def operand(self, name, bounds):
        if name in self.values:
            values = self.values[name]
            if values.ndim < 2 or values.dtype.kind != "f":
                return name
            return self.pair(name, numpy.abs(values).max() / 127, numpy.int8(0))
        if name not in bounds:
            return name
        low, high = min(bounds[name][0], 0), max(bounds[name][1], 0)
        scale = (high - low) / 255 or 1
        return self.pair(name, scale, numpy.uint8(numpy.clip(numpy.rint(-low / scale), 0, 255)))

    def bias(self, name, scale):
        """int32, at the scale of the products."""
        stored = self.constant(name + ".q32", numpy.rint(self.values[name] / scale).astype("i4"))
        self.nodes.append(helper.make_node("DequantizeLinear", [stored, self.constant(name + ".scale", scale)], [name + ".dq"]))
        return name + ".dq"

    def around(self, bounds, kinds):
        for node in self.model.graph.node:
            if node.op_type in kinds:
                given = list(node.input)
                node.input[:2] = [self.operand(name, bounds) for name in given[:2]]
                if node.op_type in ("Conv", "Gemm") and len(given) > 2 and given[2] in self.values:
                    node.input[2] = self.bias(given[2], self.scales[given[0]] * self.scales[given[1]])
            self.nodes.append(node)
        return self.finish()

    def dynamic(self):
        for number, node in enumerate(self.model.graph.node):
            weights = self.values.get(node.input[1]) if node.op_type == "MatMul" else None
            if weights is None or weights.ndim != 2:
                self.nodes.append(node)
                continue
            scale = numpy.float32(numpy.abs(weights).max() / 127)
            name = f"dynamic{number}"
            stored = self.constant(name + ".w", numpy.rint(weights / scale).astype("i1"))
            made = [name + suffix for suffix in (".q", ".scale", ".zero")]
            self.nodes.append(helper.make_node("DynamicQuantizeLinear", [node.input[0]], made))
            self.nodes.append(helper.make_node("MatMulInteger", [made[0], stored, made[2], self.constant(name + ".wz", numpy.int8(0))], [name + ".sum"]))
            self.nodes.append(helper.make_node("Cast", [name + ".sum"], [name + ".real"], to=1))
            self.nodes.append(helper.make_node("Mul", [made[1], self.constant(name + ".ws", scale)], [name + ".factor"]))
            self.nodes.append(helper.make_node("Mul", [name + ".real", name + ".factor"], list(node.output)))
        return self.finish()

    def finish(self):
        del self.model.graph.node[:]
        self.model.graph.node.extend(self.nodes)
        del self.model.graph.value_info[:]
        return self.model


def fused_operators(path):
    found = Counter(node.op_type for node in onnx.load(str(path)).graph.node if node.domain == "com.microsoft" or node.op_type.startswith("QLinear"))
    return ", ".join(f"{count} {op}" for op, count in sorted(found.items()))


def compare(options, name, model, work, limit):
    """Of the model as it is, and as ONNX Runtime fuses it: the names of what disagrees."""
    plain, fused = work / (name + ".onnx"), work / (name + " fused.onnx")
    onnx.save(model, str(plain))
    save(options, plain, fused, "extended")
    used = {path: fused_operators(path) for path in (plain, fused)}
    if "quantised" in name and not any(part in used[fused] for part in ("Integer", "QLinear", "Quantize")):
        print(f"| {name} | nothing in it is quantised |", flush=True)
        return [name]
    return [path.stem for path in (plain, fused) if row(options, Case(path), limit, used[path])]


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")),
                        ("--keep", dict(help="folder for the models, to be timed with bench_bytes")),
                        ("--limit", dict(type=float, default=600, help="the largest share that is right in quantised models: ONNX Runtime's own ways to compute mobilenet_v2 differ by 570")))
    work, bad = Path(options.keep or tempfile.mkdtemp()), []
    work.mkdir(parents=True, exist_ok=True)
    print("| model | fused operators | " + " | ".join(WAYS) + " |\n|" + "---|" * (2 + len(WAYS)), flush=True)
    for sample in (options.only.split(",") if options.only else ["encoder", "resnet18", "mobilenet_v2"]):
        path = work / (sample + ".float.onnx")
        run([options.cli, "export", sample, "--onnx", work / "sample.onnx"])
        save(options, work / "sample.onnx", path, "basic")  # so that norms are parts of convolutions
        # A product and its bias are one Gemm in the saved file, which no dynamic quantiser takes.
        float_model, model = onnx.load(str(path)), onnx.load(str(work / "sample.onnx" if sample == "encoder" else path))
        kinds = {"Conv", "Gemm", "Add", "GlobalAveragePool", "AveragePool", "MaxPool", "Flatten", "Relu", "Clip", "Mul"}
        quantised = Quantizer(model).dynamic() if sample == "encoder" else Quantizer(model).around(ranges(options, float_model, work), kinds)
        bad += compare(options, sample, float_model, work, 1) + compare(options, sample + " quantised", quantised, work, options.limit)
    print(f"\n{len(bad)} over the tolerance" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
