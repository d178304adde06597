//! Why the command stops: one line with the cause and what to do, and an exit code.
//!
//! Everything that can go wrong before a run begins ends up here, so that users never see a
//! backtrace or a page of usage for a typo. A run that fails is not such an error.

use std::fmt;

use crate::display::strip_control_characters;
use crate::exit::Exit;

#[derive(Debug)]
pub struct CommandError {
    pub exit: Exit,
    /// What a front end with a user can offer instead of ending.
    pub remedy: Option<CommandRemedy>,
    message: String,
}

/// What a user can say to make the same start succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandRemedy {
    /// A key is missing: enter one, or choose a model that needs none.
    EnterKey,
    /// The journal of the session cannot be used: continue from its transcript.
    ContinueFromTranscript,
}

impl CommandError {
    /// The command line or the prompt is wrong.
    pub fn usage(line: impl Into<String>) -> Self {
        Self::new(Exit::USAGE, line)
    }

    /// Something outside is wrong: the environment, the network, the disk.
    pub fn failure(line: impl Into<String>) -> Self {
        Self::new(Exit::FAILURE, line)
    }

    /// With a code of its own.
    pub fn new(exit: Exit, line: impl Into<String>) -> Self {
        let line = line.into();
        // The line may be that of another error, which has the program's name before it already.
        let message = line.strip_prefix("windlass: ").map_or_else(|| line.clone(), str::to_owned);
        Self { exit, remedy: None, message }
    }

    pub fn with_remedy(self, remedy: CommandRemedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    /// Without the program's name before it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Nothing was asked at all: a few kind lines instead of one.
    pub fn welcome() -> Self {
        Self::usage("")
    }
}

/// One line, whatever was quoted in it; the welcome alone has more.
impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(include_str!("text/welcome.txt").trim_ascii_end()),
            line => write!(f, "windlass: {}", to_single_line(line)),
        }
    }
}

pub fn to_single_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    strip_control_characters(&joined).into_owned()
}
