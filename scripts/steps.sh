# Sourced by the scripts beside it and by .ci/run: named steps with their times, and what a machine needs.
# It changes to the repository's root, so that every script may be called from anywhere.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

STEP=""
STEP_BEGAN=0
AT_EXIT=:
trap 'rc=$?; [ "$rc" = 0 ] || [ -z "$STEP" ] || printf "== %s: FAILED (exit %d) after %d s\n" "$STEP" "$rc" $((SECONDS - STEP_BEGAN)) >&2; $AT_EXIT || true' EXIT

# at_exit COMMAND: what is run when the script ends, in whatever way; its own exit code does not count.
at_exit() { AT_EXIT=$1; }

# step NAME COMMAND…: runs COMMAND and prints how long it took. Not `COMMAND || …`: that would switch off `set -e` inside functions.
step() {
  STEP=$1
  STEP_BEGAN=$SECONDS
  shift
  printf '\n== %s\n' "$STEP"
  "$@"
  printf '== %s: %d s\n' "$STEP" $((SECONDS - STEP_BEGAN))
  STEP=""
}

# fail WHAT HINT
fail() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

# need_go: Go from PATH, or from where its own installer puts it.
need_go() {
  if ! command -v go >/dev/null 2>&1; then
    PATH="/usr/local/go/bin:$PATH"
    export PATH
  fi
  command -v go >/dev/null 2>&1 ||
    fail "go is not installed" "get Go 1.26 or newer from https://go.dev/dl/ and unpack it: tar -C /usr/local -xzf go1.26.*.linux-amd64.tar.gz"
}

# missing_packages COMMAND=PACKAGE…: the Debian packages whose command is not there.
missing_packages() {
  local pair
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 || printf '%s ' "${pair#*=}"
  done
}

# install PACKAGE…: with apt when this is root on Debian; else the command is named, and that is a failure.
install() {
  [ $# -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    printf 'installing with apt-get: %s\n' "$*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    return 0
  fi
  if command -v apt-get >/dev/null 2>&1; then
    fail "not installed: $*" "sudo apt-get install $*"
  fi
  fail "not installed: $* (Debian's package names)" "install them with this system's package manager"
}

# compiles: whether the C compiler works with the C library's headers, which the race detector needs.
compiles() {
  command -v gcc >/dev/null 2>&1 && printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | gcc -x c -o /dev/null - 2>/dev/null
}

# has_postgres: whether the server is installed; Debian keeps it out of PATH.
has_postgres() {
  command -v initdb >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

# find_python: a Python that has what testvectors/check.py needs, the one in PATH or Debian's own; nothing where there is none.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import argon2.low_level, cryptography' 2>/dev/null; then
      printf '%s\n' "$python"
      return 0
    fi
  done
}

# need_test_tools: what `make test` needs besides Go. Node.js checks the test vectors and runs the JSON Schema validator that wire schemas are checked
# with, which npm fetches.
need_test_tools() {
  local packages
  packages=$(missing_packages make=make git=git node=nodejs npm=npm)
  compiles || packages="$packages gcc libc6-dev"
  has_postgres || packages="$packages postgresql"
  [ -n "$(find_python)" ] || packages="$packages python3 python3-cryptography python3-argon2"
  [ -e /etc/ssl/certs/ca-certificates.crt ] || [ ! -e /etc/debian_version ] || packages="$packages ca-certificates"
  # shellcheck disable=SC2086 # a list
  install $packages
}

# build_vaultserver: the real Vault server that tests use, into .cache/bin, unless it is there. Minutes the first time; without -race.
build_vaultserver() { go run ./internal/testenv/testservers build; }

# nested_modules: the directories of this repository's other modules, one a line; build_vaultserver is for the Vault server, which has hundreds of
# dependencies and is tested through what uses it.
nested_modules() {
  find . -mindepth 2 -name go.mod -not -path './.cache/*' -not -path '*/testdata/*' -not -path './internal/testenv/vaultserver/*' -exec dirname {} \; | sort
}
