//! Flags and commands of the reference command line that have no meaning here. Each is refused with the
//! reason and, where there is one, the way to the same end.

/// A line each: the flag, a space, and why it is refused.
pub(crate) const FOREIGN_FLAGS: &str = include_str!("../text/foreign_flags.txt");
/// The same for commands.
pub(crate) const FOREIGN_COMMANDS: &str = include_str!("../text/foreign_commands.txt");

/// Why a flag or a command that is not known here is refused, if it is in the list.
pub(crate) fn explain_foreign(list: &'static str, word: &str) -> Option<&'static str> {
    let name = word.split('=').next().unwrap_or(word);
    list_reasons(list).find(|(known, _)| *known == name).map(|(_, why)| why)
}

fn list_reasons(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.lines().filter_map(|line| line.split_once(' '))
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
            let is_named = |argument: &clap::Arg| {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                argument.get_long() == Some(long) || aliases.contains(&long)
            };
            command.get_arguments().any(is_named) || flag == "--help"
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
                    assert_eq!(explain_foreign(FOREIGN_FLAGS, flag), Some(note), "{flag}");
                    refused.push(flag);
                }
                other => panic!("{other}"),
            }
        }
        let all: Vec<&str> = list_reasons(FOREIGN_FLAGS).map(|(flag, _)| flag).collect();
        assert_eq!(refused, all);
    }
}
