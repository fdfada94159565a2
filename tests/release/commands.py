# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command with --json on every model: one tuning trial per workload, a module from it, and all that can be asked about both.

Ends with status 1 if a command fails or leaves out a key."""
import shutil
import sys
import tempfile
from pathlib import Path

from models import Failed, arguments, ask, cases, draw_inputs

KEYS = {
    "info": "inputs outputs nodes ops parameters flops unsupported",
    "tasks": "tasks",
    "run": "outputs",
    "tune": "run trials failed seconds stop_reason before_ms after_ms workloads",
    "compile": "",
    "bench": "p5_ms median_ms p95_ms runs gflops peak_fraction threads",
    "store": "ok problems runs trials",
    "machine": "cpu isa threads",
    "models": "",
}


def asked(options, command, *words):
    reply = ask(options, command, *words, seconds=1800)
    missing = [key for key in KEYS[command].split() if key not in reply]
    if missing:
        raise Failed(f"{command} leaves out {', '.join(missing)}")
    return reply


def check(options, case, folder):
    store = ["--store", folder / "trials.db"]
    model = [case.path, *case.options()]
    inputs = draw_inputs(options, case, folder / "in")
    asked(options, "info", *model)
    asked(options, "tasks", *model)
    asked(options, "run", *model, *inputs, "--engine", "reference", "--save", folder / "reference")
    asked(options, "run", *model, *inputs, "--engine", "compiled", "--save", folder / "compiled")
    tuned = asked(options, "tune", *model, *store, "--trials-per-workload", "1")
    asked(options, "compile", *model, *store, "-o", folder / "module")
    asked(options, "run", folder / "module", *inputs, "--save", folder / "exported")
    timed = asked(options, "bench", folder / "module", *store, "--seconds", "0.5")
    problems = asked(options, "store", "check", *store)["problems"]
    if problems:
        raise Failed(f"the store has problems: {problems}")
    return f"{tuned['trials']} trials, {tuned['failed']} failed, {timed['p5_ms']:.3f} ms"


def main():
    options = arguments(__doc__.splitlines()[0])
    asked(options, "models")
    with tempfile.TemporaryDirectory() as folder:
        asked(options, "machine", "--store", Path(folder) / "trials.db")
    bad = []
    for case in cases(options):
        folder = Path(tempfile.mkdtemp())
        try:
            print(f"{case.name}: {check(options, case, folder)}", flush=True)
        except Failed as failure:
            bad.append(case.name)
            print(f"{case.name}: FAILED: {failure}", flush=True)
        finally:
            shutil.rmtree(folder)
    print(f"{len(bad)} failed" + (": " + ", ".join(bad) if bad else ""))
    sys.exit(1 if bad else 0)


main()
