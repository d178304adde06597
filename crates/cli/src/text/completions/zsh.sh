#compdef windlass
# Completions of windlass for zsh. Put this into ~/.zshrc, after compinit:
#   source <(windlass completions zsh)
_windlass() {
    local line
    local -a values described
    while IFS= read -r line; do
        values+=("${line%%$'\t'*}")
        described+=("${line/$'\t'/  -- }")
    done < <(windlass __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#values} )); then
        compadd -l -d described -a values
    elif [[ $PREFIX != -* ]]; then
        _files
    fi
}
if [[ ${funcstack[1]} == _windlass ]]; then
    _windlass "$@"
else
    compdef _windlass windlass
fi
