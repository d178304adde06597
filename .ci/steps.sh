# Steps with deadlines for `.ci/run`, `.ci/foreign` and `.ci/release`, which source it: one after another, or beside
# each other. Each says what it took by the clock and of the processor, which tells waiting from work.
# shellcheck shell=bash

current="start"
timings=()
beside_name=""
beside_began=0
beside_limit=0
beside_child=""
scratch="$(mktemp -d)"

# Ends what still runs, prints the timings when something went wrong, and leaves nothing behind.
clean_up_steps() {
    local code="$?" child
    for child in $(jobs -p); do kill "$child" 2>/dev/null || true; done
    [ "$code" -eq 0 ] || print_timings >&2
    rm -rf "$scratch"
}
trap clean_up_steps EXIT
trap 'exit 143' TERM
trap 'echo "${0##*/}: failed (exit $?) in step: $current" >&2' ERR

print_timings() {
    echo "==> $SECONDS s so far: seconds by the clock, seconds of the processor"
    [ "${#timings[@]}" -eq 0 ] || printf '%s\n' "${timings[@]}"
}

# Seconds of the processor that ended children took so far, into `used`. A pipe would be a child with none.
used=0
count_used() {
    times >"$scratch/times"
    used="$(awk -F '[ms ]+' 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }' "$scratch/times")"
}

# note_timing <name> <began> [<used before>]
note_timing() {
    local work="-"
    if [ -n "${3:-}" ]; then
        count_used
        work="$((used - $3))"
    fi
    timings+=("$(printf '%5d s %5s s  %s' "$((SECONDS - $2))" "$work" "$1")")
}

# step <name> <seconds it may take> <command...>
step() {
    current="$1"
    local limit="$2" began="$SECONDS" before
    shift 2
    count_used
    before="$used"
    # Of a program for a shell, the first line.
    echo "==> $current: ${*%%$'\n'*}"
    # In the background and waited for, so that a signal to this shell ends it at once.
    timeout --kill-after=10 "$limit" "$@" </dev/null &
    wait "$!"
    note_timing "$current" "$began" "$before"
}

# beside <name> <seconds it may take> <command...>: starts one that goes on beside the next steps; what it prints is
# shown by `join`. One at a time.
beside() {
    beside_name="$1"
    beside_limit="$2"
    beside_began="$SECONDS"
    shift 2
    echo "==> $beside_name, beside what follows: $*"
    timeout --kill-after=10 "$beside_limit" "$@" >"$scratch/beside" 2>&1 </dev/null &
    beside_child="$!"
}

# Waits for the one that was started beside the others, and shows what it printed.
join() {
    current="$beside_name"
    local waited="$SECONDS" code=0
    wait "$beside_child" || code="$?"
    echo "==> $beside_name: it took $((SECONDS - beside_began)) s, of which $((SECONDS - waited)) s were waited for"
    cat "$scratch/beside"
    note_timing "$beside_name (waited for)" "$waited"
    return "$code"
}
