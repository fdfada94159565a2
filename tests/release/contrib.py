# SPDX-License-Identifier: GPL-3.0-or-later
"""Models with operators of com.microsoft in both engines and as modules against ONNX Runtime on the same inputs.

Takes every model of a folder (the test data's contrib-onnx, unless --models names another) and those of contrib_cases.py. What ONNX
Runtime runs must agree in both engines and as a module: bytes are equal, floats are within what ONNX Runtime grants its own kernels.
What it refuses must give numbers or one sentence, never a crash. Prints a table with the largest error of each as a share of the
tolerance, and ends with status 1 if something is wrong."""
import shutil
import subprocess
import sys
import tempfile
import zlib
from fnmatch import fnmatch
from pathlib import Path

import numpy
from contrib_cases import cases
from models import TYPES, Failed, arguments, ask, file_name, run

IMPORT = b"\x42\x11\x0a\x0dcom.microsoft\x10\x01"  # ModelProto.opset_import: ONNX Runtime wants it, the models leave it out
TOLERANCES = {"float32": (1e-3, 1e-3), "float16": (5e-3, 5e-3), "float64": (1e-6, 1e-6)}  # absolute, relative


def draw(rng, model, name, shape, kind):
    """What inputs mean is in their names."""
    if numpy.dtype(kind).kind == "f":  # products keep the scale of their rows, else rounding decides what attention looks at
        return rng.standard_normal(shape) * (shape[0] ** -0.5 if name == "weights" and shape[0] else 1)
    if name.startswith("pos"):
        return numpy.arange(numpy.prod(shape)).reshape(shape)
    if "mask" in name:
        return rng.integers(0, 2, shape)
    if name == "seqlens_k":
        return numpy.full(shape, 7)
    return rng.integers(0, 200, shape)


def share(found, expected):
    if found.shape != expected.shape:
        return numpy.inf
    if expected.dtype.kind not in "f":
        return 0.0 if numpy.array_equal(found, expected) else numpy.inf
    absolute, relative = TOLERANCES[str(expected.dtype)]
    found, expected = found.astype("f8"), expected.astype("f8")
    same = (found == expected) | (numpy.isnan(found) & numpy.isnan(expected))
    error = numpy.where(same, 0, numpy.abs(found - expected) / (absolute + relative * numpy.abs(expected)))
    return float(numpy.max(numpy.where(numpy.isnan(error), numpy.inf, error), initial=0))


class Stored:
    """A model of the test data; its inputs are drawn."""

    module = True

    def __init__(self, path):
        self.path, self.stem = path, path.stem

    def model(self):
        stored = self.path.read_bytes()
        return stored if IMPORT in stored else stored + IMPORT


class Case:
    def __init__(self, options, subject, folder):
        self.options, self.subject, self.folder, self.path = options, subject, folder, folder / (subject.stem + ".onnx")
        self.path.write_bytes(subject.model())
        (folder / "in").mkdir()
        self.words = []
        if hasattr(subject, "fed"):
            for name, values in subject.fed().items():
                self.give(name, values)

    def give(self, name, values):
        file = self.folder / "in" / file_name(name)
        numpy.save(file, values)
        self.words += ["--input", f"{name}={file}"]

    def draw_inputs(self):
        """Whether we know the model; ONNX Runtime draws inputs itself where there are none."""
        try:
            inputs = ask(self.options, "info", self.path)["inputs"]
        except Failed:
            return False
        if self.words:
            return True
        for tensor in inputs:
            kind = TYPES[tensor["type"]]
            rng = numpy.random.default_rng(zlib.crc32((self.path.stem + tensor["name"]).encode()))
            self.give(tensor["name"], draw(rng, self.path.stem, tensor["name"], tensor["shape"], kind).astype(kind))
        return True

    def expected(self):
        out = self.folder / "expected"
        run(["node", Path(self.options.ort) / "ort.js", "run", self.path, "--in", self.folder / "in", "--out", out])
        return {file.name[4:]: numpy.load(file) for file in out.glob("out.*.npy")}

    def engine(self, name, expected):
        return self.worst(expected, self.path, "--engine", name)

    def module(self, expected):
        folder = self.folder / "module"
        run([self.options.cli, "compile", self.path, "--untuned", "-o", folder])
        return self.worst(expected, folder)

    def worst(self, expected, subject, *words):
        reply = ask(self.options, "run", subject, *words, *self.words, "--replace", "--save", self.folder / "ours")
        found = {file_name(output["name"]): numpy.load(output["file"]) for output in reply["outputs"]}
        return max(share(found.get(output, numpy.empty((0, 0))), values) for output, values in expected.items())

    def refusal(self, *words):
        """None where a command of ours ends as it should, with numbers or with one sentence."""
        done = subprocess.run([self.options.cli, *words, self.path], capture_output=True, text=True, timeout=600)
        if done.returncode not in (0, 1, 2) or (done.returncode != 0 and len(done.stderr.strip().splitlines()) != 1):
            return f"status {done.returncode}: {done.stderr.strip()[-80:]}"
        return None


def row(options, subject):
    folder = Path(tempfile.mkdtemp())
    try:
        case = Case(options, subject, folder)
        wrong = [why for why in (case.refusal("info"), case.refusal("run", "--engine", "reference"), case.refusal("run")) if why]
        if wrong:
            return ["crash: " + wrong[0]], True
        ours = case.draw_inputs()
        try:
            expected = case.expected()
        except Failed:
            return ["refused", "", "", ""], False
        if not ours:
            return ["runs", "refused", "refused", "refused"], True
        shares = [case.engine(name, expected) for name in ("reference", "compiled")]
        shares += [case.module(expected)] if subject.module else []
        return ["runs", *(f"{value:.2g}" for value in shares), *([] if subject.module else [""])], not max(shares) <= 1
    except Failed as failure:
        return ["runs", str(failure)[-120:].replace("\n", " ")], True
    finally:
        shutil.rmtree(folder)


def subjects(options):
    folder = Path(options.models) if options.models else Path(options.data, "data/contrib-onnx")
    yield from (Stored(path) for path in sorted(folder.glob("*.onnx")) if path.stat().st_size <= 1 << 28)
    if not options.models:
        yield from cases()


def main():
    options = arguments(__doc__.splitlines()[0], ("--ort", dict(required=True, help="folder with ort.js and node_modules")))
    only = [name for name in options.only.split(",") if name]
    bad = []
    print("| model | ONNX Runtime | reference | compiled | module |\n|---|---|---|---|---|", flush=True)
    for subject in subjects(options):
        if only and not any(fnmatch(subject.stem, name) for name in only):
            continue
        cells, wrong = row(options, subject)
        bad += [subject.stem] if wrong else []
        print("| " + " | ".join([subject.stem, *cells]) + " |", flush=True)
    print(f"\n{len(bad)} disagree" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
