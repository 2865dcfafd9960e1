#!/usr/bin/env bash
# The tests, the lints, the documentation and a short campaign: minutes, not hours. `ci/nightly.sh` is the long one.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/step.sh

# Cheap ones first, so that a slip is told soon.
step "format" cargo fmt --all --check
step "tests" cargo test
step "one seed, one run in every build" ci/compare_profiles.sh 10
step "clippy" cargo clippy --all-targets -- -D warnings
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
step "campaign of 2000 seeds" cargo run --profile sim -- campaign --seeds 0..2000
printf '=== all passed in %d s\n' "$SECONDS"
