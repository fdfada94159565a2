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

openWindow() {
    if [ "$#" -eq 0 ]; then
        set -- --sample resnet18 --tune
    fi
    exec "$bin/tunesmith" "$@"
}

# The options are tune's; those that say what the model is (--dims) and for how many threads go to the other steps, too.
workHeadless() {
    local cli=$bin/tunesmith-cli model=${1:-} store=$results/trials.db module
    local common=()
    mkdir -p "$results"
    if [ -z "$model" ]; then
        model=$results/resnet18.onnx
        "$cli" models resnet18 -o "$model"
    else
        shift
    fi
    local previous=
    for option in "$@"; do
        case $previous in --dims | --threads) common+=("$previous" "$option") ;; esac
        case $option in --dims=* | --threads=*) common+=("$option") ;; esac
        previous=$option
    done
    module=$results/$(basename "$model" .onnx)

    echo "No display: tuning $model for $seconds s on the command line"
    "$cli" tune "$model" --store "$store" --time "$seconds" "$@"
    echo
    "$cli" compile "$model" --store "$store" -o "$module" "${common[@]}"
    echo
    echo "Layer by layer, tuned:"
    "$cli" bench "$module" --store "$store"
    echo
    echo "The module against the untuned model, measured in turns:"
    "$cli" bench "$module" --vs "$model" --untuned --store "$store" --seconds 6 "${common[@]}"
    echo
    echo "One run of the module on inputs drawn from a seed:"
    "$cli" run "$module"
    echo
    echo "Trials:  $store"
    echo "Module:  $module"
}

"$root/installer/dependencies.sh"
"$root/installer/build.sh" release tunesmith tunesmith-cli tunesmith-worker
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    openWindow "$@"
else
    workHeadless "$@"
fi
