# SPDX-License-Identifier: GPL-3.0-or-later
"""Models tuned together against the same models tuned one after the other: what it takes, and whether the measurements were disturbed.

Ends with status 1 unless the jobs take at most 1.1 times their bound and less than one after the other, their modules are at most 3 % slower than those tuned alone, and
the untuned schedules' medians differ by at most 3 % in the middle."""
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
from models import arguments, ask, cases, run

TRIALS, THREADS = 64, 1


def job_file(folder, chosen, trials):
    text = f"threads = {THREADS}\ntrials = {trials}\ntransfer = false\n"
    for case in chosen:
        text += f"[[job]]\nname = {json.dumps(case.name)}\nmodel = {json.dumps(str(case.path.resolve()))}\n"
    file = folder / "jobs.toml"
    file.write_text(text)
    return file


def medians(store):
    """The median of each untuned schedule's samples, by workload: the first trial of a workload in a run."""
    rows = sqlite3.connect(store).execute("SELECT w.key, t.samples FROM trial t JOIN workload w ON w.id = t.workload_id JOIN run r ON r.id = t.run_id "
                                          "WHERE r.kind = 'tune' AND t.idx = 0 AND t.status = 'ok'")
    return {key: float(numpy.median(numpy.frombuffer(samples, "<f4"))) for key, samples in rows}


def ratio_of_modules(options, case, folder, seconds):
    """How long the module of the jobs takes, as a share of the one that was tuned alone; in turns."""
    modules = []
    for name in ("together", "alone"):
        module = folder / f"{case.name}-{name}"
        run([options.cli, "compile", case.path, "--threads", THREADS, "--store", folder / f"{name}.db", "-o", module])
        modules.append(module)
    reply = ask(options, "bench", modules[0], "--vs", modules[1], "--seconds", seconds)
    return reply["ratio"]


def main():
    options = arguments(__doc__.splitlines()[0], ("--trials", dict(type=int, default=TRIALS)), ("--policy", dict(default="predictive")))
    wanted = [name for name in (options.only or "squeezenet1_1,mobilenet_v2,mnist").split(",")]
    options.only = ",".join(wanted)
    chosen = cases(options)
    if len(chosen) != len(wanted):
        sys.exit(f"of {', '.join(wanted)} only {', '.join(case.name for case in chosen)} is there; name folders with --data and --models")
    bad = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begin = time.monotonic()
        together = json.loads(subprocess.run([options.cli, "jobs", "run", job_file(folder, chosen, options.trials), "--policy", options.policy, "--store", folder / "together.db",
                                              "--trace", folder / "trace.json", "--json"], check=True, capture_output=True, text=True).stdout)
        total = time.monotonic() - begin
        begin = time.monotonic()
        for case in chosen:
            ask(options, "tune", case.path, "--threads", str(THREADS), "--trials-per-workload", str(options.trials), "--no-transfer", "--store", folder / "alone.db", seconds=3600)
        alone = time.monotonic() - begin
        share = together["makespan_s"] / together["bound_s"]
        print(f"together {total:.1f} s, of which {together['makespan_s']:.1f} s in stages, {share:.3f} times their bound; one after the other {alone:.1f} s")
        bad |= share > 1.1 or total >= alone
        for case in chosen:
            ratio = ratio_of_modules(options, case, folder, 6)
            print(f"{case.name}: the module of the jobs takes {ratio:.3f} times as long as the one tuned alone")
            bad |= ratio > 1.03
        ours, theirs = medians(folder / "together.db"), medians(folder / "alone.db")
        ratios = sorted(ours[key] / theirs[key] for key in ours if key in theirs)
        print(f"medians of {len(ratios)} untuned schedules, together against alone: {statistics.median(ratios):.3f} in the middle, {ratios[0]:.3f} to {ratios[-1]:.3f}")
        bad |= abs(statistics.median(ratios) - 1) > 0.03
        trace = json.loads((folder / "trace.json").read_text())
        print(f"the trace has {len(trace['traceEvents'])} events")
    sys.exit(1 if bad else 0)


main()
