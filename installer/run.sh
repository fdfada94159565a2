#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh [MODEL.onnx [OPTION...]]: installs what is missing, builds, and does the main job. With a display that is the window,
# tuning the built-in ResNet-18 or the given model; without one the same work headless, with a printed report.
# TUNESMITH_SAMPLE_SECONDS: the headless tuning budget (default 240).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/build/release/bin
results=${XDG_DATA_HOME:-$HOME/.local/share}/tunesmith/sample
seconds=${TUNESMITH_SAMPLE_SECONDS:-240}

# number FILE KEY: the first value of a key in a JSON file that tunesmith-cli wrote.
number() { grep -oE "\"$2\": *-?[0-9][0-9.eE+-]*" "$1" | head -n 1 | sed 's/.*: *//'; }

# layers FILE: one line for each workload of tune's JSON: time, speed, name.
layers() {
    tr -d '\n' <"$1" | sed 's|[{}]|\n|g' | grep '"best_ms"' | awk '
        function field(key,   text) {
            if (!match($0, "\"" key "\": *(\"[^\"]*\"|[^,]*)")) return "-"
            text = substr($0, RSTART, RLENGTH); sub(/^"[^"]*": */, "", text); gsub(/"/, "", text)
            return text
        }
        { printf "  %10.4f ms %8.1f GFLOP/s  %s\n", field("best_ms"), field("gflops"), field("name") }' | sort -rn
}

openWindow() {
    if [ "$#" -eq 0 ]; then
        set -- --sample resnet18 --tune
    fi
    exec "$bin/tunesmith" "$@"
}

report() {
    local module=$1 before after
    before=$(number "$results/before.json" median_ms)
    after=$(number "$results/after.json" median_ms)
    echo
    echo "Tuned kernels, slowest first:"
    layers "$results/tune.json"
    echo
    awk -v before="$before" -v after="$after" 'BEGIN {
        printf "Latency before %.2f ms, after %.2f ms (medians): %.2f times as fast\n", before, after, before / after }'
    echo "Trials:  $results/trials.db"
    echo "Module:  $module"
}

workHeadless() {
    local cli=$bin/tunesmith-cli model=${1:-} fresh
    mkdir -p "$results"
    if [ -z "$model" ]; then
        model=$results/resnet18.onnx
        "$cli" models resnet18 -o "$model"
    else
        shift
    fi
    local module
    module=$results/$(basename "$model" .onnx)
    fresh=$(mktemp -d)
    # shellcheck disable=SC2064  # the folder's name is wanted as it is now
    trap "rm -rf '$fresh'" EXIT

    echo "No display: tuning $model for $seconds s on the command line"
    "$cli" bench "$model" --store "$fresh/untuned.db" --json >"$results/before.json"
    "$cli" tune "$model" --store "$results/trials.db" --time "$seconds" --json "$@" >"$results/tune.json"
    "$cli" compile "$model" --store "$results/trials.db" -o "$module"
    "$cli" bench "$module" --json >"$results/after.json"
    "$cli" run "$module"
    report "$module"
}

"$root/installer/dependencies.sh"
"$root/installer/build.sh" release tunesmith tunesmith-cli tunesmith-worker
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    openWindow "$@"
else
    workHeadless "$@"
fi
