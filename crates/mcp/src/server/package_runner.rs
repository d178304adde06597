//! Recognizes servers started by a package runner. Their first start installs them and takes
//! minutes; if it is interrupted, the next start installs from the beginning.

use std::path::Path;

use crate::transport::stdio::StdioServerConfig;

/// Programs that download what they run.
const RUNNERS: &[&str] = &["npx", "pnpx", "bunx", "uvx", "pipx"];
/// Programs that do so with a subcommand.
const RUNNER_COMMANDS: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("uv", &["run", "tool", "x"]),
    ("deno", &["run"]),
    ("docker", &["run", "compose"]),
    ("podman", &["run"]),
    ("nix", &["run", "shell"]),
    ("cargo", &["run"]),
    ("go", &["run"]),
];
/// Only this many words are examined; what follows are arguments of the server.
const WORDS_MAX: usize = 6;

/// Does this command line, or the one it passes to a shell, start a package runner?
pub(super) fn runs_package(config: &StdioServerConfig) -> bool {
    let given = std::iter::once(&config.command).chain(&config.arguments);
    let words: Vec<&str> = given.flat_map(|word| word.split_whitespace()).take(WORDS_MAX).collect();
    words.iter().enumerate().any(|(place, word)| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let next = words.get(place + 1).copied().unwrap_or_default();
        RUNNERS.contains(&name)
            || RUNNER_COMMANDS
                .iter()
                .any(|(runner, commands)| *runner == name && commands.contains(&next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_runners_are_told_from_programs() {
        let check = |line: &[&str]| {
            runs_package(&StdioServerConfig {
                command: line[0].to_owned(),
                arguments: line[1..].iter().map(|word| (*word).to_owned()).collect(),
                environment: Vec::new(),
                directory: "/".into(),
            })
        };
        for line in [
            &["npx", "-y", "@scope/server"][..],
            &["/usr/local/bin/uvx", "server"],
            &["uv", "run", "server"],
            &["docker", "run", "-i", "--rm", "image"],
            &["sh", "-c", "exec npx server"],
            &["env", "A=1", "npx", "server"],
        ] {
            assert!(check(line), "{line:?}");
        }
        for line in [&["node", "server.js"][..], &["./server", "run"], &["docker", "exec", "box"]] {
            assert!(!check(line), "{line:?}");
        }
    }
}
