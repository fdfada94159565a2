#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing of installer/packages.txt. When nothing is, it needs no network and no rights.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

wantedPackages() { sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$here/packages.txt"; }

missingPackages() {
    local installed
    # shellcheck disable=SC2016  # the ${...} are dpkg-query's own
    installed=$(wantedPackages | xargs dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null |
        sed -n 's/ installed$//p') || true
    comm -23 <(wantedPackages | sort -u) <(sort -u <<<"$installed")
}

installPackages() {
    local asRoot=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Missing packages: $*" >&2
            echo "Installing them needs root, and there is no sudo here. As root, run: apt-get install --no-install-recommends $*" >&2
            return 1
        fi
        asRoot=(sudo)
    fi
    local apt=("${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
    echo "Installing: $*"
    "${apt[@]}" update || echo "apt-get update failed; trying with the package lists that are there." >&2
    "${apt[@]}" install -y --no-install-recommends "$@"
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is no Debian: see installer/packages.txt for what the build needs; going on with what is installed." >&2
    exit 0
fi
mapfile -t missing < <(missingPackages)
if [ "${#missing[@]}" -gt 0 ]; then
    installPackages "${missing[@]}"
fi
