//! The arguments of the entry: pairs of a name and a value up to `--`.
//!
//! Only written by our programs; an error names the wrong argument.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::str::FromStr;

use crate::plan::SandboxLimits;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryArguments {
    pub(crate) write: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    /// Names that must not be created.
    pub(crate) refuse: Vec<PathBuf>,
    /// A directory of the command that must be removed after it.
    pub(crate) remove: Option<PathBuf>,
    /// The parent's id; when that process ends, so does everything.
    pub(crate) parent_pid: Option<i32>,
    /// Environment variables of the command, `NAME=VALUE`.
    pub(crate) environment: Vec<OsString>,
    /// Are network sockets allowed?
    pub(crate) network: bool,
    /// May modes, owners and times be changed?
    pub(crate) metadata: bool,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) limits: Option<SandboxLimits>,
    pub(crate) command: Vec<OsString>,
}

impl EntryArguments {
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let mut list: Vec<OsString> = Vec::new();
        let mut say = |word: &str, value: OsString| list.extend([word.into(), value]);
        self.write.iter().for_each(|path| say("write", path.into()));
        self.hide.iter().for_each(|path| say("hide", path.into()));
        self.refuse.iter().for_each(|path| say("refuse", path.into()));
        self.remove.iter().for_each(|path| say("remove", path.into()));
        self.parent_pid.iter().for_each(|pid| say("front", pid.to_string().into()));
        self.environment.iter().for_each(|pair| say("env", pair.clone()));
        say("network", yes_or_no(self.network));
        say("metadata", yes_or_no(self.metadata));
        self.socket.iter().for_each(|path| say("socket", path.into()));
        if let Some(limits) = &self.limits {
            say("processes", limits.processes.to_string().into());
            say("memory", limits.memory.to_string().into());
            limits.processor_seconds.iter().for_each(|cpu| say("cpu", cpu.to_string().into()));
        }
        list.push("--".into());
        list.extend(self.command.iter().cloned());
        list
    }

    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let mut entry = Self::default();
        let mut list = arguments.iter();
        while let Some(word) = list.next() {
            if word == "--" {
                entry.command = list.cloned().collect();
                if entry.command.is_empty() {
                    return Err("no command after `--`".into());
                }
                return Ok(entry);
            }
            let word = word.to_string_lossy();
            let value = list.next().ok_or_else(|| format!("`{word}` has no value"))?;
            entry.set_option(&word, value)?;
        }
        Err("no `--`".into())
    }

    fn set_option(&mut self, word: &str, value: &OsString) -> Result<(), String> {
        match word {
            "write" => self.write.push(value.into()),
            "hide" => self.hide.push(value.into()),
            "refuse" => self.refuse.push(value.into()),
            "remove" => self.remove = Some(value.into()),
            "env" => self.environment.push(value.clone()),
            "network" => self.network = value == "yes",
            "metadata" => self.metadata = value == "yes",
            "socket" => self.socket = Some(value.into()),
            "front" => self.parent_pid = Some(parse_number(word, value)?),
            "processes" | "memory" | "cpu" => {
                let number = parse_number(word, value)?;
                let limits = self.limits.get_or_insert_default();
                match word {
                    "processes" => limits.processes = number,
                    "memory" => limits.memory = number,
                    _ => limits.processor_seconds = Some(number),
                }
            }
            other => return Err(format!("`{other}` is not known")),
        }
        Ok(())
    }
}

fn parse_number<N: FromStr>(word: &str, value: &OsStr) -> Result<N, String> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("`{word}` is not a number"))
}

fn yes_or_no(is: bool) -> OsString {
    if is { "yes" } else { "no" }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_back() {
        let entry = EntryArguments {
            write: vec!["/a b".into(), "/--".into()],
            hide: vec!["/h".into()],
            refuse: vec!["/a b/.npmrc".into()],
            remove: Some("/r".into()),
            parent_pid: Some(7),
            environment: vec!["LD_PRELOAD=x".into()],
            network: true,
            metadata: true,
            socket: Some("/s".into()),
            limits: Some(SandboxLimits { processor_seconds: Some(3), ..SandboxLimits::default() }),
            command: vec!["sh".into(), "--".into(), "write".into()],
        };
        assert_eq!(EntryArguments::parse(&entry.to_arguments()), Ok(entry));
    }

    #[test]
    fn anything_else_is_refused() {
        for (wrong, words) in [
            (&["frobnicate", "x", "--", "true"][..], "`frobnicate` is not known"),
            (&["write"], "`write` has no value"),
            (&["memory", "much", "--", "true"], "`memory` is not a number"),
            (&["network", "yes"], "no `--`"),
            (&["--"], "no command after `--`"),
        ] {
            let arguments: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert_eq!(EntryArguments::parse(&arguments), Err(words.to_owned()));
        }
    }
}
