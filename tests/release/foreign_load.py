# SPDX-License-Identifier: GPL-3.0-or-later
"""A compiler that keeps another core busy moves the single-thread p5 of a module by at most 3 %.

Rounds with and without it take turns, on a machine that has a core to spare and nothing else to do. Ends with status 1 where
the median over the rounds moves by more."""
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from models import arguments, ask, cases

ROUNDS, LIMIT = 5, 0.03
SOURCE = """#include <functional>
#include <map>
#include <regex>
template <int N> struct A { std::map<int, std::function<int(int)>> m; std::regex r; int f() { return A<N - 1>().f() + N; } };
template <> struct A<0> { int f() { return 0; } };
int main() { return A<300>().f(); }
"""


class Compiler:
    """c++ over and over, in a process group of its own."""

    def __init__(self, folder):
        source = Path(folder) / "busy.cpp"
        source.write_text(SOURCE)
        loop = f"while true; do c++ -O2 -c {source} -o /dev/null 2> /dev/null; done"
        self.process = subprocess.Popen(["sh", "-c", loop], start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def p5(options, module):
    return ask(options, "bench", module, "--threads", "1")["p5_ms"]


def shifts(options, case, folder):
    module = f"{folder}/module"
    ask(options, "compile", case.path, *case.options(), "-o", module, "--threads", "1", "--store", f"{folder}/trials.db")
    found = []
    for _ in range(ROUNDS):
        quiet = p5(options, module)
        with Compiler(folder):
            found.append(p5(options, module) / quiet - 1)
    return found


def main():
    options = arguments(__doc__.splitlines()[0])
    if (os.cpu_count() or 1) < 2:
        sys.exit("this machine has one core: there is none for the compiler")
    failed = 0
    for case in cases(options):
        with tempfile.TemporaryDirectory() as folder:
            found = shifts(options, case, folder)
        shift = statistics.median(found)
        failed += abs(shift) > LIMIT
        print(f"{case.name}: {shift:+.1%} ({', '.join(f'{each:+.1%}' for each in found)})", flush=True)
    sys.exit(1 if failed else 0)


main()
