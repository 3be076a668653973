#!/usr/bin/env bash
# Writes requirements/*.txt from requirements/*.in: every version pinned, the hash of every wheel and sdist listed
# (all platforms, CPython 3.11 and later), so that one file installs on every machine. Give --upgrade to move versions.
# Needs `uv` in the PATH (or UV=/path/to/uv); nothing else of the project needs uv.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
for name in runtime build dev; do
    # dev takes the versions that runtime and build settled on, so that both can live in one .venv
    constraints=()
    [ "$name" != dev ] || constraints=(-c runtime.txt -c build.txt)
    "${UV:-uv}" pip compile "$name.in" -o "$name.txt" "${constraints[@]}" "$@" \
        --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet
done
