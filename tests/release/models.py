# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that a release is checked on, and how their inputs are drawn; imported by the checks beside it."""
import argparse
import json
import os
import subprocess
import zlib
from pathlib import Path

import numpy

OCR = "p2o.DynamicDimension.0={},p2o.DynamicDimension.1={},p2o.DynamicDimension.2={}"

# Open dimensions of the shared models: two choices of each.
DIMENSIONS = {
    "candy": ["None=1", "None=2"],
    "ch_PP-OCRv4_det_infer": [OCR.format(2, 64, 64), OCR.format(1, 320, 320)],
    "ch_ppocr_mobile_v2.0_cls_infer": [OCR.format(1, 64, 64), OCR.format(2, 48, 192)],
    "embedding_model": ["unk__314=1", "unk__314=3"],
    "lm_model0_opt": ["batch_size=1", "batch_size=2"],
    "magika_v3_3": ["unk__214=1", "unk__214=3"],
    "melspectrogram": ["batch_size=1,samples=16000", "batch_size=2,samples=8000"],
    "mnv3_detection_opt": ["batch_size=1", "batch_size=2"],
    "silero_vad_16k_op15": ["batch=1,sequence=512", "batch=2,sequence=576"],
    "silero_vad_op18_ifless": ["batch=1,sequence=512", "batch=2,sequence=512"],
}


def noise(rng, shape):
    return rng.standard_normal(shape)


def pixels(rng, shape):
    return rng.uniform(0, 255, shape)


def page(rng, shape):
    """White paper with rows of black signs of 5 x 7 dots: on noise the detector finds nothing, and then its last Sigmoid is all rounding."""
    paper = numpy.full(shape, 2.0)
    batch, _, height, width = shape
    for image, y, x in numpy.ndindex(batch, (height - 2) // 20, (width - 2) // 12):
        dots = numpy.kron(rng.random((7, 5)) < 0.55, numpy.ones((2, 2), bool))
        sign = paper[image, :, 2 + 20 * y :, 2 + 12 * x :][:, :14, :10]
        sign[:, dots[: sign.shape[1], : sign.shape[2]]] = -2.0
    return paper


PICTURES = {"candy": pixels, "mlsd_320_tiny": pixels, "ch_PP-OCRv4_det_infer": page}  # what these can see; all others take noise
FLIPS = {"mlsd_320_tiny": 0.99}  # models in which rounding decides what few outputs are: the share of outputs that must agree
SETTLED = {"sr": 16000}  # inputs that are no data
TYPES = {"float32": "f4", "float64": "f8", "float16": "f2", "int64": "i8", "int32": "i4", "uint8": "u1", "int8": "i1", "bool": "?"}


class Case:
    """A model with its open dimensions settled."""

    def __init__(self, path, dimensions=""):
        self.path, self.dimensions = Path(path), dimensions
        self.quantile = FLIPS.get(self.path.stem, 1)
        self.name = self.path.stem + (" " + ",".join(part.split("=")[-1] for part in dimensions.split(",")) if dimensions else "")

    def options(self):
        return ["--dims", self.dimensions] if self.dimensions else []


def arguments(description, *more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cli", default="build/release/bin/tunesmith-cli", help="the program that is checked")
    parser.add_argument("--data", default=os.environ.get("TUNESMITH_TEST_DATA", "../shared"), help="folder with models/")
    parser.add_argument("--models", help="folder with further ONNX files")
    parser.add_argument("--only", default="", help="names of models, with commas")
    parser.add_argument("--scale", type=float, default=1, help="a factor on the inputs, for models whose random weights leave little of them")
    for flags in more:
        parser.add_argument(flags[0], **flags[1])
    return parser.parse_args()


def cases(options):
    files = sorted(Path(options.data, "models").rglob("*.onnx"))
    files += sorted(Path(options.models).glob("*.onnx")) if options.models else []
    only = [name for name in options.only.split(",") if name]
    found = [Case(file, dimensions) for file in files for dimensions in DIMENSIONS.get(file.stem, [""])]
    return [case for case in found if not only or case.path.stem in only]


class Failed(Exception):
    """A command that did not end with status 0: what it said."""


def run(command, seconds=600):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        failure = Failed(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()[-400:]}")
        failure.output = done.stdout
        raise failure
    return done.stdout


def ask(options, *words, seconds=600):
    """What a command of ours answers with --json."""
    return json.loads(run([options.cli, *words, "--json"], seconds))


def file_name(tensor):
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in tensor) + ".npy"


def draw_inputs(options, case, folder):
    """Random inputs as .npy files, the same for everyone, and the options that hand them to a command of ours."""
    folder.mkdir(parents=True, exist_ok=True)
    words = []
    for tensor in ask(options, "info", case.path, *case.options())["inputs"]:
        rng = numpy.random.default_rng(zlib.crc32((case.name + tensor["name"]).encode()))
        kind = numpy.dtype(TYPES[tensor["type"]])
        if tensor["name"] in SETTLED:
            values = numpy.full(tensor["shape"], SETTLED[tensor["name"]], kind)
        elif kind.kind == "f":
            values = PICTURES.get(case.path.stem, noise)(rng, tensor["shape"]).astype(kind) * kind.type(options.scale)
        else:
            values = rng.integers(1, 2 if kind.kind == "b" else 100, tensor["shape"]).astype(kind)
        file = folder / file_name(tensor["name"])
        numpy.save(file, values)
        words += ["--input", f"{tensor['name']}={file}"]
    return words
