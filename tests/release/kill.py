# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 of `tune` at random moments: the store is whole, what was reported is in it, --resume goes to the end, no worker stays behind.

Ends with status 1 at the first moment where that does not hold."""
import fcntl
import os
import pty
import random
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from models import arguments, ask, cases


def descendants(pid):
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # ended meanwhile
        if fields[0] != "Z":
            parents[int(entry.parent.name)] = int(fields[1])
    found, more = set(), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def tune_until_killed(command, seconds):
    """The trials that it reported on a terminal, over all its runs, and the processes that it had started."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 250, 0, 0))
    os.set_blocking(ours, False)
    tune = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    shown, started, end = "", set(), time.monotonic() + seconds
    while time.monotonic() < end and tune.poll() is None:
        started |= descendants(tune.pid)
        time.sleep(0.02)
        try:
            shown += os.read(ours, 1 << 16).decode(errors="replace")
        except BlockingIOError:
            pass
    tune.kill()
    tune.wait()
    os.close(theirs)
    os.close(ours)
    counts = [int(count) for count in re.findall(r"(\d+) trials", shown)]
    reported = sum(a for a, b in zip(counts, counts[1:] + [0]) if b < a)
    return reported, started


def left_behind(started):
    for _ in range(100):
        left = [pid for pid in started if alive(pid)]
        if not left:
            return []
        time.sleep(0.1)
    return left


def check(options, model, seconds, folder):
    store = ["--store", folder / "trials.db"]
    budget = ["--trials-per-workload", "8"]
    command = [options.cli, "tune", model, *store, *budget]
    reported, started = tune_until_killed(list(map(str, command)), seconds)
    left = left_behind(started)
    if left:
        return f"workers are left behind: {left}"
    state = ask(options, "store", "check", *store)
    if not state["ok"] or state["problems"]:
        return f"the store is damaged: {state}"
    if state["trials"] < reported:
        return f"{reported} trials were reported, {state['trials']} are there"
    resume = ["--resume", "1"] if state["runs"] else []
    end = ask(options, "tune", model, *store, *budget, *resume, seconds=1800)
    again = ask(options, "store", "check", *store)
    print(f"{model}: killed after {seconds:.1f} s, {len(started)} processes; {reported} trials reported, {state['trials']} there, "
          f"{again['trials']} after --resume: {end['stop_reason']}", flush=True)
    return None if again["ok"] and again["trials"] >= state["trials"] else f"the store is damaged after --resume: {again}"


def main():
    options = arguments(__doc__.splitlines()[0], ("--moments", dict(type=int, default=20)), ("--seed", dict(type=int, default=1)))
    rng = random.Random(options.seed)
    models = ["encoder", *(str(case.path) for case in cases(options) if case.path.stem == "squeezenet1_1")]
    for moment in range(options.moments):
        with tempfile.TemporaryDirectory() as folder:
            problem = check(options, models[moment % len(models)], rng.uniform(0.3, 9), Path(folder))
        if problem:
            sys.exit(problem)


main()
