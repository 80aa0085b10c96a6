#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each: tools/fuzz.sh SECONDS [TARGET…]
#
# Inputs that find something new go to fuzz/target, never among the tracked seeds; an input that breaks a target stays in fuzz/artifacts.
# A target may use 2 GB and 10 s per input: more is a growth or a hang, and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=$1
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
[ ${#targets[@]} -gt 0 ] || { echo "error: no fuzz targets" >&2; exit 1; }

for target in "${targets[@]}"; do
    echo "fuzzing $target for $seconds s"
    found=fuzz/target/corpus/$target
    mkdir -p "$found"
    seeds=()
    [ -d "fuzz/corpus/$target" ] && seeds=("fuzz/corpus/$target")
    cargo +nightly fuzz run "$target" "$found" "${seeds[@]}" -- -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1
done
