# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 of a client, the tracker, a server, a worker of a server or of the local program, or the whole program, at random moments.

A tracker, two real servers and two that make times up, three tunings on them, and a queue of jobs on this machine. After each kill, what was killed is started
again (but a worker, which its owner starts), and every tuning and the queue have a new trial within 10 s. At the end every job is done, every trial of every run is
in its store once, tunings on the servers that make times up have the trials that they have without kills, and no process and no temporary folder is left. Ends with
status 1 where that does not hold. The figures are the last line, as JSON. The standard library only."""
import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import time

from cluster import Place, Program, Wrong, alive, rows, within, workers_of

PATIENCE = 10  # seconds
MODEL = "encoder"
KINDS = ("client", "tracker", "server", "server's worker", "local worker", "program")
TRIALS = """SELECT count(*) + (SELECT count(*) FROM run WHERE state <> 'RUNNING') FROM trial"""
TRAIL = """SELECT w.key, t.idx, t.batch, t.config, t.status, t.p5_ms FROM trial t JOIN workload w ON w.id = t.workload_id JOIN run r ON r.id = t.run_id
           WHERE r.seed = ? AND t.final = 0 ORDER BY w.key, t.idx"""
BEGUN = "WITH begun AS (SELECT id, state FROM run WHERE kind = 'tune' AND EXISTS (SELECT 1 FROM trial WHERE run_id = run.id))"  # a kill before its first trial leaves nothing of a run
HOLES = BEGUN + """SELECT r.id, w.workload_id, count(*), min(t.idx), max(t.idx), w.budget, w.space_size FROM run r JOIN run_workload w ON w.run_id = r.id
           LEFT JOIN trial t ON t.run_id = r.id AND t.workload_id = w.workload_id AND t.final = 0
           WHERE r.id IN (SELECT id FROM begun) GROUP BY r.id, w.workload_id"""


class Doer:
    """What makes trials: a program that is started again until its work is done, and then gets more."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.store = place.folder / f"{name}.db"
        self.done, self.program = 0, None

    def progress(self):
        return (rows(self.store, TRIALS) or [(0,)])[0][0]

    def kill(self):
        self.program.kill()

    def look(self, more):
        """Notices an end, and gives it more work if there shall be."""
        if self.program.running():
            return True
        if self.program.process.returncode != 0:
            raise Wrong(f"{self.name} ended with status {self.program.process.returncode}: {self.program.errors().strip()[-400:]}")
        self.done += 1
        if more:
            self.begin()
        return more


class Tuning(Doer):
    def __init__(self, place, name, key, tracker, trials):
        super().__init__(place, name)
        self.key, self.tracker, self.trials = key, tracker, trials
        self.begin()

    def command(self, name, seed, store, key):
        return Program(self.place, name, "tune", MODEL, "--device", key, "--tracker", self.tracker, "--threads", 1, "--trials-per-workload", self.trials, "--no-transfer",
                       "--seed", seed, "--store", store, "--json")

    def begin(self):
        self.program = self.command(self.name, self.done, self.store, self.key).start()

    def restart(self):
        run = rows(self.store, "SELECT id FROM run WHERE seed = ? AND kind = 'tune'", self.done)
        self.program.start(*(["--resume", run[0][0]] if run else []))

    def trail(self, seed):
        return rows(self.store, TRAIL, seed)


class Queue(Doer):
    """`jobs run`, with three jobs at a time in its store."""

    def __init__(self, place, name, trials):
        super().__init__(place, name)
        self.file = place.folder / "jobs.toml"
        self.file.write_text(f"threads = 1\ntrials = {trials}\n" + "".join(f"[[job]]\nmodel = '{model}'\nname = '{model} {i}'\npriority = {i % 2}\n" for i, model in enumerate(("mlp", MODEL, "mlp"))))
        self.begin()

    def begin(self):
        self.place.ask("jobs", "add", self.file, "--store", self.store)
        self.program = Program(self.place, self.name, "jobs", "run", "--store", self.store, "--json")
        self.restart()

    def restart(self):
        self.program.start()


class Check:
    def __init__(self, options):
        self.place, self.random = Place(options.cli), random.Random(options.seed)
        self.kills, self.mock_only = options.kills, options.mock
        place = self.place
        self.tracker = Program(place, "tracker", "tracker", "--listen", "127.0.0.1:0").start()
        address = self.tracker.address()
        serve = ["server", "--listen", "127.0.0.1:0", "--tracker", address, "--key"]
        self.servers = [Program(place, f"mock{i}", *serve, "mock", "--threads", 1, "--mock", "--build-ms", 20, "--profile-ms", 60).start() for i in range(2)]
        self.real = [] if self.mock_only else [Program(place, f"real{i}", *serve, "real", "--cores", i % os.cpu_count(), "--store", place.folder / f"real{i}.db").start() for i in range(2)]
        for server in self.servers + self.real:
            server.address()
        self.tunings = [Tuning(place, f"tuning{i}", "mock", address, options.trials) for i in range(2)]
        if not self.mock_only:
            self.tunings.append(Tuning(place, "tuning_real", "real", address, options.trials))
        self.queue = Queue(place, "jobs", options.trials)
        self.records = []

    def doers(self):
        return [*self.tunings, self.queue]

    def everyone_goes_on(self, what, seconds=PATIENCE):
        before = {doer: (doer.done, doer.progress()) for doer in self.doers()}
        late = set(before)

        def moved():
            for doer in list(late):
                doer.look(True)
                if (doer.done, doer.progress()) != before[doer]:
                    late.discard(doer)
            return not late

        begin = time.monotonic()
        within(seconds, moved, lambda: f"after the end of {what} no trial of {', '.join(doer.name for doer in late)}")
        return time.monotonic() - begin

    def worker(self, owners):
        found = within(PATIENCE, lambda: [pid for owner in owners for pid in workers_of(owner.pid)], "no worker to kill")
        return self.random.choice(found)

    def victim(self, kind):
        """Whose end, how to bring it about, how to make up for it."""
        everyone = self.servers + self.real
        chosen = {"client": self.random.choice(self.tunings), "tracker": self.tracker, "server": self.random.choice(everyone), "program": self.queue}.get(kind)
        if chosen is None:
            owners = [self.queue.program] if kind == "local worker" else self.real
            pid = self.worker(owners)
            return kind, lambda: os.kill(pid, signal.SIGKILL), lambda: None
        if isinstance(chosen, Doer):
            return chosen.name, chosen.kill, chosen.restart
        return chosen.name, chosen.kill, lambda: chosen.start().address()

    def kill_one(self, kind):
        for doer in self.doers():
            doer.look(True)
        name, kill, restart = self.victim(kind)
        owned = {"server": self.servers + self.real, "client": [doer.program for doer in self.tunings], "program": [self.queue.program]}.get(kind, [])
        workers = [pid for program in owned if program.name == name for pid in workers_of(program.pid)]
        kill()
        within(PATIENCE, lambda: not any(map(alive, workers)), f"workers of {name} are left behind")
        time.sleep(self.random.choice((0, 0.3, 1)))
        restart()
        seconds = self.everyone_goes_on(name)
        self.records.append((kind, seconds))
        print(f"{len(self.records):3} {name:16} {len(workers)} workers went with it; all went on within {seconds:.2f} s", flush=True)

    def kill_all(self):
        kinds = [kind for kind in KINDS if not (self.mock_only and kind == "server's worker")]
        order = [kinds[i % len(kinds)] for i in range(self.kills)]
        self.random.shuffle(order)
        self.everyone_goes_on("nothing", 60)
        for kind in order:
            time.sleep(self.random.uniform(0, 1.5))
            self.kill_one(kind)

    def finish(self):
        left = set(self.doers())

        def ended():
            left.difference_update([doer for doer in left if not doer.look(False)])
            return not left

        within(300, ended, lambda: f"{', '.join(doer.name for doer in left)} did not end")

    def compare(self):
        """Each tuning on made-up times against one of the same seed in peace."""
        compared = 0
        self.servers.append(Program(self.place, "calm", "server", "--listen", "127.0.0.1:0", "--tracker", self.tracker.address(), "--key", "peace", "--threads", 1, "--mock", "--build-ms", 0, "--profile-ms", 0).start())
        self.servers[-1].address()
        for tuning in (each for each in self.tunings if each.key == "mock"):
            for seed in range(tuning.done):
                store = self.place.folder / f"peace_{tuning.name}_{seed}.db"
                calm = tuning.command("peace", seed, store, "peace").start()
                within(120, lambda calm=calm: not calm.running(), "a tuning in peace did not end")
                if rows(store, TRAIL, seed) != tuning.trail(seed):
                    raise Wrong(f"{tuning.name} with seed {seed} has other trials than in peace, see {store} and {tuning.store}")
                compared += len(tuning.trail(seed))
        return compared

    def examine(self, doer):
        """Every run whole, every trial once; gives trials, and those that failed."""
        state = self.place.ask("store", "check", "--store", doer.store)
        if not state["ok"] or state["problems"]:
            raise Wrong(f"{doer.store} is damaged: {state['problems']}")
        unended = rows(doer.store, BEGUN + "SELECT id, state FROM begun WHERE state <> 'COMPLETED'")
        if unended:
            raise Wrong(f"{doer.name}: runs that are not complete: {unended}")
        for run, workload, count, first, last, budget, space in rows(doer.store, HOLES):
            if count != min(budget, space) or first != 0 or last != count - 1:
                raise Wrong(f"{doer.name}: run {run}, workload {workload} has {count} trials from {first} to {last} instead of {min(budget, space):.0f}")
        return rows(doer.store, "SELECT count(*), sum(status <> 'ok') FROM trial WHERE final = 0")[0]

    def examine_jobs(self):
        jobs = rows(self.queue.store, "SELECT id, state, progress, run_id FROM job")
        runs = rows(self.queue.store, BEGUN + "SELECT count(*) FROM begun")[0][0]
        bad = [job for job in jobs if job[1:3] != ("DONE", 1.0) or job[3] is None]
        if bad or runs != len(jobs) or len({job[3] for job in jobs}) != len(jobs):
            raise Wrong(f"{len(jobs)} jobs have {runs} runs; not done: {bad}")
        return len(jobs)

    def examine_rest(self):
        for program in [*self.servers, *self.real, self.tracker]:
            if (status := program.stop()) != 0:
                raise Wrong(f"{program.name} ended with status {status} when it was asked to: {program.errors()[-300:]}")
        within(PATIENCE, lambda: not self.place.processes(), lambda: f"processes are left: {self.place.processes()}")
        left = [entry.name for entry in self.place.temporary.iterdir()]
        if left:
            raise Wrong(f"temporary files are left: {left}")

    def run(self):
        begin = time.monotonic()
        self.kill_all()
        self.finish()
        found = {doer.name: self.examine(doer) for doer in self.doers()}
        failed = sum(count or 0 for name, (_, count) in found.items() if name in ("jobs", "tuning_real"))
        worker_kills = sum("worker" in kind for kind, _ in self.records)
        if any(count for name, (_, count) in found.items() if name in ("tuning0", "tuning1")):
            raise Wrong(f"trials on made-up times failed: {found}")
        if failed > worker_kills:
            raise Wrong(f"{failed} trials failed, where {worker_kills} workers were killed: {found}")
        compared, jobs = self.compare(), self.examine_jobs()
        self.examine_rest()
        seconds = [seconds for _, seconds in self.records]
        return {"kills": {kind: sum(each == kind for each, _ in self.records) for kind in KINDS}, "seconds": round(time.monotonic() - begin, 1),
                "until_all_went_on_s": {"median": round(statistics.median(seconds), 2), "most": round(max(seconds), 2)}, "trials": {name: count for name, (count, _) in found.items()},
                "failed": failed, "tunings": sum(tuning.done for tuning in self.tunings), "jobs": jobs, "trials_as_in_peace": compared}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cli", default="build/release/bin/tunesmith-cli", help="the program that is checked; its worker lies beside it")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=40, help="per workload, of tunings and jobs")
    parser.add_argument("--mock", action="store_true", help="no real servers, whose measurements take a machine's time")
    check = Check(parser.parse_args())
    try:
        figures = check.run()
    except Wrong as wrong:
        check.place.end()
        sys.exit(f"{wrong}\nfiles of this check: {check.place.folder}")
    except BaseException:
        check.place.end()
        raise
    print(f"\n{'killed':16} {'times':>5} {'all went on within, at most':>28}")
    for kind, count in figures["kills"].items():
        print(f"{kind:16} {count:5} {max((seconds for each, seconds in check.records if each == kind), default=0):26.2f} s")
    print(json.dumps(figures))
    shutil.rmtree(check.place.folder)


main()
