# SPDX-License-Identifier: GPL-3.0-or-later
"""A tracker and tunings in one network namespace, servers in another, a cable between them; TLS and a token on.

Devices are lent by key and priority. A wrong token, an expired certificate, messages that are too large or none, and who asks for another's kernel are refused and
logged. A cable that is pulled for a while costs retries, and no trial. Needs root, ip and openssl, and says so where it is not permitted. Ends with status 1 where
something does not hold. The figures are the last line, as JSON. The standard library only."""
import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cluster import Place, Program, Wrong, rows, within
from raw_calls import Connection, blob_name, parsed, protobuf

HERE, THERE = "10.77.0.1", "10.77.0.2"
SERVERS = f"tunesmith{os.getpid()}"
CABLE = "cable0"
MODEL = "encoder"
PROTOCOL = 3  # kRemoteProtocol of core/executors/wire.h
CLONE_NEWNET = 0x40000000
TRIALS = "SELECT count(*), sum(status <> 'ok') FROM trial"


def run(*words, folder=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise Wrong(f"{' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Cable:
    """This program goes into a namespace of its own; another one, SERVERS, is at the other end."""

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip") or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            print("skipped: namespaces need root and the program ip")
            sys.exit(0)
        run("ip", "netns", "add", SERVERS)
        run("ip", "link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", SERVERS)
        for end, address in (((), HERE), (("-n", SERVERS), THERE)):
            run("ip", *end, "address", "add", f"{address}/24", "dev", CABLE)
            run("ip", *end, "link", "set", "lo", "up")
            run("ip", *end, "link", "set", CABLE, "up")
        return self

    def __exit__(self, *_):
        run("ip", "netns", "del", SERVERS)

    def pull(self, seconds):
        run("ip", "link", "set", CABLE, "down")
        time.sleep(seconds)
        run("ip", "link", "set", CABLE, "up")


class Files:
    """Tokens and certificates."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("right", "wrong"):
            self.write(name, f"the-{name}-token-{os.urandom(16).hex()}\n")
        self.write("names", f"subjectAltName=IP:{HERE},IP:{THERE}\n")
        self.openssl("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=ca")
        self.openssl("req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=own")
        (folder / "ca.cnf").write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nserial=serial\ndefault_md=sha256\nunique_subject=no\npolicy=p\n[p]\ncommonName=supplied\n")
        (folder / "index").touch()
        (folder / "serial").write_text("77\n")
        self.certify("good", 30 * 86400)
        self.certify("expired", -60)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o600)

    def openssl(self, words):
        run("openssl", *words.split(), folder=self.folder)

    def certify(self, name, seconds):
        """Makes a certificate that is good for a while from now on."""
        end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))
        self.openssl(f"ca -batch -notext -config ca.cnf -in own.csr -cert ca.pem -keyfile ca.key -extfile names -startdate 20200101000000Z -enddate {end} -out {name}.pem")

    def token(self, name="right"):
        return (self.folder / name).read_text().strip()

    def calling(self, token="right"):
        return ["--ca", self.folder / "ca.pem", "--token-file", self.folder / token]

    def listening(self, certificate="good"):
        return ["--cert", self.folder / f"{certificate}.pem", "--tls-key", self.folder / "own.key"]


class Check:
    def __init__(self, options, cable):
        self.cable, self.place = cable, Place(options.cli)
        self.files = Files(self.place.folder)
        self.ca = str(self.place.folder / "ca.pem")
        self.figures = {"refused_and_logged": []}
        self.tracker = Program(self.place, "tracker", "tracker", "--listen", f"{HERE}:0", *self.files.listening(), "--token-file", self.place.folder / "right").start()
        self.address = self.tracker.address()
        self.servers = {name: self.serve(name, name, "both") for name in ("one", "two")}

    def serve(self, name, *keys, certificate="good", token="right"):
        server = Program(self.place, name, "server", "--listen", f"{THERE}:0", "--tracker", self.address, "--key", *keys, "--name", name, "--threads", 1, "--mock", "--build-ms", 5,
                         "--profile-ms", 40, *self.files.listening(certificate), *self.files.calling(token), before=("ip", "netns", "exec", SERVERS)).start()
        if token == "right":
            server.address()
        return server

    def tune(self, name, key, priority=0, trials=4):
        return Program(self.place, name, "tune", MODEL, "--device", key, "--priority", priority, "--tracker", self.address, *self.files.calling(), "--threads", 1, "--trials-per-workload",
                       trials, "--no-transfer", "--store", self.place.folder / f"{name}.db", "--json").start()

    def holders(self):
        """Who has which device: names of programs by names of devices."""
        listed = self.place.ask("devices", "--tracker", self.address, *self.files.calling())["devices"]
        return {device["name"]: device["client"] and device["client"].rpartition(":")[2] for device in listed}

    def all_end_well(self, *tunings):
        for tuning in tunings:
            within(120, lambda tuning=tuning: not tuning.running(), f"{tuning.name} does not end")
            if tuning.process.returncode != 0:
                raise Wrong(f"{tuning.name}: status {tuning.process.returncode}: {tuning.errors().strip()[-400:]}")
            count, failed = rows(self.place.folder / f"{tuning.name}.db", TRIALS)[0]
            if not count or failed:
                raise Wrong(f"{tuning.name}: {failed} of {count} trials failed")

    def by_key(self):
        tunings = {name: self.tune(f"for_{name}", name) for name in self.servers}
        within(20, lambda: self.holders() == {name: str(tuning.pid) for name, tuning in tunings.items()}, lambda: f"devices are not lent by key: {self.holders()}")
        self.all_end_well(*tunings.values())

    def by_priority(self):
        low = self.tune("low", "one")
        within(20, lambda: self.holders()["one"], "nobody gets a free device")
        tunings = {str(each.pid): each for each in (low, self.tune("middle", "one", 1), self.tune("high", "one", 5))}
        order = ["low"]

        def ended():
            holder = tunings.get(self.holders()["one"])
            if holder and holder.name != order[-1]:
                order.append(holder.name)
            return not any(each.running() for each in tunings.values())

        within(120, ended, "tunings do not end")
        self.all_end_well(*tunings.values())
        if order != ["low", "high", "middle", "low"]:
            raise Wrong(f"a device is not lent by priority: {order}")
        self.figures["by_priority"] = order

    def refused(self, what, program, line):
        within(5, lambda: re.search(line, program.errors()), lambda: f"{what}: not in the log of {program.name}: {program.errors()[-600:]}")
        for token in ("right", "wrong"):
            if self.files.token(token) in program.errors():
                raise Wrong(f"{program.name} logs a token")
        self.figures["refused_and_logged"].append(what)
        print(f"refused and logged: {what}", flush=True)

    def fails(self, what, *words, sentence):
        done = subprocess.run([self.place.cli, *map(str, words)], capture_output=True, text=True, timeout=60, env=self.place.environment)
        if done.returncode != 1 or not re.search(sentence, done.stderr):
            raise Wrong(f"{what}: status {done.returncode}, {done.stderr.strip()[-400:]}")
        return done.stderr

    def connect(self, program, token="right", lease=None):
        return Connection(program.address(), self.ca, self.files.token(token), lease)

    def wrong_tokens(self):
        self.fails("a wrong token for the tracker", "devices", "--tracker", self.address, *self.files.calling("wrong"), sentence="--token-file")
        self.refused("a wrong token of a client at the tracker", self.tracker, rf"refused ipv4:{HERE}.*a wrong token")
        outsider = self.serve("outsider", "both", token="wrong")
        within(20, lambda: not outsider.running(), "a server with a wrong token serves")
        self.refused("a wrong token of a server at the tracker", self.tracker, rf"refused ipv4:{THERE}.*a wrong token")
        server = self.servers["one"]
        if self.connect(server, "wrong", "lease").call("Executor/Exchange", protobuf((2, "{}"))) is not None:
            raise Wrong("a server takes a wrong token")
        self.refused("a wrong token of a client at a server", server, rf"refused ipv4:{HERE}.*a wrong token")

    def expired_certificates(self):
        self.fails("listening with an expired certificate", "tracker", "--listen", f"{HERE}:0", *self.files.listening("expired"), "--token-file", self.place.folder / "right",
                   sentence="expired.pem: the certificate expired on")
        self.files.certify("brief", 15)
        old = self.serve("old", "old", certificate="brief")
        time.sleep(16)
        said = self.fails("a server whose certificate has expired", "tune", MODEL, "--device", "old", "--tracker", self.address, *self.files.calling(), "--threads", 1, "--store",
                          self.place.folder / "old.db", sentence="the device old cannot be reached")
        if "serving" in old.errors():
            raise Wrong("an expired certificate is good enough")
        self.refused("an expired certificate", old, rf"refused ipv4:{HERE}.*our certificate expired on")
        old.kill()
        print(f"  the client says: {said.strip().splitlines()[-1][:160]}", flush=True)

    def no_messages(self):
        server, patterns = self.servers["one"], {}
        for program, methods in ((self.tracker, ("Tracker/Register", "Tracker/Ask")), (server, ("Executor/Open", "Executor/Exchange"))):
            for method in methods:
                count = len(re.findall("refused", program.errors()))
                if self.connect(program).call(method, b"\xff" * 100) is not None:
                    raise Wrong(f"{method} takes 100 bytes that are no message")
                within(5, lambda program=program, count=count: len(re.findall("refused", program.errors())) > count, f"{method}: refused without a word")
                patterns[method] = True
        self.figures["refused_and_logged"].append("bytes that are no message")
        too_large = protobuf((1, PROTOCOL), (3, b"a" * (2 << 20)))
        if self.connect(self.tracker).call("Tracker/Ask", too_large) is not None:
            raise Wrong("the tracker takes 2 MiB")
        self.refused("2 MiB for the tracker", self.tracker, rf"refused ipv4:{HERE}.*one that is too large")
        device = self.lease("large", "one")
        if device.call("Executor/Exchange", protobuf((2, b"a" * (260 << 20)))) is not None:
            raise Wrong("a server takes 260 MiB")
        device.close()
        self.refused("260 MiB for a server", server, rf"refused ipv4:{HERE}.*a message of 266240 KiB, more than 262144")
        if self.connect(server).call("Executor/Exchange", b"", b"\0\x40\0\0\0") is not None:
            raise Wrong("a server waits for 1 GiB")
        if self.connect(server, lease="made-up").call("Executor/Exchange", protobuf((2, "{}"))) is not None:
            raise Wrong("a server works without a lease")
        self.refused("a lease that nobody gave", server, "without the lease of this device")

    def lease(self, client, key):
        """A connection to the device with a lease for it."""
        tracker = self.connect(self.tracker)
        wish = protobuf((1, PROTOCOL), (2, f"ticket-{client}"), (3, client), (4, key))
        answer = within(10, lambda: (lambda found: 1 in found and found)(parsed(tracker.call("Tracker/Ask", wish))), f"{client} gets no device")
        lease = answer[1].decode()
        device = self.connect(self.servers[key], lease=lease)
        stream = device.begin("Executor/Open", protobuf((1, PROTOCOL), (3, f"secret-of-{client}"), (4, 1)))
        if device.next_message(stream) is None:
            raise Wrong(f"{client}: the device refuses its lease")
        return device

    def another_ones_kernel(self):
        isa = self.place.ask("devices", "--tracker", self.address, *self.files.calling())["devices"][0]["isa"]
        body = json.dumps({"verb": "build_kernel", "workload": "0123456789abcdef", "isa": isa, "cpu": "", "threads": 1, "config": "1"})
        blob = os.urandom(5000)
        device = self.lease("owner", "two")
        for content in ((1, blob), (2, blob_name(blob))):  # sent, then only named
            reply = parsed(device.call("Executor/Exchange", protobuf((2, body), (3, [content]))))
            if reply.get(1) != b"replied":
                raise Wrong(f"what a client sent before is not kept for it: {reply}")
        device.close()
        device = self.lease("thief", "two")
        reply = parsed(device.call("Executor/Exchange", protobuf((2, body), (3, [(2, blob_name(blob))]))))
        device.close()
        if reply != {6: 1}:
            raise Wrong(f"a client gets what another one sent: {reply}")
        self.refused("a client that asks for another's kernel", self.servers["two"], "refused thief: it asked for a kernel of another client")

    def pulled(self, seconds):
        """The cable is out for a while in the middle of a tuning on two devices behind it."""
        tuning = self.tune(f"pulled_{seconds}", "both", trials=16)
        store = self.place.folder / f"{tuning.name}.db"
        count = lambda: (rows(store, TRIALS) or [(0, 0)])[0][0]
        within(20, lambda: count() > 20, "the tuning does not begin")
        self.cable.pull(seconds)
        before = count()
        begin = time.monotonic()
        within(10, lambda: count() > before, lambda: f"no trial after the cable was out for {seconds} s: {tuning.errors()[-400:]}")
        self.figures[f"cable_out_{seconds}_s"] = {"went_on_after_s": round(time.monotonic() - begin, 2)}
        self.all_end_well(tuning)
        result = json.loads(tuning.out.read_text())
        calm = self.tune("calm", "both", trials=16)
        self.all_end_well(calm)
        trail = "SELECT w.key, t.idx, t.config, t.status FROM trial t JOIN workload w ON w.id = t.workload_id ORDER BY w.key, t.final, t.idx"
        if rows(store, trail) != rows(self.place.folder / "calm.db", trail):
            raise Wrong("the cable has changed the trials")
        (self.place.folder / "calm.db").unlink()
        self.figures[f"cable_out_{seconds}_s"]["trials"] = result["trials"]

    def run(self):
        begin = time.monotonic()
        self.by_key()
        self.by_priority()
        self.wrong_tokens()
        self.expired_certificates()
        self.no_messages()
        self.another_ones_kernel()
        for seconds in (1, 9, 25):
            self.pulled(seconds)
        for program in (*self.servers.values(), self.tracker):
            if (status := program.stop()) != 0:
                raise Wrong(f"{program.name} ended with status {status}: {program.errors()[-300:]}")
        within(10, lambda: not self.place.processes(), lambda: f"processes are left: {self.place.processes()}")
        return {**self.figures, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cli", default="build/release/bin/tunesmith-cli", help="the program that is checked")
    options = parser.parse_args()
    with Cable() as cable:
        check = None
        try:
            check = Check(options, cable)
            print(json.dumps(check.run()))
        except Wrong as wrong:
            sys.exit(f"{wrong}" + (f"\nfiles of this check: {check.place.folder}" if check else ""))
        finally:
            if check:
                check.place.end()
    shutil.rmtree(check.place.folder)


main()
