# SPDX-License-Identifier: GPL-3.0-or-later
"""Every model in the reference engine, compiled, exported as a module, exported as ONNX and rewritten, against ONNX Runtime on the same inputs.

Prints a table: the largest error of each as a share of the tolerance, which is 1e-3 of the element or 1e-4 of the output's largest
value. Ends with status 1 if a share is over 1."""
import shutil
import sys
import tempfile
from pathlib import Path

import numpy
from models import Failed, arguments, ask, cases, draw_inputs, file_name, run


def share(found, expected):
    found, expected = found.astype("f8"), expected.astype("f8")
    if found.shape != expected.shape:
        return numpy.inf
    if found.size == 0 or numpy.array_equal(found, expected, equal_nan=True):
        return 0.0
    allowed = numpy.maximum(1e-3 * numpy.abs(expected), 1e-4 * numpy.max(numpy.abs(expected)))
    error = numpy.abs(found - expected) / numpy.maximum(allowed, 1e-300)
    return float(numpy.max(numpy.where(numpy.isnan(error), numpy.inf, error)))


class Check:
    def __init__(self, options, case, folder):
        self.options, self.case, self.folder = options, case, folder
        self.inputs = draw_inputs(options, case, folder / "in")
        self.expected = self.runtime(case.path, "expected")

    def runtime(self, model, name):
        out = self.folder / name
        words = ["--dims", self.case.dimensions] if self.case.dimensions else []
        run(["node", Path(self.options.ort) / "ort.js", "run", model, "--in", self.folder / "in", "--out", out, *words])
        return {file.name[4:]: numpy.load(file) for file in out.glob("out.*.npy")}

    def worst(self, outputs):
        return max(share(outputs.get(name, numpy.empty((0, 0))), values) for name, values in self.expected.items())

    def ours(self, subject, *words):
        reply = ask(self.options, "run", subject, *words, *self.inputs, "--save", self.folder / "ours")
        return self.worst({file_name(output["name"]): numpy.load(output["file"]) for output in reply["outputs"]})

    def engine(self, name):
        return self.ours(self.case.path, "--engine", name, *self.case.options())

    def module(self):
        folder = self.folder / "module"
        run([self.options.cli, "compile", self.case.path, *self.case.options(), "--untuned", "-o", folder])
        return self.ours(folder)

    def exported(self):
        file = self.folder / "exported.onnx"
        run([self.options.cli, "export", self.case.path, *self.case.options(), "--onnx", file])
        return self.worst(self.runtime(file, "again"))

    def rewritten(self):
        """By substitutions: in ONNX Runtime, in the reference engine and compiled, whichever is worst."""
        file = self.folder / "rewritten.onnx"
        run([self.options.cli, "optimize", self.case.path, *self.case.options(), "--cost", "kernels", "--time", "10", "-o", file])
        ours = [self.ours(file, "--engine", engine) for engine in ("reference", "compiled")]
        return max(self.worst(self.runtime(file, "rewritten")), *ours)


def row(options, case):
    folder = Path(tempfile.mkdtemp())
    cells, bad = [], False
    try:
        check = Check(options, case, folder)
        for step in (lambda: check.engine("reference"), lambda: check.engine("compiled"), check.module, check.exported, check.rewritten):
            try:
                value = step()
                cells.append(f"{value:.2g}")
                bad = bad or not value <= 1
            except Failed as failure:
                cells.append(str(failure)[-90:].replace("\n", " "))
                bad = True
    finally:
        shutil.rmtree(folder)
    print("| " + " | ".join([case.name, *cells]) + " |", flush=True)
    return bad


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")))
    print("| model | reference | compiled | module | export --onnx | optimize |\n|---|---|---|---|---|---|", flush=True)
    bad = [case.name for case in cases(options) if row(options, case)]
    print(f"\n{len(bad)} over the tolerance" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
