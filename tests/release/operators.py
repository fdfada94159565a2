# SPDX-License-Identifier: GPL-3.0-or-later
"""ONNX's operator cases on other inputs than theirs, against ONNX Runtime.

Draws new floats for every case of the test data and of Debian's libonnx-testdata, once from a normal distribution and once with
NaN, infinities, signed zeros, subnormals and the largest numbers among them; ONNX Runtime says what is right, and `conformance` compares.
Ends with status 1 if a case of the first kind differs. Those of the second are listed to be judged: ONNX Runtime loses NaN in
maxima, and overflows where sums of ours do not. Needs Debian's python3-onnx."""
import json
import re
import shutil
import sys
import tempfile
import zlib
from pathlib import Path

import numpy
import onnx
from models import Failed, arguments, run
from onnx import numpy_helper
from runtime import answers

# ONNX Runtime's own ways: classes that are no integers, products in half precision, the lowest number for a masked score. Where a
# spectrum is 0, it has rounding.
KNOWN = re.compile("onehot_with_.*axis|_fp16|_mask_causal|attention_4d_attn_mask_bool|dft|stft")
WORST = re.compile(r": 1 of \d+ elements differ, worst at .*: (\S+) instead of (\S+) \(scale of the output (\S+)\)")
SPECIAL = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 1e-40, -1e-40, 3e38, -3e38, 0.5, -0.5, 2.5, 1.0, -1.0, 88.8, -104.0]


def draw(values, rng, special):
    """Other numbers of the same shape; what is no float may be an index and stays."""
    if values.dtype.kind != "f" or values.size == 0:
        return values
    if not special:
        return (3 * rng.standard_normal(values.shape)).astype(values.dtype)
    with numpy.errstate(all="ignore"):
        return numpy.where(rng.random(values.shape) < 0.3, rng.choice(SPECIAL, values.shape), values).astype(values.dtype)


def is_rounding(case):
    """The logarithm of a probability beside 1 that is off by less than the last bit of the output's largest number: it can be no better."""
    worst = WORST.search(case["detail"])
    return case["name"].startswith("test_sce_") and bool(worst) and abs(float(worst[1]) - float(worst[2])) <= 2**-23 * float(worst[3])


def stored(file):
    return onnx.TensorProto.FromString(file.read_bytes())


def variant(options, case, folder, special):
    """The case with other inputs and ONNX Runtime's outputs; False where it has no floats or ONNX Runtime does not run it."""
    model = onnx.load(str(case / "model.onnx"))
    files = sorted((case / "test_data_set_0").glob("input_*.pb"), key=lambda file: int(file.stem[6:]))
    if len(files) != len(model.graph.input) or not all(value.type.HasField("tensor_type") for value in model.graph.input):
        return False
    tensors = [numpy_helper.to_array(stored(file)) for file in files]
    rng = numpy.random.default_rng(zlib.crc32(case.name.encode()))
    drawn = [draw(values, rng, special) for values in tensors]
    if all(a is b for a, b in zip(drawn, tensors)) or any(values.dtype == object for values in drawn):
        return False
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, str(data.parent / "model.onnx"))
    inputs = {}
    for i, (value, values) in enumerate(zip(model.graph.input, drawn)):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(values, value.name).SerializeToString())
        inputs[value.name] = values
    outputs = answers(options, data.parent / "model.onnx", inputs, folder)
    for i, value in enumerate(model.graph.output):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(outputs[value.name], value.name).SerializeToString())
    return True


def variants(options, folder, special):
    for source in (Path(options.data, "data/onnx-node"), Path("/usr/share/libonnx-testdata/data/node")):
        for case in sorted(source.glob("*/model.onnx")):
            target = folder / source.name / case.parent.name
            if options.only and case.parent.name not in options.only.split(","):
                continue
            try:
                made = variant(options, case.parent, folder / source.name, special)
            except (Failed, ValueError, TypeError, KeyError):
                made = False
            if not made:
                shutil.rmtree(target, ignore_errors=True)


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")))
    bad = []
    for special in (False, True):
        folder = Path(tempfile.mkdtemp())
        variants(options, folder, special)
        for source in sorted({case.parent.parent for case in folder.glob("*/*/model.onnx")}):
            try:
                reply = json.loads(run([options.cli, "conformance", source, "--json"]))
            except Failed as failure:  # its status says that cases failed
                reply = json.loads(failure.output)
            print(f"{source.name}, {'special values' if special else 'other values'}: {reply['passed']} of {reply['passed'] + reply['failed']}", flush=True)
            differ = [case for case in reply["cases"] if case["status"] == "failed" and not KNOWN.search(case["name"]) and not is_rounding(case)]
            for case in differ:
                print(f"    {case['name']}, {case['engine']}: {case['detail'][:150]}")
            bad += [] if special else [case["name"] for case in differ]
    sys.exit(1 if bad else 0)


main()
