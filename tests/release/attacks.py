# SPDX-License-Identifier: GPL-3.0-or-later
"""Strangers without a token at a tracker and a server, with TLS and a token on: whatever they send, others are served within 3 s and little memory goes.

Silent connections, more than there are descriptors; half handshakes; packed messages that unpack to a gigabyte; messages that claim 4 GiB; headers, settings, pings
and reset calls without end; tokens that are tried. And the other way round: a tracker that answers without end. The figures are the last line, as JSON.
Needs openssl. The standard library only."""
import argparse
import json
import os
import resource
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

from cluster import Place, Program, Wrong
from raw_calls import DATA, END_HEADERS, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, Connection, frame, header, number

CONTINUATION = 9
PATIENCE = 3  # seconds in which others are served
GROWTH = 100  # MiB that an attack may cost
ENDED = (ConnectionError, ssl.SSLError, TimeoutError)
ASK = {"tracker": "Tracker/Ask", "server": "Executor/Exchange"}


def packed(megabytes):
    """So many MiB of zeros as gzip packs them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(megabytes)) + packer.flush()


def peak(program):
    return next(int(line.split()[1]) for line in Path(f"/proc/{program.pid}/status").read_text().splitlines() if line.startswith("VmHWM")) >> 10


class Check:
    def __init__(self, options):
        self.place = Place(options.cli)
        self.figures = {}
        folder = self.place.folder
        (folder / "token").write_text(f"the-token-{os.urandom(16).hex()}\n")
        (folder / "token").chmod(0o600)
        subprocess.run("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=own -addext subjectAltName=IP:127.0.0.1".split(), cwd=folder, check=True, capture_output=True)
        self.ca = str(folder / "cert.pem")
        self.calling = ["--token-file", folder / "token", "--ca", self.ca]
        self.programs = {}

    def start(self, descriptors):
        for program in self.programs.values():
            program.stop()
        few = ("bash", "-c", f'ulimit -n {descriptors}; exec "$0" "$@"')
        own = ["--token-file", self.place.folder / "token", "--cert", self.ca, "--tls-key", self.place.folder / "key.pem"]
        tracker = Program(self.place, "tracker", "tracker", "--listen", "127.0.0.1:0", *own, before=few).start()
        server = Program(self.place, "server", "server", "--listen", "127.0.0.1:0", "--tracker", tracker.address(), "--key", "cpu", "--mock", "--threads", 1, "--build-ms", 2, "--profile-ms", 5,
                         *own, "--ca", self.ca, before=few).start()
        server.address()
        self.programs = {"tracker": tracker, "server": server}

    def others_are_served(self, what):
        begin = time.monotonic()
        listed = self.place.ask("devices", "--tracker", self.programs["tracker"].address(), *self.calling, seconds=30)["devices"]
        seconds = time.monotonic() - begin
        if len(listed) != 1 or not listed[0]["answers"] or seconds > PATIENCE:
            raise Wrong(f"{what}: {len(listed)} devices after {seconds:.1f} s")
        return seconds

    def a_tuning_is_served(self, what):
        store = self.place.folder / f"{len(list(self.place.folder.glob('*.db')))}.db"
        result = self.place.ask("tune", "encoder", "--device", "cpu", "--tracker", self.programs["tracker"].address(), *self.calling, "--threads", 1, "--trials-per-workload", 2, "--no-transfer",
                                "--store", store, seconds=60)
        if result["failed"] or not result["trials"]:
            raise Wrong(f"{what}: {result['failed']} of {result['trials']} trials failed")

    def stranger(self, name, token=None):
        return Connection(self.programs[name].address(), self.ca, token, seconds=5)

    def run_one(self, name, attack, seconds=0):
        """An attack on both programs, others beside it and after it."""
        what = attack.__name__
        before = {program: peak(each) for program, each in self.programs.items()}
        kept = []  # connections that stay
        for program in self.programs:
            try:
                attack(program, kept)
            except ENDED:
                pass
        slowest = self.others_are_served(what)
        self.a_tuning_is_served(what)
        time.sleep(seconds)
        for each in kept:
            each.close()
        slowest = max(slowest, self.others_are_served(what))
        grown = {program: peak(each) - before[program] for program, each in self.programs.items()}
        if max(grown.values()) > GROWTH:
            raise Wrong(f"{what}: grew by {grown} MiB")
        self.figures[name] = {"others_served_after_s": round(slowest, 2), "grown_mb": grown}
        print(f"{name}: {self.figures[name]}", flush=True)

    def silent(self, program, kept, count=1100, first=b""):
        host, _, port = self.programs[program].address().rpartition(":")
        for _ in range(count):
            kept.append(socket.create_connection((host, int(port)), 5))
            try:
                kept[-1].sendall(first)
            except ENDED:
                pass

    def few_silent(self, program, kept):
        self.silent(program, kept, 200)

    def half_handshakes(self, program, kept):
        memory, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            ssl.create_default_context().wrap_bio(memory, hello, server_hostname="x").do_handshake()
        except ssl.SSLWantReadError:
            pass
        self.silent(program, kept, 500, hello.read()[:-20])

    def greetings(self, program, kept):
        for _ in range(60):
            kept.append(self.stranger(program))

    def packed_messages(self, program, kept):
        for _ in range(2):
            message = packed(1024)
            self.stranger(program).call(ASK[program], message, struct.pack(">BI", 1, len(message)), [("grpc-encoding", "gzip")])

    def claims(self, program, kept):
        for _ in range(4):
            self.stranger(program).call(ASK[program], bytes(100 << 20), struct.pack(">BI", 0, 0xFFFFFFFF))

    def many_streams(self, program, kept):
        for _ in range(8):
            kept.append(self.stranger(program))
            for stream in range(1, 257, 2):
                kept[-1].socket.sendall(frame(HEADERS, END_HEADERS, stream, b"".join(header(*line) for line in kept[-1].lines(ASK[program]))) + frame(DATA, 0, stream, b"\0\0\0\xff\xffa"))

    def headers_without_end(self, program, kept):
        kept.append(self.stranger(program))
        kept[-1].socket.sendall(frame(HEADERS, 0, 1, header(":method", "POST")))
        for _ in range(20_000):
            kept[-1].socket.sendall(frame(CONTINUATION, 0, 1, header("x-a", "b" * 16_000)))

    def headers_that_unfold(self, program, kept):
        kept.append(self.stranger(program))
        lines = b"".join(header(*line) for line in kept[-1].lines(ASK[program]))
        kept[-1].socket.sendall(frame(HEADERS, END_HEADERS, 1, lines + b"\x40" + number(1, 7) + b"a" + number(4000, 7) + b"b" * 4000))
        for stream in range(3, 401, 2):
            kept[-1].socket.sendall(frame(HEADERS, END_HEADERS, stream, lines + b"\xbe" * 10_000))

    def resets(self, program, kept):
        kept.append(self.stranger(program))
        lines = b"".join(header(*line) for line in kept[-1].lines(ASK[program]))
        for stream in range(1, 400_000, 2):
            kept[-1].socket.sendall(frame(HEADERS, END_HEADERS, stream, lines) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))

    def settings(self, program, kept):
        kept.append(self.stranger(program))
        for _ in range(3000):
            kept[-1].socket.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * 100)

    def pings(self, program, kept):
        kept.append(self.stranger(program))
        for _ in range(3000):
            kept[-1].socket.sendall(frame(PING, 0, 0, b"12345678") * 100)

    def tokens_that_are_tried(self, program, kept):
        size = self.programs[program].log.stat().st_size
        for i in range(300):
            connection = self.stranger(program, f"a-token-that-is-tried-{i}")
            for _ in range(10):
                connection.call(ASK[program], b"")
            connection.close()
        if self.programs[program].log.stat().st_size - size > 1 << 20:
            raise Wrong(f"{program} fills its log with refusals")

    def endless_answer(self):
        """What a client of a tracker that never ends its answer grows to."""
        listener = socket.create_server(("127.0.0.1", 0))

        def answer():
            while True:
                called = Connection.__new__(Connection)  # the other end of one
                called.socket, _ = listener.accept()
                called.stream, called.ended, called.room_all, called.room_first, called.room = 1, False, 65535, 65535, 65535
                try:
                    called.socket.sendall(frame(SETTINGS, 0, 0))
                    called.buffer = called.socket.recv(1 << 16)[len(PREFACE) :]
                    while called.receive()[1] != HEADERS:
                        pass
                    called.ended = False
                    called.socket.sendall(frame(HEADERS, END_HEADERS, 1, header(":status", "200") + header("content-type", "application/grpc")))
                    called.pour(b"\0\xff\xff\xff\xff" + bytes(2 << 30))
                except OSError:
                    pass
                called.socket.close()

        threading.Thread(target=answer, daemon=True).start()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        client = subprocess.run([self.place.cli, "devices", "--tracker", f"127.0.0.1:{listener.getsockname()[1]}"], capture_output=True, text=True, timeout=60, env=self.place.environment)
        grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if client.returncode != 1 or len(client.stderr.strip().splitlines()) != 1:
            raise Wrong(f"a client of a tracker that answers without end: {client.returncode}, {client.stderr}")
        if grown > max(before, 300 << 10):
            raise Wrong(f"a client of a tracker that answers without end takes {grown >> 10} MiB")
        self.figures["endless_answer"] = {"peak_mb": grown >> 10}
        print(f"a tracker that answers without end: {client.stderr.strip()} ({grown >> 10} MiB)", flush=True)

    def run(self):
        begin = time.monotonic()
        self.endless_answer()
        self.start(128)
        self.run_one("200 silent connections, 128 descriptors", self.few_silent, 12)
        self.start(1024)
        self.run_one("1100 silent connections, 1024 descriptors", self.silent, 12)
        for attack in (self.half_handshakes, self.greetings, self.packed_messages, self.claims, self.many_streams, self.headers_without_end, self.headers_that_unfold, self.resets, self.settings,
                       self.pings, self.tokens_that_are_tried):
            self.run_one(attack.__name__.replace("_", " "), attack)
        for program in self.programs.values():
            if (status := program.stop()) != 0:
                raise Wrong(f"{program.name} ended with status {status}: {program.errors()[-300:]}")
        return {**self.figures, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cli", default="build/release/bin/tunesmith-cli", help="the program that is checked")
    check = Check(parser.parse_args())
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    try:
        print(json.dumps(check.run()))
    except Wrong as wrong:
        sys.exit(f"{wrong}\nfiles of this check: {check.place.folder}")
    finally:
        check.place.end()
    shutil.rmtree(check.place.folder)


main()
