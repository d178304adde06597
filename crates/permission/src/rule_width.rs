//! Warns about allow rules that permit more than their text suggests.

use crate::rule::Rule;
use crate::shell_command::{is_interpreter, is_runner};

impl Rule {
    /// What this allow rule permits, if a reader may not expect it.
    #[must_use]
    pub fn describe_width(&self) -> Option<&'static str> {
        if self.tool != "Bash" {
            return None;
        }
        let Some(content) = self.content.as_deref() else {
            return Some("it lets every command run");
        };
        let body = content.strip_suffix(":*").or_else(|| content.strip_suffix(" *"))?;
        let words: Vec<&str> = body.split_whitespace().collect();
        match words.as_slice() {
            ["npx" | "bunx" | "pnpx" | "uvx" | "pipx"] => {
                Some("it lets every package run, also one that is only downloaded then")
            }
            ["docker" | "podman" | "nerdctl"] => {
                Some("it lets every container run, also one that mounts the whole disk")
            }
            ["sudo" | "doas" | "su" | "pkexec" | "run0"] => {
                Some("it lets every command run, as another user")
            }
            ["git"] => Some(
                "it lets git push, drop changes and rewrite history, and runs the hooks and filters \
                 of the repository",
            ),
            ["git", "config"] => Some(
                "it lets the settings of git be changed, and some of them name programs that git runs \
                 later",
            ),
            ["ssh"] => Some("it lets every command run on every machine that can be reached"),
            ["curl" | "wget"] => Some("it lets anything be sent to any address"),
            [program] if is_runner(program) => {
                Some("it lets every command run that is given to it")
            }
            [program] if is_interpreter(program) => Some("it lets every script run"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;

    #[test]
    fn wide_rules_say_what_they_open() {
        for (rule, words) in [
            ("Bash", "every command"),
            ("Bash(npx:*)", "every package"),
            ("Bash(bash:*)", "given to it"),
            ("Bash(xargs *)", "given to it"),
            ("Bash(docker:*)", "every container"),
            ("Bash(git:*)", "push"),
            ("Bash(git config:*)", "name programs"),
            ("Bash(python3:*)", "every script"),
        ] {
            let width = Rule::parse(rule).unwrap().describe_width();
            assert!(width.is_some_and(|text| text.contains(words)), "{rule}: {width:?}");
        }
        for rule in
            ["Bash(git log:*)", "Bash(ls:*)", "Read", "Bash(npx tsc:*)", "Bash(bash run.sh)"]
        {
            assert_eq!(Rule::parse(rule).unwrap().describe_width(), None, "{rule}");
        }
    }
}
