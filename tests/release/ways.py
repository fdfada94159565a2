# SPDX-License-Identifier: GPL-3.0-or-later
"""One model in every way that we compute it, against ONNX Runtime on the same inputs; imported by the checks beside it."""
import shutil
import tempfile
from pathlib import Path

import numpy
from models import Failed, ask, draw_inputs, file_name, run

WAYS = ["reference", "compiled", "module", "tuned", "export --onnx", "optimize"]


def share(found, expected, quantile):
    found, expected = found.astype("f8"), expected.astype("f8")
    if found.shape != expected.shape:
        return numpy.inf
    if found.size == 0 or numpy.array_equal(found, expected, equal_nan=True):
        return 0.0
    allowed = numpy.maximum(1e-3 * numpy.abs(expected), 1e-4 * numpy.max(numpy.abs(expected)))
    error = numpy.abs(found - expected) / numpy.maximum(allowed, 1e-300)
    return float(numpy.quantile(numpy.where(numpy.isnan(error), numpy.inf, error), quantile))


class Check:
    """Each way answers with its largest error as a share of the tolerance: 1e-3 of the element or 1e-4 of the output's largest value."""

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
        return max(share(outputs.get(name, numpy.empty((0, 0))), values, self.case.quantile) for name, values in self.expected.items())

    def ours(self, subject, *words):
        reply = ask(self.options, "run", subject, *words, *self.inputs, "--replace", "--save", self.folder / "ours")
        return self.worst({file_name(output["name"]): numpy.load(output["file"]) for output in reply["outputs"]})

    def engine(self, name):
        return self.ours(self.case.path, "--engine", name, *self.case.options())

    def module(self):
        folder = self.folder / "module"
        run([self.options.cli, "compile", self.case.path, *self.case.options(), "--untuned", "-o", folder])
        return self.ours(folder)

    def tuned(self):
        store, folder = self.folder / "trials.db", self.folder / "tuned"
        words = [*self.case.options(), "--threads", "1", "--store", store]
        run([self.options.cli, "tune", self.case.path, *words, "--trials-per-workload", "2", "--no-latency"], 1800)
        run([self.options.cli, "compile", self.case.path, *words, "-o", folder], 1800)
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

    def shares(self):
        """Of all ways in the order of WAYS; a way that fails says why instead."""
        for way in (lambda: self.engine("reference"), lambda: self.engine("compiled"), self.module, self.tuned, self.exported, self.rewritten):
            try:
                yield way()
            except Failed as failure:
                yield str(failure)[-120:].replace("\n", " ")


def row(options, case, limit=1, *more):
    """Prints the cells of a case, and whether one is over the limit."""
    folder = Path(tempfile.mkdtemp())
    try:
        cells = list(Check(options, case, folder).shares())
    except Failed as failure:
        cells = [str(failure)[-120:].replace("\n", " ")]
    finally:
        shutil.rmtree(folder)
    print("| " + " | ".join([case.name, *more, *(cell if isinstance(cell, str) else f"{cell:.2g}" for cell in cells)]) + " |", flush=True)
    return any(isinstance(cell, str) or not cell <= limit for cell in cells)
