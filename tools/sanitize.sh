#!/usr/bin/env bash
# Runs tests where undefined behaviour and errors of memory show: tools/sanitize.sh miri [CRATE…] | asan
#
# miri   interprets the unit tests of the pure crates, except property tests, which would take hours
# asan   runs the tests of the two crates with unsafe code, agent and capture, under AddressSanitizer
#
# Both need a nightly compiler, and build into target/sanitize; results of other builds stay as they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

cargo +nightly --version >/dev/null 2>&1 || fail "no nightly compiler" "rustup toolchain install nightly"
export CARGO_TARGET_DIR=target/sanitize

pure() {
    grep -l 'pure crate: ' crates/*/clippy.toml | cut -d/ -f2
}

miri() {
    cargo +nightly miri --version >/dev/null 2>&1 ||
        fail "no Miri" "rustup component add miri rust-src --toolchain nightly"
    local crates=("$@") crate
    [ $# -gt 0 ] || mapfile -t crates < <(pure)
    # Property tests write what failed to a file, which an isolated interpreter cannot.
    export MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1
    for crate in "${crates[@]}"; do
        echo "miri: $crate"
        cargo +nightly miri test --quiet --locked --package "trustbed-${crate//_/-}" --lib
    done
}

asan() {
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    # The target is named so that build scripts and macros run without it. Leaks are left to the kernel: a test that is to be killed
    # frees nothing. Freed memory is kept back for a while, but not for so long that a test of what is held would see it.
    export RUSTFLAGS=-Zsanitizer=address RUSTDOCFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8
    cargo +nightly test --locked --target "$host" --package trustbed-capture --package trustbed-agent
}

case "${1:-}" in
miri) miri "${@:2}" ;;
asan) asan ;;
*) fail "unknown part: ${1:-none}" "see the head of tools/sanitize.sh" ;;
esac
