#!/usr/bin/env bash
# Long campaigns over seeds that no earlier night has seen.
#
#   ci/nightly.sh [FIRST_SEED] [TIME] [OUT_DIR]
#
# FIRST_SEED defaults to a million times the day since 1970, so that every night is new and every night can be repeated.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/step.sh

first_seed="${1:-$(($(date +%s) / 86400 * 1000000))}"
time="${2:-2h}"
out="${3:-target/nightly}"

step "build" cargo build --profile sim
step "fixed seeds 0..20000" cargo run --profile sim -- campaign --seeds 0..20000 --out "$out/fixed"
step "new seeds from $first_seed for $time" \
    cargo run --profile sim -- campaign --time "$time" --first-seed "$first_seed" --out "$out/new"
# A checker that never failed proves nothing: every defect of the registry must still be found.
planted() {
    local id
    # One defect per call: with two, one could hide the other.
    while read -r id; do
        # Exit code 1 is what is hoped for here, and `tee | grep -q` would cut the campaign short.
        cargo run --quiet --profile sim -- campaign --seeds 0..2000 --defect "$id" >"$out/defect-$id.txt" || true
        if ! grep -q "^defect $id: FOUND" "$out/defect-$id.txt"; then
            tail -n 5 "$out/defect-$id.txt"
            return 1
        fi
        grep "^defect $id: FOUND" "$out/defect-$id.txt"
    done < <(cargo run --quiet --profile sim -- defects --format json | grep -o '"id": "[^"]*"' | cut -d'"' -f4)
}
step "planted defects" planted
printf '=== all passed in %d s\n' "$SECONDS"
