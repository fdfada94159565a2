# SPDX-License-Identifier: GPL-3.0-or-later
"""What rewriting is to find on known models, counted in kernel launches, with every search in the same time.

Ends with status 1 unless squeezenet1_1 goes from 26 to 18 convolutions and no Relu is a kernel of its own, within 50 expansions; nasrnn needs at most 6 products, inception_v3
at most 75 convolutions, mobilenet_v2 no batch normalization; query, key and value of every layer of a bert_* are one product; the e-graph or tree search finds no less
than backtracking, and backtracking with alpha 1.05 no less than with 1.0; 20,000 candidates of squeezenet1_1 are made and costed in a second of processor time; no search takes
more than 2 GB."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from models import Failed, arguments, ask, cases

SECONDS, MOST_MB, CANDIDATES = 10, 2000, 20_000
SEARCHES = ("greedy", "backtracking", "beam", "mcts", "egraph")
NO_LIMIT = str(10**12)
TINY = 1e-9  # of launches: rounding


class Search:
    """One call of `optimize`: what it says, its processor time and its peak memory."""

    def __init__(self, options, model, *words, seconds=SECONDS, budget=NO_LIMIT):
        command = [options.cli, "optimize", model, "--cost", "kernels", "--time", str(seconds), "--budget", budget, "--json", *words]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said.seek(0)
            if process.returncode != 0:
                raise Failed(f"{' '.join(map(str, command))}: status {process.returncode}: {said.read().decode().strip()[-400:]}")
            self.said = json.loads(out.read())
        self.cost, self.processor, self.peak = self.said["cost_after"], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

    def count(self, *operators, after=True):
        counts = self.said["operators_after" if after else "operators_before"]
        return sum(counts.get(operator, 0) for operator in operators)

    def uses(self, rule):
        return sum(use["count"] for use in self.said["rules"] if use["rule"] == rule)


def squeezenet(options, model, found, require):
    require(found.count("Conv", after=False) == 26 and found.count("Conv") == 18, f"{found.count('Conv', after=False)} -> {found.count('Conv')} convolutions, not 26 -> 18")
    few = Search(options, model, budget="50")
    require(few.cost <= found.cost + TINY, f"50 expansions come to {few.cost:.4f} launches, not {found.cost:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rewritten.onnx"
        Search(options, model, "-o", file)
        alone = [task["name"] for task in ask(options, "tasks", file)["tasks"] if task["op"] == "Relu"]
    require(not alone, f"kernels of their own: {', '.join(alone)}")
    tree = Search(options, model, "--search", "mcts")
    rate = tree.said["generated"] / tree.processor
    require(rate >= CANDIDATES, f"{rate:.0f} candidates in a second, not {CANDIDATES}")
    return f"{rate:.0f} candidates a second, {tree.peak:.0f} MB"


def nasrnn(_options, _model, found, require):
    require(found.count("MatMul", "Gemm") <= 6, f"{found.count('MatMul', 'Gemm')} products, not 6")


def inception(_options, _model, found, require):
    require(found.count("Conv") <= 75, f"{found.count('Conv')} convolutions, not 75")


def mobilenet(_options, _model, found, require):
    require(found.count("BatchNormalization") == 0, f"{found.count('BatchNormalization')} batch normalizations are left")


def bert(_options, _model, found, require):
    layers = found.count("Softmax", after=False)
    merged = found.count("MatMul", "Gemm", after=False) - found.count("MatMul", "Gemm")
    require(layers > 0 and found.uses("merge-products") == layers and merged == 2 * layers,
            f"of {layers} layers {found.uses('merge-products')} have products merged, which saves {merged} products, not {2 * layers}")


EXPECTED = {"squeezenet1_1": squeezenet, "nasrnn": nasrnn, "inception_v3": inception, "mobilenet_v2": mobilenet, "bert": bert}


def check(options, case):
    bad = []

    def require(holds, otherwise):
        if not holds:
            bad.append(otherwise)

    model = [case.path, *case.options()]
    found = {search: Search(options, *model, "--search", search) for search in SEARCHES}
    plain = Search(options, *model, "--search", "backtracking", "--alpha", "1.0")
    best = found["backtracking"]
    require(min(found["egraph"].cost, found["mcts"].cost) <= best.cost + TINY, "neither the e-graph nor tree search finds what backtracking does")
    require(best.cost <= plain.cost + TINY, f"alpha 1.05 comes to {best.cost:.4f} launches, 1.0 to {plain.cost:.4f}")
    peak = max(search.peak for search in found.values())
    require(peak <= MOST_MB, f"{peak:.0f} MB")
    expected = EXPECTED.get("bert" if case.path.stem.startswith("bert_") else case.path.stem)
    more = expected(options, case.path, best, require) if expected else None
    costs = ", ".join(f"{name} {search.cost:.2f} ({search.said['expanded']} expanded)" for name, search in found.items())
    print(f"{case.name}: {best.said['cost_before']:.2f} launches -> {costs}; at most {peak:.0f} MB" + (f"; {more}" if more else ""), flush=True)
    return bad


def main():
    options = arguments(__doc__.splitlines()[0])
    chosen = [case for case in cases(options) if options.only or case.path.stem in EXPECTED or case.path.stem.startswith("bert_")]
    missing = [name for name in ("squeezenet1_1", "inception_v3", "nasrnn", "bert_mini", "mobilenet_v2") if name not in [case.path.stem for case in chosen]]
    if missing and not options.only:
        sys.exit(f"{', '.join(missing)}: not there; name a folder with --models")
    bad = []
    for case in chosen:
        try:
            wrong = check(options, case)
        except Failed as failure:
            wrong = [str(failure)]
        for sentence in wrong:
            print(f"{case.name}: FAILED: {sentence}", flush=True)
        bad += [case.name] if wrong else []
    print(f"{len(bad)} failed" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
