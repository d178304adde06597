# Completions of windlass for bash. Put this into ~/.bashrc:
#   source <(windlass completions bash)
_windlass() {
    local line words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <(windlass __complete -- "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 0 && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
        compopt -o default
    fi
}
complete -F _windlass windlass
