//! Commands that mean something only in a terminal, or mean more there.

/// The name, what may be written after it, and what it does.
pub(super) const OWN: &[(&str, &str, &str)] = &[
    ("clear", "", "begin a new session"),
    ("exit", "", "end the session; Ctrl-D does too"),
    ("hooks", "", "show the hooks in force"),
    ("mcp", "", "show how it stands with each MCP server"),
    ("model", "[NAME]", "choose which model is asked"),
    ("resume", "[ID]", "go on with another session"),
    ("rewind", "[NUMBER]", "go back to an earlier prompt; Esc Esc does too"),
    ("theme", "[NAME]", "change the colours"),
    ("vim", "", "keys as in vim, or no longer"),
    ("why", "", "say why the last run went as it did"),
];
