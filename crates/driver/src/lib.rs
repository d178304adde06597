//! Performs the engine's effects and reports what happened; decides nothing.
//!
//! This is the crate to embed: [`Builder`] starts a session, [`Session`] speaks to it, [`Notices`]
//! tells what happens. Inside, one task owns the engine's state and does nothing but take an event,
//! write it down, ask the engine for the next state and effects, and start each effect as a task of
//! its own that reports back as an event. So a slow tool or server never makes the session deaf,
//! and an interrupt is served at once.
//!
//! # Quick start
//!
//! A session with a tool of one's own and somebody who answers questions. The server is a rehearsed one
//! that comes with Windlass; with a real one only the endpoint changes. Start it on any tokio runtime.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use windlass_driver::vocabulary::{Answer, ModelFacts, Wire};
//! use windlass_driver::{Builder, Credential, Endpoint, Registry, Settings, own};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Text {
//!     /// What to count.
//!     text: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use windlass_rehearsal::{Answer as Says, Rehearsal, Script, StartOptions};
//! # let input = serde_json::json!({ "text": "turn by turn" });
//! # let script = Script::new().answer(Says::call("Count", input)).answer(Says::text("Three."));
//! # let server = Rehearsal::start(script, StartOptions::default()).await?;
//! # let url = server.url();
//! let mut tools = Registry::builtin();
//! tools.insert(own::reading("Count", "Counts words.", |input: Text, _job| async move {
//!     Ok(format!("{} words", input.text.split_whitespace().count()))
//! }));
//!
//! let endpoint = Endpoint::new(Wire::AnthropicMessages, url)
//!     .credential(Credential::Key("the key".to_owned()));
//! let (session, mut notices) = Builder::new(Settings::new(ModelFacts::new("a-model")), endpoint)
//!     .registry(tools)
//!     .asks(true)
//!     .start()?;
//!
//! let no = |_: &_| Answer::Deny { message: "not here".to_owned(), interrupt: false };
//! let answered = session.prompt("How many words are in this?", &mut notices, no).await?;
//! assert_eq!(answered.text, "Three.");
//! session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Whoever wants to see what happens on the way reads [`Notices`]: pieces of text as they come, calls and
//! what came of them, questions, the end of each run. The programs in `examples/` show that
//! (`one_shot`), a front end that answers questions (`own_answerer`), a tool (`own_tool`) and two
//! providers in one session (`two_providers`); each runs without a key: `cargo run --example own_tool`.
//!
//! # What is promised
//!
//! What a driver owes the engine: each effect is performed once, in order; every errand that is
//! not cancelled reports exactly one end, even if it panics; an event is on disk before its effects
//! are performed; and no rule of the loop is repeated here: there is no branch on a transition or a
//! terminal reason in this crate.
//!
//! Reading order: `builder`, [`session`], `run`, `perform`, then the errands: `model`, `tool`, `compact`,
//! `permission`, `hook`, `spill`, `attachment`.

mod answered;
mod aside;
pub mod attachment;
mod builder;
mod change;
mod clock;
mod compact;
mod error;
mod guard;
mod hook;
mod inspect;
mod journal;
mod keeper;
mod late;
mod model;
mod notebook;
mod notices;
mod outside;
mod perform;
mod permission;
mod run;
mod scribe;
pub mod session;
mod spill;
mod tool;
mod transcript;
pub mod undo;
mod waits;

use std::time::Duration;

pub use answered::Answered;
pub use attachment::Finder;
pub use attachment::nearby::{Instruction, Nearby};
pub use attachment::note::NoteFolder;
pub use attachment::skill::SkillFolders;
pub use builder::Builder;
pub use change::ConfigChange;
pub use error::{SendError, StartError};
pub use hook::Parting;
pub use inspect::Disk;
pub use model::{Endpoint, RENEWAL_MAX, Renewal, Timeouts};
pub use notices::Notices;
pub use session::{Page, Queued, Session, Submission};
pub use tool::confine::{Confined, Confinement};
pub use tool::subagent::{AgentDefinition, Isolation, Subagents};
pub use transcript::{Appended, Heard, Transcript};
pub use waits::Waits;

pub use windlass_dialect::{Credential, Law, law};
pub use windlass_engine::bound::{Bound, bound};
pub use windlass_engine::settings::{After, Agent, Context, Hooks, Limits};
pub use windlass_engine::{Interrupt, Settings};
pub use windlass_hook as hooks;
pub use windlass_hook::HookSet;
pub use windlass_journal::transcript::About;
pub use windlass_journal::{Durability, Head, JournalError};
pub use windlass_mcp as mcp;
pub use windlass_permission::{Granted, Policy, Rule, Rules};
pub use windlass_tool::{
    BackgroundTask, Errand, ErrandCause, Git, GitEnd, GitFailure, Job, Limits as ToolLimits,
    Progress, Registry, Running, SkillPage, Surroundings, Tool, frontmatter, own, skills,
};
pub use windlass_vocabulary as vocabulary;

/// The longest time [`Session::close`] takes: tools get 3 seconds to be gone, then they are dropped.
pub const CLOSE_MAX: Duration = Duration::from_secs(4);
