# SPDX-License-Identifier: GPL-3.0-or-later
"""Peak resident memory of info, run and compile on models of about 1 GB of 4-bit weights.

Makes two models whose weights are random bytes beside the file: a decoder of MatMulNBits, GroupQueryAttention,
SkipSimplifiedLayerNormalization and GatherBlockQuantized, and a chain of products whose weights are int4 tensors behind a
DequantizeLinear in blocks. No process of a command may hold more than --most MB; export and optimize, which have the message in memory,
not more than 1.6 times as much. What they write must have the quantised operators that the model had. Ends with status 1 where that is not so. Needs Debian's python3-onnx and 5 GB of disk."""
import collections
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy
import onnx
import onnx.numpy_helper
from models import arguments
from onnx import TensorProto, helper

MICROSOFT, INT4, BLOCK = "com.microsoft", 22, 32
HIDDEN, INNER, HEADS, GROUPS, SIZE, WORDS, ROWS = 2048, 5632, 16, 2, 128, 32000, 16


class Maker:
    """Nodes, and weights that go to a file as they are made."""

    def __init__(self, path, seed):
        self.path, self.rng, self.nodes, self.constants = Path(path), numpy.random.default_rng(seed), [], []
        self.weights = open(str(path) + ".bin", "wb")

    def external(self, name, kind, shape, data):
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        self.weights.write(b"\0" * (-self.weights.tell() % 64))
        for key, value in (("location", Path(self.weights.name).name), ("offset", self.weights.tell()), ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))
        self.weights.write(data)
        self.constants.append(tensor)
        return name

    def codes(self, name, kind, shape, count):
        return self.external(name, kind, shape, self.rng.bytes(count))

    def floats(self, name, shape, low, high):
        return self.external(name, TensorProto.FLOAT, shape, self.rng.uniform(low, high, shape).astype("f4").tobytes())

    def node(self, op, inputs, outputs, domain=MICROSOFT, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def save(self, inputs, outputs, opset):
        graph = helper.make_graph(self.nodes, "large", inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])
        model.ir_version = 10
        self.weights.close()
        self.path.write_bytes(model.SerializeToString())


def packed(maker, name, inner, width):
    blocks = inner // BLOCK
    return [maker.codes(name + ".q", TensorProto.UINT8, [width, blocks, BLOCK // 2], width * inner // 2),
            maker.floats(name + ".scale", [width * blocks], 0.1 / inner**0.5, 0.3 / inner**0.5)]


def product(maker, x, name, inner, width):
    return maker.node("MatMulNBits", [x, *packed(maker, name, inner, width)], [name], K=inner, N=width, bits=4, block_size=BLOCK)


def decoder(path, layers):
    """A step of a decoder, of one token."""
    maker, info = Maker(path, 7), helper.make_tensor_value_info
    angles = numpy.outer(numpy.arange(ROWS), 10000.0 ** (-numpy.arange(SIZE // 2) / (SIZE // 2)))
    for name, values in (("cos", numpy.cos(angles)), ("sin", numpy.sin(angles))):
        maker.constants.append(onnx.numpy_helper.from_array(values.astype("f4"), name))
    table = maker.codes("words.q", TensorProto.UINT8, [WORDS, HIDDEN // 2], WORDS * HIDDEN // 2)
    words = [table, "token", maker.floats("words.scale", [WORDS, HIDDEN // BLOCK], 0.1, 0.2)]
    skip = maker.node("GatherBlockQuantized", words, ["words"], block_size=BLOCK, gather_axis=0, quantize_axis=1)
    gain = maker.floats("gain", [HIDDEN], 0.5, 1.5)
    x = maker.node("SimplifiedLayerNormalization", [skip, gain], ["first"], domain="", axis=-1, epsilon=1e-5)
    caches = []

    def norm(value, name):
        maker.node("SkipSimplifiedLayerNormalization", [value, skip, gain], [name, "", "", name + ".sum"], epsilon=1e-5)
        return name, name + ".sum"

    for layer in range(layers):
        own = [f"past.{layer}.key", f"past.{layer}.value"]
        caches += own
        qkv = product(maker, x, f"qkv{layer}", HIDDEN, (HEADS + 2 * GROUPS) * SIZE)
        outputs = [f"heads{layer}", *(cache.replace("past", "present") for cache in own)]
        inputs = [qkv, "", "", *own, "seqlens_k", "total_sequence_length", "cos", "sin"]
        maker.node("GroupQueryAttention", inputs, outputs, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        x, skip = norm(product(maker, outputs[0], f"out{layer}", HEADS * SIZE, HIDDEN), f"middle{layer}")
        gate, up = (product(maker, x, f"{name}{layer}", HIDDEN, INNER) for name in ("gate", "up"))
        curve = maker.node("Sigmoid", [gate], [f"curve{layer}"], domain="")
        swish = maker.node("Mul", [gate, curve], [f"swish{layer}"], domain="")
        gated = maker.node("Mul", [swish, up], [f"gated{layer}"], domain="")
        x, skip = norm(product(maker, gated, f"down{layer}", INNER, HIDDEN), f"end{layer}")
    product(maker, x, "logits", HIDDEN, WORDS)
    inputs = [info("token", TensorProto.INT64, [1, 1]), info("seqlens_k", TensorProto.INT32, [1])]
    inputs += [info("total_sequence_length", TensorProto.INT32, [])]
    inputs += [info(name, TensorProto.FLOAT, [1, GROUPS, ROWS, SIZE]) for name in caches]
    outputs = [info("logits", TensorProto.FLOAT, [1, 1, WORDS])]
    outputs += [info(name.replace("past", "present"), TensorProto.FLOAT, [1, GROUPS, ROWS, SIZE]) for name in caches]
    maker.save(inputs, outputs, 17)
    settled = {"token": numpy.array([[1]]), "seqlens_k": numpy.array([3], "i4"), "total_sequence_length": numpy.array(4, "i4")}
    return settled


def products(path, layers):
    """Square products one after the other; weights in blocks of 128 rows."""
    maker, info, size, block = Maker(path, 8), helper.make_tensor_value_info, 4096, 128
    x = "x"
    for layer in range(layers):
        codes = maker.codes(f"w{layer}", INT4, [size, size], size * size // 2)
        scales = maker.floats(f"s{layer}", [size // block, size], 0.1 / size**0.5, 0.3 / size**0.5)
        weight = maker.node("DequantizeLinear", [codes, scales], [f"d{layer}"], domain="", axis=0, block_size=block)
        x = maker.node("MatMul", [x, weight], [f"y{layer}"], domain="")
    maker.save([info("x", TensorProto.FLOAT, [1, size])], [info(x, TensorProto.FLOAT, [1, size])], 21)
    return {}


def measured(words):
    """Seconds that a command took, MB of its largest process, and whether it ended well."""
    begin = time.time()
    with tempfile.TemporaryFile() as said:
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), 1),
                                                                      (os.POSIX_SPAWN_DUP2, said.fileno(), 2)])
        status, usage = os.wait4(pid, 0)[1:]
        said.seek(0)
        tail = said.read().decode(errors="replace").strip()[-300:]
    return time.time() - begin, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), tail


def apart(function, *values):
    """Calls it in a process of its own: a large one would leave its peak to all processes that it begins."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, values)


def operators(path):
    model = onnx.load(str(path), load_external_data=False)
    return collections.Counter(node.op_type for node in model.graph.node)


def check(options, name, path, settled, work):
    inputs = []
    for tensor, values in settled.items():
        numpy.save(work / f"{tensor}.npy", values)
        inputs += ["--input", f"{tensor}={work / tensor}.npy"]
    folder, again = work / "module", work / "again.onnx"
    commands = {"info": ["info", path], "run, reference": ["run", path, "--engine", "reference", *inputs], "run": ["run", path, *inputs],
                "compile": ["compile", path, "--untuned", "-o", folder], "export": ["export", path, "--onnx", again],
                "optimize": ["optimize", path, "-o", again, "--time", "20", "--no-measure"]}
    bad = False
    wanted = {op: count for op, count in apart(operators, path).items() if op in ("MatMulNBits", "GatherBlockQuantized", "DequantizeLinear")}
    for command, words in commands.items():
        if options.commands and command not in options.commands.split(";"):
            continue
        seconds, megabytes, status, tail = measured([options.cli, *map(str, words)])
        wrong = [] if status == 0 else [f"status {status}: {tail}"]
        most = options.most * (1.6 if command in ("export", "optimize") else 1)
        wrong += [f"more than {most:.0f} MB"] if megabytes > most else []
        if command in ("export", "optimize") and status == 0:
            found = apart(operators, again)
            wrong += [f"{found[op]} of {count} {op} are left" for op, count in wanted.items() if found[op] != count]
        print(f"{name}, {command}: {megabytes:.0f} MB, {seconds:.1f} s" + "".join("; " + each for each in wrong), flush=True)
        bad = bad or bool(wrong)
        shutil.rmtree(folder, ignore_errors=True)
        for file in work.glob("again*"):
            file.unlink()
    return bad


def main():
    options = arguments(__doc__.splitlines()[0], ("--most", dict(type=float, default=1300, help="MB that a process may hold")),
                        ("--share", dict(type=float, default=1, help="of 1 GB, for a quick look")),
                        ("--commands", dict(default="", help="which, with semicolons")))
    bad = False
    for name, make, layers in (("decoder", decoder, 34), ("products", products, 112)):
        if options.only and name not in options.only.split(","):
            continue
        work = Path(tempfile.mkdtemp())
        path = work / f"{name}.onnx"
        settled = apart(make, path, max(round(layers * options.share), 1))
        print(f"{name}: {(path.stat().st_size + Path(str(path) + '.bin').stat().st_size) / 1e6:.0f} MB", flush=True)
        bad = check(options, name, path, settled, work) or bad
        shutil.rmtree(work)
    sys.exit(1 if bad else 0)


main()
