//! Long sessions of known material, turn by turn: what measurements of growth are made on.
//!
//! Every turn is an answer with a call, its result, and the next request. Nothing goes wrong here.

use std::time::{Duration, Instant};

use windlass_engine::{Event, Settings};
use windlass_vocabulary::{Json, Tokens, ToolName, ToolSpec};

use crate::manual_session::{ManualSession, build_settings};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongSessionKind {
    /// Nothing ever has to go; every turn brings the same.
    Roomy,
    /// A window of 200,000 tokens, results of 2 to 6 KB and now and then a long one: every level acts
    /// but the second, which is off unless a test switches it on.
    Real,
    /// The same with the second level on, which then leaves nothing to do for the fourth and fifth.
    Snipped,
    /// A tenth of a real one, for a first look.
    Small,
}

impl LongSessionKind {
    #[must_use]
    pub fn build_settings(self) -> Settings {
        let mut settings = match self {
            Self::Roomy => build_settings(u64::MAX / 1_000, 8_000),
            Self::Real | Self::Snipped => build_settings(200_000, 8_000),
            Self::Small => build_settings(20_000, 1_000),
        };
        settings.prompt.system_prompt =
            "You work on a repository and are careful. ".repeat(100).into();
        settings.tools = ["Read", "Bash", "Edit"].into_iter().map(build_tool_spec).collect();
        match self {
            Self::Snipped => settings.context.turns_kept = Some(150),
            Self::Small => {
                settings.context.verbose_bytes = 200;
                settings.context.summary_tokens = Tokens(1_600);
            }
            Self::Roomy | Self::Real => {}
        }
        settings
    }

    #[must_use]
    pub fn expected_levels(self) -> &'static [usize] {
        match self {
            Self::Roomy => &[],
            Self::Real | Self::Small => &[1, 3, 4, 5],
            Self::Snipped => &[1, 2, 3],
        }
    }

    #[must_use]
    pub fn result_bytes(self, turn: usize) -> usize {
        match self {
            Self::Roomy => 2_000,
            Self::Small if turn % 60 == 59 => 31_000,
            Self::Small => 200 + turn * 7_919 % 400,
            Self::Real | Self::Snipped if turn % 60 == 59 => 40_000,
            Self::Real | Self::Snipped => 2_000 + turn * 7_919 % 4_000,
        }
    }

    /// A session of this kind in which one thing was asked.
    #[must_use]
    pub fn start_session(self) -> ManualSession {
        let mut session = ManualSession::new(self.build_settings());
        session.submit("Find the fault and mend it.");
        session
    }
}

fn build_tool_spec(name: &str) -> ToolSpec {
    let schema = r#"{"type":"object","properties":{"file_path":{"type":"string"}}}"#;
    ToolSpec {
        name: ToolName::from(name),
        description: "Does what its name says, on one file at a time. ".repeat(10).into(),
        input_schema: Json::from_checked(schema),
        result_bytes_max: 30_000,
    }
}

/// Plays one turn and says what the engine took for it, with letting go of what it gave out. Words are
/// made beforehand. `None` if the run ended.
pub fn play_turn(
    session: &mut ManualSession,
    kind: LongSessionKind,
    turn: usize,
) -> Option<Duration> {
    let mut took = Duration::ZERO;
    play_turn_with(session, kind, turn, &mut |session, event| {
        let began = Instant::now();
        drop(session.apply_event(event));
        took += began.elapsed();
    });
    // The user sends a message now and then, which is not a turn.
    if turn % 40 == 39 {
        let billed = session.estimate.0;
        for event in [session.text_event("It is done.".to_owned()), session.end_event(billed)] {
            session.apply_event(event);
        }
        session.submit("Good. Now look at the next one, and mind what I said before.");
        if let Some(summary) = session.summary_event(SUMMARY_TEXT) {
            session.apply_event(summary);
        }
    }
    session.request.is_some().then_some(took)
}

pub fn play_turn_with(
    session: &mut ManualSession,
    kind: LongSessionKind,
    turn: usize,
    take: &mut dyn FnMut(&mut ManualSession, Event),
) {
    // Counting it here would fetch the whole history into the caches, or out of them.
    let billed = session.estimate.0;
    let says =
        session.text_event(format!("Now I look at part {turn} of it, because of what I saw."));
    let call = session.call_event("Read", &format!("{{\"file_path\":\"/w/src/part_{turn}.rs\"}}"));
    let end = session.end_event(billed);
    let words = build_result_text(turn, kind.result_bytes(turn));
    for event in [says, call, end] {
        take(session, event);
    }
    let result = session.result_event(words);
    take(session, result);
    if let Some(summary) = session.summary_event(SUMMARY_TEXT) {
        take(session, summary);
    }
}

const SUMMARY_TEXT: &str = "What was asked, what was done, which files matter and what is left to do: \
    the parts were read one after the other, each was found to be as it should, and the next one \
    is to be looked at. ";

fn build_result_text(turn: usize, bytes: usize) -> String {
    let mut words = String::with_capacity(bytes);
    let mut line = 0;
    while words.len() + 60 < bytes {
        line += 1;
        words.push_str(&format!("{line:>5}  let part_{turn} = read(&path, {line})?;\n"));
    }
    words.extend(std::iter::repeat_n('.', bytes - words.len()));
    words
}
