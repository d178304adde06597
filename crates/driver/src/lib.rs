//! Performs the engine's effects and reports the results as events. Makes no decisions.
//!
//! This is the crate to embed: [`SessionBuilder`] starts a session, [`Session`] is its handle, and
//! [`Notices`] is the stream of what happens. Inside, one task owns the engine's state: it takes an
//! event, writes it to the journal, asks the engine for the next state and effects, and starts each
//! effect as a task of its own that reports back as an event. A slow tool or server therefore never
//! blocks the session, and an interrupt is handled at once.
//!
//! # Quick start
//!
//! A session with a custom tool and a function that answers permission questions. The server is a
//! rehearsal server that comes with Windlass; with a real one only the endpoint changes. Any tokio
//! runtime will do.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use windlass_driver::engine_settings::Settings;
//! use windlass_driver::vocabulary::{ModelFacts, PermissionAnswer, WireFormat};
//! use windlass_driver::{Credential, Endpoint, SessionBuilder, ToolRegistry, custom_tool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Text {
//!     /// What to count.
//!     text: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};
//! # let input = serde_json::json!({ "text": "turn by turn" });
//! # let script = Script::new().answer(Says::call("Count", input)).answer(Says::text("Three."));
//! # let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
//! # let url = server.url();
//! let mut tools = ToolRegistry::with_builtin_tools();
//! tools.insert(custom_tool::build_read_only_tool("Count", "Counts words.", |input: Text, _call| async move {
//!     Ok(format!("{} words", input.text.split_whitespace().count()))
//! }));
//!
//! let endpoint = Endpoint::new(WireFormat::AnthropicMessages, url)
//!     .credential(Credential::Key("the key".to_owned()));
//! let (session, mut notices) = SessionBuilder::new(Settings::new(ModelFacts::new("a-model")), endpoint)
//!     .registry(tools)
//!     .permission_prompts(true)
//!     .start()?;
//!
//! let no = |_: &_| PermissionAnswer::Deny { message: "not here".to_owned(), interrupt: false };
//! let result = session.prompt("How many words are in this?", &mut notices, no).await?;
//! assert_eq!(result.text, "Three.");
//! session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! To follow a run, read [`Notices`]: streamed text, tool calls and their results, questions, the end of
//! each run. The programs in `examples/` show that (`one_shot`), a front end that answers questions
//! (`own_answerer`), a conversation that is continued (`resume`) or goes two ways (`fork`), a folder of
//! sessions (`session_store`), a tool (`own_tool`) and two providers in one session (`two_providers`).
//! Each runs without a key: `cargo run -p windlass-driver --example own_tool`. `docs/library.md` says
//! what is promised to those who embed this crate.
//!
//! # Guarantees
//!
//! The driver guarantees to the engine: each effect is performed once, in order; every task that is
//! not cancelled reports exactly one end, even if it panics; an event is on disk before its effects
//! are performed; and no rule of the loop is repeated here: this crate does not branch on a
//! transition or a terminal reason.
//!
//! Reading order: `session_builder`, `session`, `session_loop`, `effect_performer`, then what it starts:
//! `model`, `tool`, `subagent`, `permission_prompts`, `hook`, `spill_writer`, `attachment`.
#![warn(missing_docs)]

pub mod attachment;
mod call_inspector;
mod client_questions;
mod clock;
mod effect_performer;
pub mod engine_settings;
mod error;
mod hook;
mod joinable_delta;
mod journal_location;
mod latency;
mod memory_file;
mod model;
mod model_spending;
mod nested_questions;
mod notices;
mod observer;
mod panic_guard;
mod permission_prompts;
mod prompt_submission;
pub mod rewind;
mod scratch_directory;
mod session;
mod session_builder;
mod session_command;
mod session_end_reason;
mod session_journal;
mod session_loop;
mod session_settings;
pub mod session_store;
mod session_watch;
mod shared_budget;
pub mod snapshot;
mod spill_writer;
mod subagent;
mod tool;
mod transcript_writer;
pub mod trial;

use std::time::Duration;

pub use attachment::AttachmentFinder;
pub use attachment::memory_folder::MemoryFolder;
pub use attachment::path_instructions::{PathInstruction, PathInstructionSource};
pub use attachment::skill_folders::SkillFolders;
pub use call_inspector::{HostFileSystem, record_paths};
pub use error::{SendError, SessionStartError};
pub use latency::LatencyHistogram;
pub use model::{CredentialRenewal, Endpoint, ModelTimeouts, RENEWAL_MAX};
pub use model_spending::ModelSpending;
pub use notices::Notices;
pub use observer::{
    HookBatchResult, ModelServer, Observation, ObservedSession, ObserverFuture, SessionObserver,
    TracePosition,
};
pub use prompt_submission::{PromptSubmission, QueuedMessage, SlashCommandCall};
pub use session::{PromptResult, Session};
pub use session_builder::SessionBuilder;
pub use session_command::{ConfigChange, ConfigChangeSource};
pub use session_end_reason::SessionEndReason;
pub use session_settings::{SessionSettingsView, SettingsChange};
pub use subagent::{AgentDefinition, AgentIsolation, SubagentConfig};
pub use tool::cell_launcher::{CommandCellConfig, ToolCellLauncher};
pub use tool::sandbox_launcher::{CommandSandboxConfig, ToolSandboxLauncher};
pub use transcript_writer::{AppendedTranscriptLines, TranscriptConfig, TranscriptListener};

pub use windlass_dialect::{Credential, ProviderRules, provider_rules};
pub use windlass_hook as hooks;
pub use windlass_hook::HookSet;
pub use windlass_journal::transcript::TranscriptContext;
pub use windlass_journal::{Durability, JournalError, JournalHead};
pub use windlass_mcp as mcp;
pub use windlass_permission::{PermissionGrant, Policy, Rule, Rules};
pub use windlass_tool::http_client::trust_certificates;
pub use windlass_tool::{
    BackgroundTask, BackgroundTaskEnd, EditorFiles, EditorWrite, GitError, GitOutput, GitRunner,
    GuardedCommandLine, OneShotCommand, OneShotEndCause, ProgressSender, SkillDefinition, Tool,
    ToolCallContext, ToolFuture, ToolLimits, ToolRegistry, ToolSessionContext, custom_tool,
    front_matter, load_skills,
};
pub use windlass_vocabulary as vocabulary;
pub use windlass_vocabulary::Interrupt;

/// The provider-independent form of a conversation, except for the types at the root.
pub mod dialect {
    pub use windlass_dialect::normalized_conversation::{
        AnswerPart, AnsweredCall, CallResult, ConversationExchange, MediaPart,
        NormalizedConversation, UserPart, WireTurn,
    };
}

/// Policies, rules and grants, except for the types at the root.
pub mod permission {
    pub use windlass_permission::file_system_view::{FileSystemView, MatchingNames, PathEntry};
    pub use windlass_permission::{
        CellSupport, Confinement, HiddenPaths, RuleError, SandboxPolicy,
    };
}

/// Confinement of commands, except for the types at the root.
pub mod sandbox {
    pub use windlass_sandbox::{
        AllowedHost, EntryProgram, ProxyHostRules, ProxyThread, SandboxBackend, SandboxNetwork,
        SandboxProbeOptions, SandboxUnavailable,
    };
}

/// The parts of tools and their inputs, except for the types at the root.
pub mod tool_types {
    pub use windlass_tool::side_question::{
        SideAnswer, SideAnswerFuture, SideModel, SideQuestion, SideSearchDomains,
    };
    pub use windlass_tool::task_lists::{TaskItem, TaskStatus, TodoItem};
    pub use windlass_tool::{
        BackgroundAgent, BackgroundCostSender, BackgroundEndNotice, BackgroundTasks, CallLimits,
        CapturedStream, CommandTrial, CommandTrialFuture, CommandTrials, FileBackupStore,
        FileChange, FileContext, ForegroundAgentGuard, HeldProgramsRequest, HiddenPathSet,
        LaunchExit, LaunchRequest, ModelState, NetworkAccess, OneShotLauncher, OneShotResult,
        PendingFileChange, PreparedLaunch, ProcessContext, ProcessLauncher, Secrets, ShellState,
        SpawnCommandFn, StoppedTask, TaskLists, ToolSource, TraceContext, TrialVerdict,
        TriedCommand, may_hold_token,
    };
}

/// The longest [`Session::close`] takes: tools get 3 seconds to end, then they are dropped.
pub const CLOSE_MAX: Duration = Duration::from_secs(4);
