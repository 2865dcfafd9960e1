# Sourced by the scripts beside it: `step NAME COMMAND...` runs a command and prints its name and its seconds.
#
# RUSTFLAGS is never set here: it would rebuild everything, and the madsim build inside `cargo test` sets its own.

step() {
    local name="$1" began=$SECONDS
    shift
    printf '=== %s\n' "$name"
    if "$@"; then
        printf -- '--- %s: ok, %d s\n' "$name" $((SECONDS - began))
    else
        local code=$?
        printf -- '--- %s: FAILED with exit code %d after %d s\n' "$name" "$code" $((SECONDS - began)) >&2
        exit "$code"
    fi
}
