# SPDX-License-Identifier: GPL-3.0-or-later
"""The public bug reports of the test data, written by `export --onnx` and by `optimize`, in ONNX Runtime.

Every output of a written file must have the values that the report calls right, or those that ONNX Runtime computes on the file of the
report: it is wrong on some of them itself. Prints what is neither, and ends with status 1 if there is any. Needs Debian's python3-onnx."""
import json
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from models import Failed, arguments, run
from runtime import answers

# ONNX Runtime's way into this check takes no input that has an initializer.
KNOWN = {"10_default_input"}


class Report:
    def __init__(self, folder):
        case = json.loads((folder / "case.json").read_text())
        self.name, self.model = folder.name, folder / case["model"]
        self.inputs = {name: numpy.load(folder / "in" / file) for name, file in case["inputs"].items()}
        self.expected = {name: numpy.load(folder / "expect" / file) for name, file in case["expect"].items()}

    def dimensions(self):
        """The extents that the inputs give to open dimensions, as --dims takes them."""
        extents = {}
        for value in onnx.load(str(self.model)).graph.input:
            for d, dim in enumerate(value.type.tensor_type.shape.dim):
                if value.name in self.inputs and not dim.HasField("dim_value"):
                    extents[dim.dim_param or f"{value.name}.{d}"] = self.inputs[value.name].shape[d]
        return ["--dims", ",".join(f"{name}={extent}" for name, extent in extents.items())] if extents else []

    def written(self, options, folder):
        """The files of the two commands by their name; one that is refused is said and its file not there."""
        files = {"export": folder / "exported.onnx", "optimize": folder / "optimized.onnx"}
        words = {"export": ["--onnx"], "optimize": ["--cost", "kernels", "--time", "5", "-o"]}
        for command, file in files.items():
            try:
                run([options.cli, command, self.model, *self.dimensions(), *words[command], file])
            except Failed as failure:
                print(f"{self.name}: {str(failure)[-200:]}")
        return files


def same(a, b):
    if a is None or b is None or (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if a.dtype.kind != "f":
        return numpy.array_equal(a, b)
    return numpy.allclose(a.astype("f8"), b.astype("f8"), 1e-4, 1e-5, equal_nan=True)


def computed(options, report, model, folder):
    """Outputs by name; none where ONNX Runtime refuses the model."""
    try:
        return answers(options, model, report.inputs, folder)
    except Failed as failure:
        print(f"{report.name}, {model.name}: {str(failure)[-200:]}")
        return {}


def judge(options, report, folder):
    """How many outputs of written files are right, are ONNX Runtime's own, and are neither."""
    own = computed(options, report, report.model, folder)
    counts = {"right": 0, "as on the report's file": 0, "wrong": 0}
    for way, file in report.written(options, folder).items():
        found = computed(options, report, file, folder)
        for name, expected in report.expected.items():
            verdict = "right" if same(found.get(name), expected) else "as on the report's file" if same(found.get(name), own.get(name)) else "wrong"
            counts[verdict] += 1
            if verdict != "right":
                print(f"{report.name}, {way}, {name[:40]}: {verdict}", flush=True)
    return counts


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")))
    total, only = {}, [name for name in options.only.split(",") if name]
    for case in sorted(Path(options.data, "data/reports").glob("*/case.json")):
        if case.parent.name in KNOWN or (only and case.parent.name not in only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for verdict, count in judge(options, Report(case.parent), Path(folder)).items():
                total[verdict] = total.get(verdict, 0) + count
    print(", ".join(f"{count} {verdict}" for verdict, count in total.items()) or f"no reports in {options.data}/data/reports")
    sys.exit(0 if total.get("wrong") == 0 else 1)


main()
