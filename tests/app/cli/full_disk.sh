#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# full_disk.sh CLI FOLDER: what the program CLI does when the disk gets full, as lines "step=result". FOLDER becomes a small
# file system; run it where one may be mounted (unshare --user --map-root-user --mount).
cli=$1 disk=$2
mount -t tmpfs -o size=3600k tmpfs "$disk" || exit 77
fill() { dd if=/dev/zero of="$disk/filler" bs=1k count="$1" status=none 2>&1; }
say() { printf '%s=%s\n' "$1" "$2"; }
fill 2700
"$cli" tune encoder --trials-per-workload 24 --threads 1 --store "$disk/t.db" --json >"$disk.out" 2>"$disk.err"
say tune $?
say reason "$(tail -n 1 "$disk.err")"
rm "$disk/filler"
say check "$("$cli" store check --store "$disk/t.db")"
"$cli" store stats --store "$disk/t.db" >/dev/null
say stats $?
mount -o remount,size=30m "$disk"
"$cli" tune encoder --resume 1 --trials-per-workload 24 --store "$disk/t.db" --json >"$disk.out" 2>"$disk.err"
say resumed $?
fill 100000
"$cli" compile mlp --untuned -o "$disk/module" >/dev/null 2>"$disk.err"
say compile $?
"$cli" run mlp --engine reference --save "$disk/outputs" >/dev/null 2>"$disk.err"
say run $?
say left "$(cd "$disk" && echo *)"
