#!/usr/bin/env bash
# A seed is the same run in every build: trace hashes of the debug, the release and the campaign build are compared.
#
#   ci/compare_profiles.sh [SEEDS]
set -euo pipefail
cd "$(dirname "$0")/.."

seeds="${1:-20}"

hashes() {
    local profile="$1" seed
    cargo build --quiet --profile "$profile" -p splitrace
    for ((seed = 0; seed < seeds; seed++)); do
        # A violated run has a hash too, and its exit code is another step's matter.
        { cargo run --quiet --profile "$profile" -p splitrace -- run --seed "$seed" --format json || true; } |
            sed -n "s/.*\"trace_hash\": *\"\(0x[0-9a-f]*\)\".*/$seed \1/p"
    done
}

expected="$(hashes dev)"
if [ "$(wc -l <<<"$expected")" -ne "$seeds" ]; then
    printf 'expected %d hashes of the debug build, got:\n%s\n' "$seeds" "$expected" >&2
    exit 1
fi
for profile in release sim; do
    if ! diff <(printf '%s\n' "$expected") <(hashes "$profile") >&2; then
        printf 'the builds dev and %s differ: same seed, other run\n' "$profile" >&2
        exit 1
    fi
done
printf '%d seeds have the same hash in dev, release and sim\n' "$seeds"
