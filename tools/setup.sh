#!/usr/bin/env bash
# Gets a machine ready, or says what is missing. Every part is quick when there is nothing to do.
#
#   tools/setup.sh toolchain PYTHON    what building needs: Rust, a C compiler, Python with venv
#   tools/setup.sh python PYTHON FILE  .venv with the exact versions of FILE (requirements.txt or requirements-dev.txt)
#   tools/setup.sh guests              QEMU and a kernel for guests, for the demo, which does without where they cannot be had
#   tools/setup.sh tools               the same, and the other programs that tests compare with, browsers that tests open
#   tools/setup.sh fuzz                cargo-fuzz and a nightly compiler
#   tools/setup.sh dist                what a release for the other machine is built and tried with
#
# As root it installs Debian packages that are missing. As anybody else it changes nothing outside the checkout: it names what is
# missing and goes on where it can; the tests that need it are then skipped with that reason (with TRUSTBED_STRICT=1 a skip is a failure).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

fail() {
    say "error: $1"
    say "hint: $2"
    exit 1
}

# May this user install packages here?
may_install() { [ "$(id -u)" = 0 ] && have apt-get; }

install_packages() {
    say "installing: $*"
    # Installed programs are for tests to start: in this run level no package starts its service (nginx would take port 80).
    export RUNLEVEL=1
    # The list on a new machine is empty or old: fetch it only when the first try fails.
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

toolchain() {
    local python=$1 version
    if ! have cc; then
        may_install || fail "no C compiler (cc)" "install gcc and the C library's headers (Debian: gcc libc6-dev)"
        install_packages gcc libc6-dev
    fi
    have cargo || fail "no Rust toolchain (cargo)" "install Rust 1.95 or newer with rustup"
    version=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '1.95.0\n%s\n' "$version" | sort -V | head -n1)" != 1.95.0 ]; then
        fail "Rust $version is too old" "install Rust 1.95 or newer: rustup update stable"
    fi
    have "$python" || fail "no $python" "install Python 3.11 or newer, or name another: make PYTHON=/path/to/python3.11"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$python" --version) is too old" "install Python 3.11 or newer, or name another: make PYTHON=/path/to/python3.11"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        may_install || fail "$python has no venv module" "install python3-venv"
        install_packages python3-venv
    fi
}

python_packages() {
    local python=$1 file=$2
    [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$file"
}

# program → Debian package that brings it
QEMU=qemu-system-x86_64:qemu-system-x86
TOOLS=(c++:g++ tcpdump:tcpdump ab:apache2-utils ip:iproute2 ping:iputils-ping tshark:tshark editcap:wireshark-common tcptrace:tcptrace zstd:zstd iperf3:iperf3 wrk:wrk strace:strace httperf:httperf nginx:nginx-light chromium:chromium chromedriver:chromium-driver pasta:passt mandoc:mandoc zsh:zsh fish:fish iptables:iptables "$QEMU" busybox:busybox-static sshd:openssh-server dockerd:docker.io)

# header → Debian package that brings it, for what tests compile against
HEADERS=(ns3/core-module.h:libns3-dev)

# Comes as source, and goes where everything else is that removing .venv removes.
STAMP=stamp-suite@1.0.0

tools() {
    local pair missing=() packages=()
    for pair in "${TOOLS[@]}"; do
        have "${pair%%:*}" && continue
        missing+=("${pair%%:*}")
        packages+=("${pair##*:}")
    done
    for pair in "${HEADERS[@]}"; do
        [ -e "/usr/include/${pair%%:*}" ] && continue
        missing+=("${pair%%:*}")
        packages+=("${pair##*:}")
    done
    if [ ${#missing[@]} != 0 ]; then
        if may_install; then
            install_packages "${packages[@]}"
        else
            say "missing here: ${missing[*]} (Debian packages: ${packages[*]}); the tests that need them are skipped"
        fi
    fi
    [ -x .venv/bin/stamp-suite ] || { say "building: $STAMP" && cargo install --quiet --locked --debug --root .venv "$STAMP"; } ||
        say "missing here: stamp-suite (cargo install $STAMP); the test that needs it is skipped"
    guest_kernel || say "the tests that start guests are skipped"
}

guests() {
    if ! have "${QEMU%%:*}"; then
        if ! may_install; then
            say "missing here: ${QEMU%%:*} (Debian package: ${QEMU##*:}); the demo does without guests"
        elif ! install_packages "${QEMU##*:}"; then
            say "${QEMU##*:} cannot be installed now; the demo does without guests"
        fi
    fi
    guest_kernel || say "the demo does without guests"
}

# The kernel that guests run goes into the user's cache; nothing is installed.
guest_kernel() {
    have "${QEMU%%:*}" || return 0
    PYTHONPATH=python .venv/bin/python -c 'from trustbed.testbed.qemu import kernel; kernel.main()'
}

fuzz() {
    have rustup || fail "no rustup" "cargo-fuzz needs a nightly compiler; install rustup, then: rustup toolchain install nightly"
    rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal ||
        fail "no nightly compiler" "rustup toolchain install nightly"
    cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz ||
        fail "no cargo-fuzz" "cargo install --locked cargo-fuzz"
    have c++ && return
    may_install || fail "no C++ compiler (c++), which libFuzzer is built with" "install g++"
    install_packages g++
}

# A release is for x86_64 and aarch64; what cannot be built here is skipped with its reason.
dist() {
    local packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross) other=aarch64
    if [ "$(uname -m)" = aarch64 ]; then
        packages=(gcc-x86-64-linux-gnu libc6-dev-amd64-cross) other=x86_64
    fi
    have "$other-linux-gnu-gcc" && have "qemu-$other-static" && return
    packages+=(qemu-user-static)
    if ! may_install; then
        say "missing here: a compiler and an emulator for $other (Debian packages: ${packages[*]}); its part is skipped"
    elif ! install_packages "${packages[@]}"; then
        say "${packages[*]} cannot be installed now; the part for $other is skipped"
    fi
}

case "${1:-}" in
toolchain) toolchain "$2" ;;
python) python_packages "$2" "$3" ;;
guests) guests ;;
tools) tools ;;
fuzz) fuzz ;;
dist) dist ;;
*) fail "unknown part: ${1:-none}" "see the head of tools/setup.sh" ;;
esac
