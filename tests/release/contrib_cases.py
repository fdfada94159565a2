# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of one node each for operators of com.microsoft that the test data has no models of; made for contrib.py. Needs Debian's python3-onnx."""
import zlib

import numpy
import onnx
from onnx import helper, numpy_helper

f4, i4, i8, u1, s1 = numpy.float32, numpy.int32, numpy.int64, numpy.uint8, numpy.int8


class Made:
    """A node on given inputs; None is one that is left out, those whose places are in `constants` are initializers. Shapes that
    depend on values are not known when a module is made."""

    def __init__(self, name, op, inputs, outputs=1, constants=(), opset=17, domain="com.microsoft", module=True, declared=(), **attributes):
        self.name, self.stem = name, op.lower() + "_" + "".join(c if c.isalnum() else "_" for c in name)
        self.op, self.inputs, self.outputs, self.constants = op, [x if x is None or isinstance(x, Nibbles) else numpy.asarray(x) for x in inputs], outputs, constants
        self.declared = dict(declared)  # element types of outputs that ONNX Runtime does not infer
        self.opset, self.domain, self.module, self.attributes = opset, domain, module, attributes

    def fed(self):
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and i not in self.constants}

    def model(self):
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        wanted = self.outputs if isinstance(self.outputs, (list, tuple)) else [True] * self.outputs
        results = [f"y{i}" if on else "" for i, on in enumerate(wanted)]
        node = helper.make_node(self.op, names, results, domain=self.domain, name="node", **self.attributes)
        types = {name: helper.np_dtype_to_tensor_dtype(x.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") else
                 onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[x.dtype] for name, x in self.fed().items()}
        graph = helper.make_graph([node], "made", [helper.make_tensor_value_info(name, types[name], x.shape) for name, x in self.fed().items()],
                                  [helper.make_tensor_value_info(name, self.declared[i], None) if i in self.declared else
                                   helper.make_empty_tensor_value_info(name) for i, name in enumerate(results) if name],
                                  [initializer(x, f"x{i}") for i, x in enumerate(self.inputs) if x is not None and i in self.constants])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=max(8, self.opset // 21 * 10)).SerializeToString()


class Nibbles:
    """Elements of 4 bits, which Debian's python3-onnx does not know."""

    def __init__(self, values):
        self.values, self.shape, self.size = numpy.asarray(values), numpy.shape(values), numpy.size(values)

    def tensor(self, name):
        codes = numpy.append(self.values.ravel() & 15, [0] * (self.size % 2)).astype(u1)
        return onnx.TensorProto(name=name, dims=self.shape, data_type=22 if self.values.dtype == s1 else 21, raw_data=(codes[::2] | codes[1::2] << 4).tobytes())


def initializer(x, name):
    return x.tensor(name) if isinstance(x, Nibbles) else numpy_helper.from_array(x, name)


class Draw:
    """Random tensors, the same for everyone."""

    def __init__(self, name):
        self.rng = numpy.random.default_rng(zlib.crc32(name.encode()))

    def real(self, *shape, low=-2, high=2, kind=f4):
        return self.rng.uniform(low, high, shape).astype(kind)

    def whole(self, kind, *shape, low=None, high=None):
        limits = numpy.iinfo(kind)
        return self.rng.integers(limits.min if low is None else low, limits.max + 1 if high is None else high, shape).astype(kind)


def lstm(name, time=3, batch=2, size=5, hidden=4, kind=u1, per_column=False, lengths=None, states=False, peepholes=False, bias=True, **attributes):
    draw = Draw(name)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    parameters = (directions, 4 * hidden) if per_column else (directions,)

    def weights(rows):
        zero = numpy.zeros(parameters, kind) if kind == s1 else numpy.full(parameters, 120, kind)
        return draw.whole(kind, directions, rows, 4 * hidden), draw.real(*parameters, low=.002, high=.01), zero
    (w, w_scale, w_zero), (r, r_scale, r_zero) = weights(size), weights(hidden)
    inputs = [draw.real(time, batch, size), w, r, draw.real(directions, 8 * hidden) if bias else None,
              None if lengths is None else numpy.array(lengths, i4), draw.real(directions, batch, hidden) if states else None,
              draw.real(directions, batch, hidden) if states else None, draw.real(directions, 3 * hidden) if peepholes else None,
              w_scale, w_zero, r_scale, r_zero]
    return Made(name, "DynamicQuantizeLSTM", inputs, 3, (1, 2, 3, 4, 7, 8, 9, 10, 11), hidden_size=hidden, **attributes)


def recurrent():
    yield lstm("plain")
    yield lstm("one_step", time=1, batch=1, states=True)
    yield lstm("signed", kind=s1)
    yield lstm("columns", kind=s1, per_column=True, states=True)
    yield lstm("columns_unsigned", per_column=True, bias=False)
    yield lstm("reverse", direction="reverse", states=True)
    yield lstm("both", direction="bidirectional", states=True, kind=s1)
    yield lstm("both_columns", direction="bidirectional", per_column=True, kind=s1, time=5, batch=3, size=9, hidden=8)
    yield lstm("peepholes", peepholes=True, states=True)
    yield lstm("lengths", lengths=[2, 3, 1], batch=3, states=True)
    yield lstm("lengths_both", lengths=[2, 4, 0], batch=3, time=5, direction="bidirectional")
    yield lstm("equal_lengths", lengths=[3, 3])
    yield lstm("clip", clip=.5)
    yield lstm("input_forget", input_forget=1)
    yield lstm("functions", activations=["HardSigmoid", "Softsign", "Relu"])
    yield lstm("large", time=8, batch=4, size=33, hidden=17, states=True, kind=s1)


def integers():
    draw = Draw("integers")
    for kind in (u1, s1):
        word = numpy.dtype(kind).name
        image = draw.whole(kind, 2, 9, 8, 3)
        yield Made(f"square_{word}", "NhwcMaxPool", [image], kernel_shape=[3, 3])
        yield Made(f"strides_{word}", "NhwcMaxPool", [image], kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1])
        yield Made(f"same_{word}", "NhwcMaxPool", [image], kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
        yield Made(f"dilated_{word}", "NhwcMaxPool", [image], kernel_shape=[2, 2], dilations=[2, 3])
        yield Made(f"ceil_{word}", "NhwcMaxPool", [image], kernel_shape=[2, 2], strides=[2, 3], ceil_mode=1)
        yield Made(f"many_{word}", "NhwcMaxPool", [draw.whole(kind, 1, 7, 7, 40)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield Made("line", "NhwcMaxPool", [draw.whole(u1, 2, 9, 3)], kernel_shape=[3])
    yield Made("signed", "MatMulInteger16", [draw.whole(numpy.int16, 3, 5), draw.whole(numpy.int16, 5, 4)], constants=(0, 1))
    yield Made("batch", "MatMulInteger16", [draw.whole(numpy.int16, 2, 3, 5), draw.whole(numpy.int16, 5, 4)], constants=(0, 1))


def shapes():
    draw = Draw("shapes")
    x = draw.real(2, 3, 4)
    for axis in (0, 1, 3, -1, -2, -4):
        yield Made(f"axis_{axis}", "ExpandDims", [x, numpy.array(axis, i4)], constants=(1,))
    for kind in (f4, numpy.float64, i4, i8):
        word = numpy.dtype(kind).name
        yield Made(f"{word}", "Range", [kind(1), kind(10), kind(3)])
        yield Made(f"no_step_{word}", "Range", [kind(2), kind(7)])
        yield Made(f"down_{word}", "Range", [kind(7), kind(-2), kind(-2)], constants=(0, 1, 2))
    for axis in (-1, 0, 1):
        for size, step in ((2, 1), (3, 2), (2, 3)):
            yield Made(f"{axis}_{size}_{step}", "UnfoldTensor", [draw.real(3, 5, 4)], dim=axis, size=size, step=step)
    yield Made("floats", "Unique", [numpy.array([2, 1, 1, 3, 2.5, 2, 3], f4)], 3)
    yield Made("one", "Unique", [numpy.array([2], f4)], 3)
    yield Made("elements_only", "Unique", [numpy.array([5, 4, 5, 4], f4)], 1)
    for metric in ("euclidean", "sqeuclidean"):
        for kind in (f4, numpy.float64):
            yield Made(f"{metric}_{numpy.dtype(kind).name}", "CDist", [draw.real(7, 5, kind=kind), draw.real(4, 5, kind=kind)], metric=metric)
    yield Made("default", "CDist", [draw.real(3, 2), draw.real(3, 2)])
    yield Made("one_row", "CDist", [draw.real(1, 300), draw.real(9, 300)], metric="euclidean")
    yield Made("plain", "Inverse", [draw.real(4, 4)])
    yield Made("batch", "Inverse", [draw.real(2, 3, 3, 3)])
    yield Made("double", "Inverse", [draw.real(5, 5, kind=numpy.float64)])
    yield Made("one", "Inverse", [draw.real(2, 1, 1)])
    yield Made("permuted", "Inverse", [numpy.array([[0, 1, 0], [0, 0, 2], [4, 0, 0]], f4)])


def images():
    draw = Draw("images")
    x = draw.real(2, 3, 5, 6)
    boxes = numpy.array([[0, 0, 1, 1], [.2, .1, .7, .9], [.9, .8, .1, .2], [-.2, .3, 1.4, .6], [.5, .5, .5, .5]], f4)
    of = numpy.array([0, 1, 1, 0, 1], i4)
    for mode in ("bilinear", "nearest"):
        for size in ((4, 5), (1, 1), (1, 3), (2, 1), (9, 7)):
            yield Made(f"{mode}_{size[0]}_{size[1]}", "CropAndResize", [x, boxes, of, numpy.array(size, i4)], constants=(3,), mode=mode, extrapolation_value=7.5)
    yield Made("default", "CropAndResize", [x, boxes, of, numpy.array([3, 4], i4)])
    w, small = draw.real(3, 2, 3, 3), draw.real(1, 3, 4, 5)
    pads = numpy.array([1, 0, 1, 2], i8)
    yield Made("pads", "ConvTransposeWithDynamicPads", [small, w, pads], constants=(1, 2), kernel_shape=[3, 3])
    yield Made("bias", "ConvTransposeWithDynamicPads", [small, w, pads, draw.real(2)], constants=(1, 2, 3), strides=[2, 3], output_padding=[1, 1])
    yield Made("computed_pads", "ConvTransposeWithDynamicPads", [small, w, pads], kernel_shape=[3, 3], strides=[2, 2], module=False)
    yield Made("groups", "ConvTransposeWithDynamicPads", [draw.real(1, 4, 3, 3), draw.real(4, 2, 2, 2), numpy.zeros(4, i8)], constants=(1, 2), group=2, dilations=[2, 1])


def linear():
    draw = Draw("linear")
    for rule in ("linear", "gated", "delta", "gated_delta"):
        for heads, shared, keys in ((2, 2, 2), (4, 2, 2), (1, 2, 1), (2, 4, 2), (4, 4, 2)):
            for state in (False, True):
                decay = -draw.real(2, 3, shared * (4 if state else 1), low=0) if "gated" in rule else None
                beta = draw.real(2, 3, shared, low=0, high=1) if "delta" in rule else None
                yield Made(f"{rule}_{heads}_{shared}_{keys}_{state}", "LinearAttention",
                           [draw.real(2, 3, heads * 4), draw.real(2, 3, keys * 4, low=-.5, high=.5), draw.real(2, 3, shared * 3),
                            draw.real(2, shared, 4, 3) if state else None, decay, beta], 2, q_num_heads=heads, kv_num_heads=shared, update_rule=rule)
    x, w, bias = draw.real(2, 3, 7), draw.real(3, 1, 3), draw.real(3)
    yield Made("plain", "CausalConvWithState", [x, w], 2)
    yield Made("silu", "CausalConvWithState", [x, w, bias, draw.real(2, 3, 2)], 2, activation="silu")
    yield Made("dilated", "CausalConvWithState", [x, w, bias, draw.real(2, 3, 4)], 2, dilation=2, constants=(1, 2))
    yield Made("dilated_short", "CausalConvWithState", [x[:, :, :2].copy(), w, None, draw.real(2, 3, 6)], 2, dilation=3)
    yield Made("last", "CausalConvWithState", [draw.real(2, 7, 3), w, bias, draw.real(2, 2, 3)], 2, channels_last=1)
    yield Made("last_dilated", "CausalConvWithState", [draw.real(2, 1, 3), w, bias], 2, channels_last=1, dilation=2, activation="swish")


def tables():
    draw = Draw("tables")
    for kind, low, high in ((s1, -8, 8), (u1, 0, 16)):
        for rows, width, block in ((5, 32, 16), (4, 64, 32), (3, 24, 16)):
            blocks = -(-width // block)
            scales, zeros = draw.real(rows, blocks), Nibbles(draw.whole(kind, rows, blocks, low=low, high=high))
            table, picked = Nibbles(draw.whole(kind, rows, width, low=low, high=high)), numpy.array([[2, 0], [-1, 1]], i8)
            name = f"{'int4' if kind == s1 else 'uint4'}_{width}_{block}"
            yield Made(name, "GatherBlockQuantized", [table, picked, scales], constants=(0, 2), opset=21, block_size=block)
            yield Made(name + "_zeros", "GatherBlockQuantized", [table, picked.astype(i4), scales, zeros], constants=(0, 2, 3), opset=21, block_size=block)
        deep = Nibbles(draw.whole(kind, 2, 32, 6, low=low, high=high))
        for gather, quantize, blocks in ((0, 1, (2, 2, 6)), (2, 1, (2, 2, 6)), (1, 0, (1, 32, 6)), (1, 2, (2, 32, 1))):
            yield Made(f"{low}_{gather}_{quantize}", "GatherBlockQuantized", [deep, numpy.array([1, 0, 1], i8), draw.real(*blocks), Nibbles(draw.whole(kind, *blocks, low=low, high=high))],
                       constants=(0, 2, 3), opset=21, block_size=16, gather_axis=gather, quantize_axis=quantize)


def attention():
    draw = Draw("attention")
    heads, size, queries, past = 2, 8, 3, 4
    hidden = heads * size
    real = {0: 1, 1: 1, 2: 1, 3: 1}
    q, k, v = (draw.real(2, queries, hidden) for _ in range(3))
    cache = [draw.real(2, heads, past, size) for _ in range(2)]
    bias = draw.real(2, heads, queries, queries)
    for name, more, attributes in (("plain", [], {}), ("causal", [], {"unidirectional": 1}), ("bias", [None, None, bias], {}),
                                   ("masked", [None, numpy.array([[1, 1, 0], [0, 1, 1]], i4)], {}), ("all", [draw.real(3 * hidden), numpy.array([2, 3], i4), bias], {"unidirectional": 1, "scale": .3})):
        yield Made("scores_" + name, "MultiHeadAttention", [q, k, v, *more], [1, 0, 0, 1], num_heads=heads, declared=real, **attributes)
    yield Made("scores_cache", "MultiHeadAttention", [q, k, v, None, None, None, *cache], 4, num_heads=heads, declared=real)
    yield Made("heads_cache", "MultiHeadAttention", [q, draw.real(2, heads, 5, size), draw.real(2, heads, 5, size), None, None, None, *cache], 3, num_heads=heads)
    for name, rows, keys, more in (("one", 1, 5, []), ("one_cache", 1, 5, cache), ("one_key_cache", 1, 1, cache), ("more", 3, 5, []), ("more_cache", 3, 5, cache), ("fewer", 5, 3, [])):
        yield Made(f"causal_{name}", "MultiHeadAttention", [draw.real(2, rows, hidden), draw.real(2, keys, hidden), draw.real(2, keys, hidden), *([None, None, None, *more] if more else [])], 3 if more else 1,
                   num_heads=heads, unidirectional=1)
    yield Made("mask_3d", "MultiHeadAttention", [q, k, v, None, draw.whole(i4, 2, 3, 3, low=0, high=2)], num_heads=heads)
    yield Made("mask_numbers", "MultiHeadAttention", [q, k, v, None, numpy.array([[2, -1, 0], [1, -3, 7]], i4)], num_heads=heads)
    x, w, b = draw.real(2, queries, 5), draw.real(5, 3 * hidden), draw.real(3 * hidden)
    yield Made("mask_of_one", "Attention", [x, w, b, numpy.zeros((1, 1), i4)], num_heads=heads)
    yield Made("mask_of_ones", "Attention", [x, w, b, numpy.zeros((2, 1), i4)], num_heads=heads)
    yield Made("past_length_unused", "Attention", [x, w, b, None, numpy.stack(cache), None, numpy.array([2], i4)], 2, num_heads=heads)
    total = {"constants": (6,), "num_heads": heads, "kv_num_heads": 1, "declared": real}
    q, k, v = draw.real(2, queries, hidden), draw.real(2, queries, size), draw.real(2, queries, size)
    cache = [draw.real(2, 1, 6, size) for _ in range(2)]
    for shown in (1, 2):
        def gqa(name, lengths, length, rows=queries, past=(None, None), bias=None, sink=None, **attributes):
            batch = len(lengths)
            inputs = [*(x[:batch, :rows].copy() for x in (q, k, v)), *(x if x is None else x[:batch] for x in past), numpy.array(lengths, i4), numpy.array(length, i4), None, None, None, bias, sink]
            return Made(f"scores_{shown}_{name}", "GroupQueryAttention", inputs, 4, qk_output=shown, **total, **attributes)
        yield gqa("prompt", [2, 2], 3)
        yield gqa("softcap", [2, 2], 3, softcap=.5)
        yield gqa("bias", [2, 2], 3, bias=draw.real(2, heads, 3, 3))
        yield gqa("sink", [2, 2], 3, sink=draw.real(heads))
        yield gqa("window", [2, 2], 3, local_window_size=2, smooth_softmax=1)
        yield gqa("buffer", [4], 5, past=cache)
        yield gqa("decode", [3, 2], 4, rows=1, past=cache)
        yield gqa("not_causal", [2, 2], 3, causal=0)


def embeddings():
    draw = Draw("embeddings")
    ids, segments, mask = draw.whole(i4, 2, 3, low=0, high=5), draw.whole(i4, 2, 3, low=0, high=2), numpy.array([[1, 1, 0], [1, 1, 1]], i4)
    for kind in (u1, s1):
        tables = [draw.whole(kind, rows, 8) for rows in (5, 4, 2)] + [draw.whole(kind, 8), draw.whole(kind, 8)]
        scales = [f4(x) for x in (.1, .2, .3, .01, .02)]
        zeros = [kind(x) for x in (28, 27, 20, 3, 30)]
        word = numpy.dtype(kind).name
        yield Made(word, "QEmbedLayerNormalization", [ids, segments, *tables, mask, *scales, *zeros], 2, range(2, 18), epsilon=1e-5)
        pick = lambda values: [None if i == 2 else x for i, x in enumerate(values)]
        for name, marks in (("left", [[0, 1, 1], [1, 0, 1]]), ("numbers", [[2, 1, -1], [1, 3, 0]]), ("none", [[0, 0, 0], [1, 1, 1]])):
            yield Made(f"{name}_{word}", "QEmbedLayerNormalization", [ids, segments, *tables, numpy.array(marks, i4), *scales, *zeros], 2, range(2, 18))
        yield Made(f"no_segments_{word}", "QEmbedLayerNormalization", [ids, None, *pick(tables), None, *pick(scales), *pick(zeros)], 2, range(2, 18))
    real = [draw.real(rows, 8) for rows in (5, 4, 2)] + [draw.real(8), draw.real(8)]
    for name, marks in (("right", [[1, 1, 0], [1, 1, 1]]), ("left", [[0, 1, 1], [1, 0, 1]]), ("numbers", [[2, 1, -1], [1, 3, 0]]), ("none", [[0, 0, 0], [1, 1, 1]])):
        yield Made(f"mask_{name}", "EmbedLayerNormalization", [ids, segments, *real, numpy.array(marks, i4)], 2, range(2, 7))


def fused():
    draw = Draw("fused")
    x, w, b, z = draw.real(2, 4, 7, 6), draw.real(6, 2, 3, 3), draw.real(6), draw.real(2, 6, 5, 4)
    for name, parameters in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [.3]), ("Clip", [-.5, 1.5]), ("HardSigmoid", [.3, .4])):
        extra = {"activation_params": [float(v) for v in parameters]} if parameters else {}
        yield Made(name, "FusedConv", [x, w, b], constants=(1, 2), activation=name, group=2, **extra)
        alphas = dict(zip(("activation_alpha", "activation_beta"), map(float, parameters))) if name in ("LeakyRelu", "HardSigmoid") else {}
        if name != "Clip":
            yield Made(name, "FusedGemm", [draw.real(3, 5), draw.real(4, 5), draw.real(4)], transB=1, alpha=.7, beta=1.3, activation=name, **alphas)
    yield Made("sum", "FusedConv", [x, w, b, z], constants=(1, 2), activation="Relu", group=2)
    yield Made("sum_no_bias", "FusedConv", [x, w, None, z], constants=(1,), activation="Relu", group=2)
    for flags in range(16):
        named = {name: flags >> i & 1 for i, name in enumerate(("transA", "transB", "transBatchA", "transBatchB"))}
        batch, m, k, n = 3, 2, 4, 5
        left, right = ((k, m) if named["transA"] else (m, k)), ((n, k) if named["transB"] else (k, n))
        left = (left[0], batch, left[1]) if named["transBatchA"] else (batch, *left)
        right = (right[0], batch, right[1]) if named["transBatchB"] else (batch, *right)
        yield Made(f"{flags}", "FusedMatMul", [draw.real(*left), draw.real(*right)], alpha=.5, **named)
    yield Made("vector", "FusedMatMul", [draw.real(3, 4), draw.real(4)], alpha=2.0)
    yield Made("broadcast", "FusedMatMul", [draw.real(2, 1, 3, 4), draw.real(5, 4, 2)], transA=0)
    h = draw.real(2, 3, 8)
    for name, more in (("", []), ("_beta", [draw.real(8)]), ("_bias", [None, draw.real(8)]), ("_all", [draw.real(8), draw.real(8)])):
        for skip in (draw.real(2, 3, 8), draw.real(3, 8), draw.real(1, 3, 8)):
            yield Made(f"{skip.ndim}{skip.shape[0]}{name}", "SkipLayerNormalization", [h, skip, draw.real(8), *more], [1, 0, 0, 1], epsilon=1e-5)
    yield Made("bias", "SkipSimplifiedLayerNormalization", [h, draw.real(2, 3, 8), draw.real(8), draw.real(8)], [1, 0, 0, 1])
    yield Made("axis", "SimplifiedLayerNormalization", [h, draw.real(3, 8)], 1, domain="", axis=1, stash_type=1)
    for op, more in (("Gelu", []), ("BiasGelu", [draw.real(8)]), ("FastGelu", []), ("FastGelu", [draw.real(8)]), ("QuickGelu", [])):
        yield Made(f"{len(more)}", op, [h * 3, *more])
    yield Made("alpha", "QuickGelu", [h], alpha=.4)


def quantised():
    draw = Draw("quantised")
    for kind in (u1, s1):
        word, zero = numpy.dtype(kind).name, lambda: draw.whole(kind)
        a, b = draw.whole(kind, 3, 1, 7), draw.whole(kind, 5, 7)
        for op in ("QLinearAdd", "QLinearMul"):
            yield Made(f"{word}", op, [a, f4(.31), zero(), b, f4(.23), zero(), f4(.47), zero()])
            yield Made(f"no_zeros_{word}", op, [a, f4(.31), None, b, f4(.23), None, f4(1.7), None])
        image = draw.whole(kind, 2, 3, 6, 7)
        tail = [f4(.3), zero(), f4(.21), zero()]
        for name, more in (("", {}), ("_pads", {"pads": [1, 0, 1, 1], "strides": [2, 2]}), ("_counted", {"pads": [1, 1, 1, 1], "count_include_pad": 1}), ("_ceil", {"strides": [2, 3], "ceil_mode": 1})):
            yield Made(word + name, "QLinearAveragePool", [image, *tail], kernel_shape=[3, 2], **more)
        last = draw.whole(kind, 2, 6, 7, 3)
        tie = [kind(x) for x in range(1, 5)]
        yield Made(f"tie_{word}", "QLinearAveragePool", [numpy.array(tie[:2], kind).reshape(1, 1, 1, 2), f4(1), kind(1), f4(1), kind(1)], kernel_shape=[1, 2])
        yield Made(f"tie_last_{word}", "QLinearAveragePool", [numpy.array(tie, kind).reshape(1, 1, 2, 2), f4(1), kind(1), f4(1), kind(1)], kernel_shape=[1, 2], channels_last=1)
        yield Made(f"whole_{word}", "QLinearAveragePool", [image, *tail], kernel_shape=[6, 7])
        yield Made(f"last_{word}", "QLinearAveragePool", [last, *tail], kernel_shape=[3, 2], channels_last=1)
        yield Made(f"{word}", "QLinearGlobalAveragePool", [image, *tail])
        yield Made(f"last_{word}", "QLinearGlobalAveragePool", [last, *tail], channels_last=1)
        flat = draw.whole(kind, 3, 40)
        yield Made(f"{word}", "QLinearSigmoid", [flat, f4(.05), zero(), f4(1 / 256), kind(0 if kind == u1 else -128)], constants=(1, 2, 3, 4))
        yield Made(f"{word}", "QLinearLeakyRelu", [flat, f4(.05), zero(), f4(.04), zero()], constants=(1, 2, 3, 4), alpha=.2)
        yield Made(f"{word}", "QLinearConcat", [f4(.3), zero(), flat, f4(.2), zero(), draw.whole(kind, 2, 40), f4(.4), zero()], constants=(0, 1, 3, 4, 6, 7), axis=0)
        yield Made(f"{word}", "QLinearWhere", [draw.whole(i4, 3, 1, low=0, high=2).astype(bool), flat, f4(.3), zero(), draw.whole(kind, 40), f4(.2), zero(), f4(.35), zero()])
        for right in (u1, s1):
            mixed = f"{word}_{numpy.dtype(right).name}"
            weights = draw.whole(right, 5, 6)
            for scale, at in ((f4(.03), right(0)), (draw.real(6, low=.01, high=.05), draw.whole(right, 6))):
                kinds = f"{mixed}_{numpy.ndim(scale)}"
                left = draw.whole(kind, 2, 4, 5)
                if kind == u1 or right == s1:
                    yield Made(kinds, "MatMulIntegerToFloat", [left, weights, f4(.1), scale, zero(), at, draw.real(6)], constants=(1, 3, 5))
                    yield Made(kinds, "QGemm", [left[0].copy(), f4(.1), zero(), weights, scale, at, draw.whole(i4, 6, low=-999, high=999), f4(.7), zero()], constants=(3, 4, 5))
                    yield Made("real_" + kinds, "QGemm", [left[0].copy(), f4(.1), zero(), weights, scale, at], constants=(3, 4, 5), alpha=.5)
                yield Made(kinds, "DynamicQuantizeMatMul", [draw.real(2, 4, 5), weights, scale, at, draw.real(6)], constants=(1, 2, 3))


def packed_weights():
    draw = Draw("packed")
    for bits in (2, 4, 8):
        for width, block in ((48, 16), (40, 32)):
            blocks, rows = -(-width // block), 5
            b, scales = draw.whole(u1, rows, blocks, block * bits // 8), draw.real(rows * blocks, low=.01, high=.1)
            zeros = draw.whole(u1, rows * -(-blocks * bits // 8))
            sizes = {"K": width, "N": rows, "bits": bits, "block_size": block}
            a = draw.real(2, 3, width)
            yield Made(f"{bits}_{width}", "MatMulNBits", [a, b, scales], constants=(1, 2), **sizes)
            yield Made(f"{bits}_{width}_zeros", "MatMulNBits", [a, b, scales, zeros], constants=(1, 2, 3), **sizes)
            yield Made(f"{bits}_{width}_real_zeros", "MatMulNBits", [a, b, scales, draw.real(rows * blocks)], constants=(1, 2, 3), **sizes)
            yield Made(f"{bits}_{width}_bias", "MatMulNBits", [a[0, :1].copy(), b, scales, zeros, None, draw.real(rows)], constants=(1, 2, 3, 5), **sizes)
    for kind in (0, 1):
        yield Made(f"{kind}", "MatMulBnb4", [draw.real(3, 32), draw.whole(u1, 80), draw.real(10, low=0, high=1)], constants=(1, 2), K=32, N=5, block_size=16, quant_type=kind, transB=1)
    cos, sin = draw.real(9, 4), draw.real(9, 4)
    for pairs in (0, 1):
        yield Made(f"rows_{pairs}", "RotaryEmbedding", [draw.real(2, 3, 16), numpy.array([[0, 4, 8], [1, 2, 3]], i8), cos, sin], constants=(2, 3), interleaved=pairs)
        yield Made(f"heads_{pairs}", "RotaryEmbedding", [draw.real(2, 5, 3, 8), numpy.array([2], i8), cos, sin], constants=(2, 3), interleaved=pairs)
        yield Made(f"part_{pairs}", "RotaryEmbedding", [draw.real(2, 3, 24), numpy.array([1], i8), cos, sin], constants=(2, 3), interleaved=pairs, num_heads=2, rotary_embedding_dim=8)


def cases():
    for part in (recurrent, integers, shapes, images, linear, tables, attention, embeddings, fused, quantised, packed_weights):
        yield from part()
