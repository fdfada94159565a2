# SPDX-License-Identifier: GPL-3.0-or-later
"""Models tuned together against the same models tuned one after the other: what it takes, and whether the measurements were disturbed.

What is measured is compared with the same measured alone: one stage at a time, so that nothing is built beside it, twice, which says how much a kernel differs by itself. Ends with status 1 unless
the jobs take at most 1.1 times their bound and less than `tune` one after the other, their modules are at most 3 % slower than those tuned alone, and, of the untuned schedules' medians as of those of
the final records, the one in the middle differs by at most 3 % and no more kernels differ by more than 3 % and their own noise than chance explains. No event of the trace may overlap another one."""
import json
import math
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy
from models import arguments, ask, cases, run

TRIALS, THREADS = 64, 1
LIMIT = 0.03   # by which kernels and modules may differ
CHANCE = 0.01  # what is less likely than that is no chance

UNTUNED = "SELECT w.key, t.samples FROM trial t JOIN workload w ON w.id = t.workload_id JOIN run r ON r.id = t.run_id WHERE r.kind = 'tune' AND t.idx = 0 AND t.status = 'ok'"
FINAL = "SELECT w.key, t.samples FROM record c JOIN trial t ON t.id = c.trial_id JOIN workload w ON w.id = t.workload_id"


def job_file(folder, name, chosen, trials, more=""):
    text = f"threads = {THREADS}\ntrials = {trials}\ntransfer = false\n{more}"
    for case in chosen:
        text += f"[[job]]\nname = {json.dumps(case.name)}\nmodel = {json.dumps(str(case.path.resolve()))}\n"
    file = folder / f"{name}.toml"
    file.write_text(text)
    return file


def run_jobs(options, folder, name, policy, chosen, more=""):
    """All models as jobs of one file: what `jobs run` says; the store and the trace have the same name."""
    file = job_file(folder, name, chosen, options.trials, more)
    return ask(options, "jobs", "run", file, "--policy", policy, "--store", folder / f"{name}.db", "--trace", folder / f"{name}.json", seconds=3600)


def medians(store, query):
    """The median of the samples, by workload."""
    rows = sqlite3.connect(store).execute(query)
    return {key: float(numpy.median(numpy.frombuffer(samples, "<f4"))) for key, samples in rows}


def overlaps(file):
    """Events of a trace on one track of which neither ends before the other begins, nor lies within it: the format does not allow them, and viewers drop them."""
    tracks, bad = {}, 0
    for event in json.loads(file.read_text())["traceEvents"]:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            tracks.setdefault((event["pid"], event["tid"]), []).append((begin, -round(event["dur"] * 1000)))
    for events in tracks.values():
        open_ends = []
        for begin, less in sorted(events):  # of those that begin at once the longer one first
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            bad += bool(open_ends) and begin - less > open_ends[-1]
            open_ends.append(begin - less)
    return bad, sum(map(len, tracks.values()))


def busy_at_once(file):
    """How many stages of a trace ran at most at a time."""
    changes = []
    for event in json.loads(file.read_text())["traceEvents"]:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            changes += [(begin, 1), (begin + round(event["dur"] * 1000), -1)]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def more_than_chance(seen, mirrored):
    """Whether so many would be seen as rarely as CHANCE, if both were as likely."""
    of = seen + mirrored
    return seen > mirrored and sum(math.comb(of, k) for k in range(seen, of + 1)) / 2**of < CHANCE


def judge(what, together, alone, again):
    """Prints how times together differ from those alone; true where that is no chance.

    A kernel is outside if it differs by more than the limit and what it differs by itself, alone against alone. Were nothing disturbed, the second time alone would be outside as often, with the
    first of both and the time together in each other's places."""
    keys = sorted(together.keys() & alone.keys() & again.keys())
    if not keys:
        print(f"{what}: there is none that was measured all three times")
        return True
    ratios = sorted(together[key] / alone[key] for key in keys)
    off = [(abs(together[key] / alone[key] - 1), abs(again[key] / alone[key] - 1)) for key in keys]
    outside = sum(there > LIMIT + noise for there, noise in off)
    mirrored = sum(noise > LIMIT + there for there, noise in off)
    middle = statistics.median(ratios)
    spread = ", ".join(f"{share:.0%} {numpy.quantile(ratios, share):.3f}" for share in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1))
    print(f"{what}: {len(keys)}, together against alone: {spread}")
    print(f"  noise alone: {numpy.quantile([noise for _, noise in off], 0.5):.1%} in the middle, {max(noise for _, noise in off):.1%} at most; "
          f"outside {LIMIT:.0%} and their noise: {outside} ({outside / len(keys):.0%}), by chance {mirrored} ({mirrored / len(keys):.0%})")
    return abs(middle - 1) > LIMIT or more_than_chance(outside, mirrored)


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
        together = run_jobs(options, folder, "together", options.policy, chosen)
        total = time.monotonic() - begin
        begin = time.monotonic()
        for case in chosen:
            ask(options, "tune", case.path, "--threads", str(THREADS), "--trials-per-workload", str(options.trials), "--no-transfer", "--store", folder / "tune.db", seconds=3600)
        one_by_one = time.monotonic() - begin
        share = together["makespan_s"] / together["bound_s"]
        print(f"together {total:.1f} s, of which {together['makespan_s']:.1f} s in stages, {share:.3f} times their bound; one after the other {one_by_one:.1f} s")
        bad |= share > 1.1 or total >= one_by_one
        for store in ("alone", "again"):
            run_jobs(options, folder, store, "sequential", chosen, f"cores = {THREADS}\n")
            if busy_at_once(folder / f"{store}.json") > THREADS:
                sys.exit("what is to be alone was built beside its measurements: the cores that a job may have are not kept")
        for case in chosen:
            ratio = ratio_of_modules(options, case, folder, 6)
            print(f"{case.name}: the module of the jobs takes {ratio:.3f} times as long as the one tuned alone")
            bad |= ratio > 1 + LIMIT
        for what, query in (("medians of untuned schedules", UNTUNED), ("medians of final records", FINAL)):
            bad |= judge(what, *(medians(folder / f"{store}.db", query) for store in ("together", "alone", "again")))
        overlapping, events = overlaps(folder / "together.json")
        print(f"the trace has {events} events, of which {overlapping} overlap others of their track")
        bad |= overlapping > 0 or events == 0
    sys.exit(1 if bad else 0)


main()
