#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# test.sh [--preset NAME]: installs what is missing, builds everything with warnings as errors and runs all tests; the last line
# counts them. With --preset asan or tsan, the fast tests under that sanitizer; with --preset no-optional, the build without
# its optional parts. Benchmarks are left out: ctest --test-dir build/ci -L bench.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=ci
while [ "$#" -gt 0 ]; do
    case $1 in
    --preset)
        preset=${2:?--preset needs a name: ci, asan, tsan, no-optional or dev}
        shift 2
        ;;
    *)
        echo "usage: $0 [--preset ci|asan|tsan|no-optional|dev]" >&2
        exit 2
        ;;
    esac
done

"$root/installer/dependencies.sh"
"$root/installer/build.sh" "$preset"

# The thread sanitizer of GCC 12 cannot place its shadow memory where the kernel randomises addresses with over 28 bits.
fixedAddresses=()
if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then
    fixedAddresses=(setarch -R)
fi

cd "$root"
reports=$root/build/$preset/reports
rm -rf "$reports"
mkdir -p "$reports"
status=0

# No label is excluded in the presets: ctest leaves out only what every exclusion names.
# What must have the machine to itself (measuring, event-loop gaps) runs alone, after everything else ran in parallel.
echo "Running the tests that may share the machine"
"${fixedAddresses[@]}" ctest --preset "$preset" -LE '^(alone|bench)$' -j "$(nproc)" --output-junit "$reports/parallel.xml" || status=1
if ctest --preset "$preset" -N -L '^alone$' -LE '^bench$' | grep -q '^Total Tests: [1-9]'; then
    echo "Running the tests that need it alone"
    "${fixedAddresses[@]}" ctest --preset "$preset" -L '^alone$' -LE '^bench$' -j 1 --output-junit "$reports/serial.xml" || status=1
fi

shopt -s nullglob
awk -f "$root/installer/count_tests.awk" "$reports"/*.xml || status=1
exit "$status"
