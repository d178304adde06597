//! Flags of the reference command line that have no meaning here. Each is refused with the reason and,
//! where there is one, the way to the same end.

/// The flag, and why it is refused.
pub(crate) const FOREIGN_FLAGS: &[(&str, &str)] = &[
    (
        "--brief",
        "answers go to the terminal as they are; there is no tool for messages to the user",
    ),
    ("--chrome", "there is no browser extension; use an MCP server that drives a browser"),
    ("--enable-auth-status", "there is no login to report; see `windlass key list`"),
    ("--exclude-dynamic-system-prompt-sections", "the system prompt has no such sections"),
    ("--file", "files of the provider are not fetched; name files in the prompt with @path"),
    ("--from-pr", "sessions are not linked to pull requests; use -r ID or a part of its name"),
    ("--ide", "editors connect by themselves; see `windlass acp setup`"),
    ("--init", "there are no set-up hooks; run the set-up command itself"),
    ("--init-only", "there are no set-up hooks; run the set-up command itself"),
    ("--maintenance", "there are no set-up hooks; run the maintenance command itself"),
    ("--no-chrome", "there is no browser extension to switch off; leave it out"),
    ("--remote", "there are no sessions in a provider's cloud"),
    ("--remote-control", "sessions cannot be steered from another device"),
    ("--teammate-mode", "agents of a team run in this process; there are no panes to choose"),
    ("--teleport", "there are no sessions in a provider's cloud"),
    ("--tmux", "start it in tmux yourself: tmux new windlass"),
    ("--worktree", "make one and work there: git worktree add ../NAME && cd ../NAME && windlass"),
    ("-w", "make one and work there: git worktree add ../NAME && cd ../NAME && windlass"),
];

/// Why a flag that is not known here is refused, if the reference command line has it.
pub(crate) fn explain_foreign_flag(flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or(flag);
    FOREIGN_FLAGS.iter().find(|(known, _)| *known == name).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::CliArgs;

    /// `docs/wire/flags.md` says of every flag what is true.
    #[test]
    fn the_page_about_flags_is_true() {
        let page = include_str!("../../../../docs/wire/flags.md");
        let command = CliArgs::command();
        let is_known = |flag: &str| {
            let long = flag.trim_start_matches("--");
            command.get_arguments().any(|argument| argument.get_long() == Some(long))
                || flag == "--help"
        };
        let mut refused = Vec::new();
        for row in page.lines().filter(|line| line.starts_with("| `-")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let flag = cells[1].trim_matches('`');
            let answer = cells[2];
            let note = cells[3];
            match answer {
                "yes" => assert!(is_known(flag), "{flag}"),
                "no" => {
                    assert!(!is_known(flag), "{flag}");
                    assert_eq!(explain_foreign_flag(flag), Some(note), "{flag}");
                    refused.push(flag);
                }
                other => panic!("{other}"),
            }
        }
        let all: Vec<&str> = FOREIGN_FLAGS.iter().map(|(flag, _)| *flag).collect();
        assert_eq!(refused, all);
    }
}
