#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# build.sh PRESET [TARGET...]: configures and builds a preset of CMakePresets.json with all cores, re-using what is there.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift

log=build/$preset/configure.log
mkdir -p "$(dirname "$log")"
if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
echo "Building preset $preset in build/$preset"
cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
