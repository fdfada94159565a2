# SPDX-License-Identifier: GPL-3.0-or-later
"""A small decoder in the operators of today's language models, token by token, against ONNX Runtime.

Makes a model with random weights of GatherBlockQuantized, SimplifiedLayerNormalization, MatMulNBits, GroupQueryAttention with rotation
and SkipSimplifiedLayerNormalization, whose caches are buffers of a fixed length. ONNX Runtime and ours each take their own last token
and caches as the next input; ours is compiled once as a module, and once runs in the reference engine. Ends with status 1 if a token
differs. Needs Debian's python3-onnx."""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from models import arguments, ask, file_name, run
from onnx import TensorProto, helper, numpy_helper

LAYERS, HIDDEN, HEADS, GROUPS, SIZE, INNER, WORDS, ROWS, BLOCK = 2, 64, 4, 2, 16, 128, 96, 48, 32
MICROSOFT = "com.microsoft"


class Decoder:
    def __init__(self, seed):
        self.rng, self.nodes, self.constants = numpy.random.default_rng(seed), [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, inputs, outputs, domain=MICROSOFT, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def packed(self, name, rows, columns):
        """Numbers of 4 bits in blocks along the columns, and a scale for each."""
        blocks = -(-columns // BLOCK)
        values = self.constant(name + ".q", self.rng.integers(0, 256, (rows, blocks, BLOCK // 2)).astype("u1"))
        scales = self.rng.uniform(0.5, 1.5, (rows * blocks)) * 0.3 / columns**0.5
        return [values, self.constant(name + ".scale", scales.astype("f4"))]

    def product(self, x, name, inner, width):
        return self.node("MatMulNBits", [x, *self.packed(name, width, inner)], [name], K=inner, N=width, bits=4, block_size=BLOCK)

    def gain(self, name):
        return self.constant(name + ".gain", self.rng.uniform(0.5, 1.5, HIDDEN).astype("f4"))

    def attention(self, x, name, caches):
        qkv = self.product(x, name + ".qkv", HIDDEN, (HEADS + 2 * GROUPS) * SIZE)
        inputs = [qkv, "", "", *caches, "seqlens_k", "total_sequence_length", "cos", "sin"]
        outputs = [name + ".heads", *(cache.replace("past", "present") for cache in caches)]
        heads = self.node("GroupQueryAttention", inputs, outputs, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        return self.product(heads, name + ".out", HEADS * SIZE, HIDDEN)

    def gated(self, x, name):
        gate, up = self.product(x, name + ".gate", HIDDEN, INNER), self.product(x, name + ".up", HIDDEN, INNER)
        curve = self.node("Sigmoid", [gate], [name + ".curve"], domain="")
        swish = self.node("Mul", [gate, curve], [name + ".swish"], domain="")
        return self.product(self.node("Mul", [swish, up], [name + ".gated"], domain=""), name + ".down", INNER, HIDDEN)

    def norm(self, x, skip, name):
        outputs = [name, "", "", name + ".sum"]
        self.node("SkipSimplifiedLayerNormalization", [x, skip, self.gain(name)], outputs, epsilon=1e-5)
        return name, name + ".sum"

    def build(self, path):
        angles = numpy.outer(numpy.arange(ROWS), 10000.0 ** (-numpy.arange(SIZE // 2) / (SIZE // 2)))
        self.constant("cos", numpy.cos(angles).astype("f4"))
        self.constant("sin", numpy.sin(angles).astype("f4"))
        table = self.rng.integers(0, 256, (WORDS, HIDDEN // 2)).astype("u1")
        scales = self.rng.uniform(0.1, 0.2, (WORDS, HIDDEN // BLOCK)).astype("f4")
        words = [self.constant("words.q", table), "token", self.constant("words.scale", scales)]
        skip = self.node("GatherBlockQuantized", words, ["words"], block_size=BLOCK, gather_axis=0, quantize_axis=1)
        x = self.node("SimplifiedLayerNormalization", [skip, self.gain("first")], ["first"], domain="", axis=-1, epsilon=1e-5)
        caches = []
        for layer in range(LAYERS):
            own = [f"past.{layer}.key", f"past.{layer}.value"]
            caches += own
            x, skip = self.norm(self.attention(x, f"attention{layer}", own), skip, f"middle{layer}")
            x, skip = self.norm(self.gated(x, f"feed{layer}"), skip, f"end{layer}")
        self.product(x, "logits", HIDDEN, WORDS)
        info, rows = helper.make_tensor_value_info, [1, GROUPS, ROWS, SIZE]
        inputs = [info("token", TensorProto.INT64, [1, 1]), info("seqlens_k", TensorProto.INT32, [1])]
        inputs += [info("total_sequence_length", TensorProto.INT32, [])]
        inputs += [info(name, TensorProto.FLOAT, rows) for name in caches]
        outputs = [info("logits", TensorProto.FLOAT, [1, 1, WORDS])]
        outputs += [info(name.replace("past", "present"), TensorProto.FLOAT, rows) for name in caches]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=imports)
        model.ir_version = 8
        onnx.save(model, str(path))
        return caches


def generate(step, caches, tokens, folder):
    """The tokens that a step makes one after the other, and the largest logits."""
    folder.mkdir()
    token, found = 1, []
    state = {name: numpy.zeros((1, GROUPS, ROWS, SIZE), "f4") for name in caches}
    for place in range(tokens):
        feeds = dict(state, token=numpy.array([[token]]), seqlens_k=numpy.array([place], "i4"))
        feeds["total_sequence_length"] = numpy.array(place + 1, "i4")
        for name, values in feeds.items():
            numpy.save(folder / file_name(name), values)
        outputs = step(folder, list(feeds))
        token = int(numpy.argmax(outputs["logits.npy"]))
        found.append((token, float(numpy.max(outputs["logits.npy"]))))
        state = {name: outputs[file_name(name.replace("past", "present"))] for name in caches}
    return found


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")),
                        ("--tokens", dict(type=int, default=32)), ("--keep", dict(help="write the model here")))
    work = Path(tempfile.mkdtemp())
    path = Path(options.keep) if options.keep else work / "decoder.onnx"
    caches = Decoder(7).build(path)

    def runtime(folder, names):
        run(["node", Path(options.ort) / "ort.js", "run", path, "--in", folder, "--out", work / "out"])
        return {file.name[4:]: numpy.load(file) for file in (work / "out").glob("out.*.npy")}

    def ours(subject, *words):
        def step(folder, names):
            given = [word for name in names for word in ("--input", f"{name}={folder / file_name(name)}")]
            reply = ask(options, "run", subject, *words, *given, "--replace", "--save", work / "ours")
            return {file_name(output["name"]): numpy.load(output["file"]) for output in reply["outputs"]}
        return step

    run([options.cli, "compile", path, "--untuned", "-o", work / "module"])
    expected = generate(runtime, caches, options.tokens, work / "steps.runtime")
    bad = False
    for name, step in (("module", ours(work / "module")), ("reference", ours(path, "--engine", "reference"))):
        found = generate(step, caches, options.tokens, work / ("steps." + name))
        same = sum(a[0] == b[0] for a, b in zip(found, expected))
        worst = max(abs(a[1] - b[1]) for a, b in zip(found, expected))
        print(f"{name}: {same} of {options.tokens} tokens are ONNX Runtime's, largest logits differ by {worst:.2g} at most", flush=True)
        bad = bad or same != options.tokens
    print("tokens: " + " ".join(str(token) for token, _ in expected))
    sys.exit(1 if bad else 0)


main()
