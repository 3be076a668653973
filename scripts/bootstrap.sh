#!/bin/sh
# Makes .venv ready. Called by the Makefile; run it by hand as `scripts/bootstrap.sh runtime` or `scripts/bootstrap.sh dev`.
#   runtime  what `make demo` needs: the pinned packages that the product uses, and the product itself (editable)
#   dev      the pinned tools for tests and lint, on top of that
# Needs python3 >= 3.11 and nothing else. PYTHON=/path/to/python chooses another interpreter, VENV another folder.
set -eu
cd "$(dirname "$0")/.."

VENV=${VENV:-.venv}
MIN_MINOR=11 # of Python 3

say() { printf '%s\n' "-- $*"; }
fail() {
    printf '%s\n' "error: $*" >&2
    exit 1
}

# A user's pip settings may name mirrors or a proxy, but may not move the installation elsewhere or change what is chosen.
unset PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_BUILD_CONSTRAINT PIP_ONLY_BINARY PIP_NO_BINARY
unset PIP_REQUIRE_HASHES PIP_NO_DEPS PIP_NO_BUILD_ISOLATION PIP_REQUIREMENT PIP_QUIET PIP_VERBOSE PIP_LOG
unset PYTHONHOME PYTHONPATH

# --- may we install system packages? --------------------------------------------------------------------------------------
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

apt_install() { # apt_install PACKAGE...: quiet; the whole output is shown when it fails
    say "installing $* with apt-get"
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y "$@"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install $*"
    fi
    rm -f "$log"
}

# --- which python? --------------------------------------------------------------------------------------------------------
is_new_enough() { # a pyenv shim can be in the PATH and still not run, so it is run
    "$1" -c "import sys; sys.exit(sys.version_info < (3, $MIN_MINOR))" >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.$MIN_MINOR or newer"
        return
    fi
    for PYTHON in python3 python3.13 python3.12 python3.11; do
        if is_new_enough "$PYTHON"; then return; fi
    done
    found=$(python3 -V 2>&1) || found="no python3"
    fail "Python 3.$MIN_MINOR or newer is needed, found $found; install one, or name it: make PYTHON=/path/to/python3"
}

# --- the virtual environment ----------------------------------------------------------------------------------------------
make_venv() {
    # One that works is kept; one that was half made, or whose python went away, is made anew.
    if is_new_enough "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
    find_python
    say "creating $VENV with $("$PYTHON" -V 2>&1)"
    if ! "$PYTHON" -c 'import ensurepip, venv' >/dev/null 2>&1; then # Debian has these in a package of their own
        package=python3-venv
        case $PYTHON in *python3.[0-9]*) package=$(basename "$PYTHON")-venv ;; esac
        can_apt || fail "this python has no venv; run: sudo apt-get update && sudo apt-get install -y $package"
        apt_install "$package"
    fi
    "$PYTHON" -m venv --clear "$VENV" || fail "could not create $VENV with $PYTHON"
}

# --- packages -------------------------------------------------------------------------------------------------------------
pip_install() { # all that pip says goes to the log; it is shown when something fails
    "$VENV/bin/python" -m pip install --quiet --no-input --disable-pip-version-check "$@" >"$VENV/pip.log" 2>&1
}

show_log_and_fail() {
    tail -n 20 "$VENV/pip.log" >&2
    fail "$1 (all of pip's output: $VENV/pip.log)"
}

install_pinned() { # install_pinned NAME...: requirements/NAME.txt, wheels only unless one is missing for this platform
    files=
    for name in "$@"; do files="$files -r requirements/$name.txt"; done
    say "installing the pinned packages of: $*"
    # shellcheck disable=SC2086 # $files is a list of words
    if pip_install --require-hashes --only-binary :all: $files; then return; fi
    if ! grep -q 'No matching distribution found' "$VENV/pip.log" || grep -q 'Retrying (' "$VENV/pip.log"; then
        show_log_and_fail "pip could not install the pinned packages"
    fi
    say "no wheel for this platform: $(sed -n 's/.*No matching distribution found for \([^ ]*\).*/\1/p' "$VENV/pip.log" | head -n 1)"
    if can_apt; then
        apt_install build-essential python3-dev libffi-dev
    elif ! command -v cc >/dev/null 2>&1; then
        fail "a compiler is needed; run: sudo apt-get update && sudo apt-get install -y build-essential python3-dev libffi-dev"
    fi
    say "building from source what has no wheel (same pins, same hashes)"
    # shellcheck disable=SC2086
    pip_install --require-hashes --prefer-binary $files || show_log_and_fail "pip could not build the pinned packages"
}

install_project() {
    say "installing witnesstree itself (editable)"
    pip_install --no-deps --no-build-isolation --editable . || show_log_and_fail "pip could not install witnesstree"
}

install_conformance() { # the second distribution; it needs nothing that the first one does not bring
    say "installing witnesstree-conformance (editable)"
    pip_install --no-deps --no-build-isolation --editable conformance || show_log_and_fail "pip could not install conformance"
}

# --- what is asked --------------------------------------------------------------------------------------------------------
case "${1:-}" in
runtime)
    make_venv
    install_pinned runtime build
    install_project
    ;;
dev)
    make_venv
    install_pinned dev
    install_conformance
    ;;
*) fail "usage: $0 runtime|dev" ;;
esac
touch "$VENV/.$1-is-ready" # the Makefile compares this file's age with requirements and pyproject.toml
