#!/usr/bin/env bash
# Runs libFuzzer on each target in turn, and says what to do with what it finds.
#   fuzz.sh BINARY SECONDS TARGET..
set -euo pipefail
binary=$(realpath "$1") seconds=$2
shift 2
here=$(realpath "$(dirname "$0")")
broken=()
for target in "$@"; do
    found=$here/artifacts/$target
    mkdir -p "$found/corpus"
    printf '==== %s\n' "$target"
    # New inputs go into the first folder; the corpus of the repository is only read.
    if ! HUDINI_FUZZ_TARGET=$target "$binary" -max_total_time="$seconds" -max_len=65536 -len_control=20 -timeout=10 \
        -rss_limit_mb=4096 -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/" \
        "$found/corpus" "$here/corpus/$target" > "$found/log" 2>&1; then
        broken+=("$target")
        grep -E 'panicked|ERROR|SUMMARY|^thread' -A 2 "$found/log" | tail -20 || true
        printf 'reproduce: cargo run -p hudini-fuzz -- run %s FILE, with FILE one of\n' "$target"
        find "$found" -maxdepth 1 -type f ! -name log
    fi
    grep -E 'DONE|stat::' "$found/log" || true
done
if [ "${#broken[@]}" -gt 0 ]; then
    echo "broken: ${broken[*]}" >&2
    exit 1
fi
