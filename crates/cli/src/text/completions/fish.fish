# Completions of windlass for fish. Put this into ~/.config/fish/completions/windlass.fish:
#   windlass completions fish > ~/.config/fish/completions/windlass.fish
function __windlass_complete
    set -l words (commandline --cut-at-cursor --tokenize)
    windlass __complete -- $words[2..-1] (commandline --cut-at-cursor --current-token) 2>/dev/null
end
complete --command windlass --arguments '(__windlass_complete)'
