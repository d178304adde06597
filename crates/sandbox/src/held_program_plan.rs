//! The plan of one confined program of a command line, and its file format.
//!
//! The shell starts our entry before the program, and the entry reads this plan.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::cell_plan::CellPlan;

/// Larger than any valid plan.
const PLAN_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldProgramPlan {
    pub cell: CellPlan,
    /// Variables that differ from the shell's.
    pub set: Vec<(OsString, OsString)>,
    /// Variables that are removed.
    pub unset: Vec<OsString>,
}

impl HeldProgramPlan {
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut say = |word: &str, value: &OsStr| {
            for part in [word.as_bytes(), value.as_bytes()] {
                bytes.extend_from_slice(part);
                bytes.push(0);
            }
        };
        say("temporary", self.cell.temporary_directory.as_os_str());
        self.cell.home.iter().for_each(|path| say("home", path.as_os_str()));
        self.cell.hidden.iter().for_each(|path| say("hide", path.as_os_str()));
        self.cell.shown.iter().for_each(|path| say("show", path.as_os_str()));
        self.unset.iter().for_each(|name| say("unset", name));
        for (name, value) in &self.set {
            say("name", name);
            say("value", value);
        }
        bytes
    }

    /// Reads the plan that the first argument of the entry names. Returns it with the program and
    /// its arguments, which follow after `--`.
    pub(crate) fn read(arguments: &[OsString]) -> Result<(Self, &OsString, &[OsString]), String> {
        let [plan, end, program, rest @ ..] = arguments else {
            return Err("no plan, or no command".to_owned());
        };
        if end != "--" {
            return Err("no `--`".to_owned());
        }
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(plan);
        opened
            .and_then(|file| file.take(PLAN_BYTES_MAX).read_to_end(&mut bytes))
            .map_err(|error| format!("the plan cannot be read: {error}"))?;
        Ok((Self::parse(&bytes)?, program, rest))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut plan = Self::default();
        let mut parts = bytes.split(|byte| *byte == 0);
        let mut name = OsString::new();
        while let Some(word) = parts.next().filter(|word| !word.is_empty()) {
            let value = parts.next().ok_or("the plan ends too early")?;
            let value = OsString::from_vec(value.to_vec());
            match word {
                b"temporary" => plan.cell.temporary_directory = value.into(),
                b"home" => plan.cell.home = Some(value.into()),
                b"hide" => plan.cell.hidden.push(value.into()),
                b"show" => plan.cell.shown.push(value.into()),
                b"unset" => plan.unset.push(value),
                b"name" => name = value,
                b"value" => plan.set.push((std::mem::take(&mut name), value)),
                _ => return Err("the plan is not one of ours".to_owned()),
            }
        }
        match plan.cell.temporary_directory.as_os_str().is_empty() {
            true => Err("the plan is empty".to_owned()),
            false => Ok(plan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let plan = HeldProgramPlan {
            cell: CellPlan {
                temporary_directory: "/t".into(),
                hidden: vec!["/a b".into(), "/c\nd".into()],
                home: Some("/h".into()),
                shown: vec!["/s".into()],
            },
            set: vec![("A".into(), "x=y".into()), ("B".into(), "".into())],
            unset: vec!["C".into()],
        };
        assert_eq!(HeldProgramPlan::parse(&plan.to_bytes()), Ok(plan));
        for wrong in [&b""[..], b"hide\0", b"other\0x\0", b"hide\0/x\0"] {
            assert!(HeldProgramPlan::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
