# SPDX-License-Identifier: GPL-3.0-or-later
"""Trackers, servers and tunings as programs of their own, and what is left of them; imported by the checks beside it. The standard library only."""
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

MARK = "TUNESMITH_CHECK"


class Wrong(Exception):
    """Something that must not be: one sentence."""


def fields(pid):
    """State, parent ... of a process; nothing when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def alive(pid):
    return fields(pid)[:1] not in ([], ["Z"], ["X"])


def workers_of(pid):
    """Worker processes below a program."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        found = fields(entry.name)
        if found and found[0] != "Z":
            parents[int(entry.name)] = int(found[1])
    below, more = set(), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - below
        below |= more
    return sorted(child for child in below if Path(f"/proc/{child}/comm").exists() and Path(f"/proc/{child}/comm").read_text().startswith("tunesmith-worke"))


def within(seconds, condition, otherwise):
    """What `condition` gives once it is something; `otherwise` is what is wrong if it never is."""
    begin = time.monotonic()
    while True:
        if found := condition():
            return found
        if time.monotonic() - begin > seconds:
            raise Wrong(f"{otherwise() if callable(otherwise) else otherwise} within {seconds} s")
        time.sleep(0.02)


class Place:
    """A folder for all files of a check, and a mark by which its processes are found, whoever started them."""

    def __init__(self, cli):
        self.cli, self.mark = str(Path(cli).resolve()), uuid.uuid4().hex
        self.folder = Path(tempfile.mkdtemp(prefix="check-"))
        self.temporary = self.folder / "tmp"
        for name in ("tmp", "run", "data"):
            (self.folder / name).mkdir(mode=0o700)
        self.environment = {**os.environ, MARK: self.mark, "TMPDIR": str(self.temporary), "XDG_RUNTIME_DIR": str(self.folder / "run"), "XDG_DATA_HOME": str(self.folder / "data")}

    def processes(self):
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0") and alive(entry.name):
                    found.append(int(entry.name))
            except OSError:
                pass  # ended meanwhile
        return found

    def ask(self, *words, seconds=60):
        done = subprocess.run([self.cli, *map(str, words), "--json"], capture_output=True, text=True, timeout=seconds, env=self.environment)
        if done.returncode != 0:
            raise Wrong(f"{' '.join(map(str, words))}: status {done.returncode}: {done.stderr.strip()[-400:]}")
        return json.loads(done.stdout)

    def end(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


class Program:
    """One command of ours, started as often as one likes; stderr of all its lives is in one file. `before`: what starts it, such as ip netns exec."""

    def __init__(self, place, name, *words, before=()):
        self.place, self.name, self.words, self.before = place, name, [str(word) for word in words], list(before)
        self.log, self.out = place.folder / f"{name}.log", place.folder / f"{name}.out"
        self.process = None

    def start(self, *more):
        self.out.write_text("")
        with self.out.open("w") as out, self.log.open("a") as log:
            self.process = subprocess.Popen([*self.before, self.place.cli, *self.words, *map(str, more)], stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=self.place.environment)
        return self

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process is not None and self.process.poll() is None

    def address(self, seconds=60):
        """Where it listens: its first line."""
        within(seconds, lambda: "\n" in self.out.read_text() or not self.running(), f"{self.name} does not listen")
        line = self.out.read_text().partition("\n")[0]
        if not line:
            raise Wrong(f"{self.name} ended with status {self.process.returncode}: {self.errors()[-300:]}")
        if "--listen" in self.words:
            self.words[self.words.index("--listen") + 1] = line  # it comes back there
        return line

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=10):
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{self.name} does not end within {seconds} s of being asked to") from None

    def errors(self):
        return self.log.read_text(errors="replace")


def rows(store, query, *values):
    """What a store says, whoever writes to it; nothing while there is none."""
    if not Path(store).exists() or Path(store).stat().st_size == 0:
        return []
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)
    try:
        return connection.execute(query, values).fetchall()
    except sqlite3.OperationalError:
        return []  # it is being made
    finally:
        connection.close()
