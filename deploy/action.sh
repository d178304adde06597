#!/usr/bin/env bash
# What `action.yml` does: installs a pinned version, runs one prompt, writes a summary, sets outputs.
# Everything comes in by variables, so nothing of an input is ever read as shell.

set -Eeuo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

fail() {
    echo "::error::$*"
    exit 1
}
for name in INPUT_PROMPT INPUT_VERSION INPUT_SHA256 INPUT_RELEASES_URL; do
    [ -n "${!name:-}" ] || fail "the input for $name is missing"
done
command -v jq >/dev/null || fail "jq is not installed on this runner"
: "${GITHUB_OUTPUT:?}" "${GITHUB_STEP_SUMMARY:?}" "${RUNNER_TEMP:?}"

export WINDLASS_RELEASES_URL="$INPUT_RELEASES_URL" WINDLASS_NON_INTERACTIVE=1
export WINDLASS_SHA256="$INPUT_SHA256" WINDLASS_INSTALL_DIR="$RUNNER_TEMP/windlass/bin"
export XDG_DATA_HOME="$RUNNER_TEMP/windlass/share"
sh "$here/install.sh" "$INPUT_VERSION"

words=(-p --output-format json)
[ -z "${INPUT_MODEL:-}" ] || words+=(--model "$INPUT_MODEL")
[ -z "${INPUT_MAX_TURNS:-}" ] || words+=(--max-turns "$INPUT_MAX_TURNS")
[ -z "${INPUT_MAX_BUDGET_USD:-}" ] || words+=(--max-budget-usd "$INPUT_MAX_BUDGET_USD")
[ -z "${INPUT_JSON_SCHEMA:-}" ] || words+=(--json-schema "$INPUT_JSON_SCHEMA")
# One rule a line, because rules have commas and spaces in them.
while IFS= read -r rule; do
    [ -z "$rule" ] || words+=("--allowedTools=$rule")
done <<<"${INPUT_ALLOWED_TOOLS:-}"

result="$RUNNER_TEMP/windlass/result.json"
code=0
# The prompt goes by standard input: it may be long, and it may begin with a hyphen.
printf '%s' "$INPUT_PROMPT" |
    "$WINDLASS_INSTALL_DIR/windlass" "${words[@]}" >"$result" || code="$?"

field() { jq -r "$1 // empty" "$result" 2>/dev/null || true; }
conclusion=failure
if [ "$code" -eq 0 ] && [ "$(field 'if .is_error then "yes" else "" end')" != yes ]; then
    conclusion=success
fi

# output <name> <value>: with an end mark that the value cannot contain by chance.
output() {
    local mark
    mark="end-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
    printf '%s<<%s\n%s\n%s\n' "$1" "$mark" "$2" "$mark" >>"$GITHUB_OUTPUT"
}
output conclusion "$conclusion"
output execution_file "$result"
output session_id "$(field .session_id)"
output structured_output "$(field '.structured_output | if . == null then empty else tojson end')"
output result "$(field .result)"
output branch_name "$(git branch --show-current 2>/dev/null || true)"

{
    echo "## Windlass: $conclusion"
    echo
    field .result
    echo
    echo "| turns | cost | ended | session |"
    echo "|---|---|---|---|"
    echo "| $(field .num_turns) | \$$(field .total_cost_usd) | $(field .subtype) | $(field .session_id) |"
} >>"$GITHUB_STEP_SUMMARY"

exit "$code"
