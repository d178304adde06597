//! The parts that a [`SessionBuilder`](super::SessionBuilder) collects, in groups.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_hook::HookSet;
use windlass_tool::{ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{AgentId, ModelFacts, ModelName, ToolCallId};

use crate::attachment::AttachmentFinder;
use crate::attachment::path_instructions::PathInstructionSource;
use crate::hook::hook_input::SessionIdentity;
use crate::journal_location::JournalLocation;
use crate::model::{Endpoint, ModelTimeouts};
use crate::observer::SessionObserver;
use crate::snapshot::SnapshotConfig;
use crate::subagent::{SessionTree, SubagentConfig};
use crate::transcript_writer::TranscriptConfig;
use crate::trial::TrialConfig;

#[derive(Clone, Debug)]
pub(crate) struct ModelAccess {
    /// The endpoint of all models without one of their own.
    pub(crate) endpoint: Endpoint,
    pub(crate) endpoints: Vec<(ModelName, Endpoint)>,
    pub(crate) timeouts: ModelTimeouts,
    pub(crate) raw_events: bool,
    pub(crate) separate_deltas: bool,
    pub(crate) named_models: Arc<[(String, ModelFacts)]>,
}

impl ModelAccess {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            endpoints: Vec::new(),
            timeouts: ModelTimeouts::default(),
            raw_events: false,
            separate_deltas: false,
            named_models: Arc::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct BuilderTools {
    pub(super) registry: ToolRegistry,
    pub(super) tool_context: Option<ToolSessionContext>,
    pub(super) web_search: bool,
    pub(super) subagents: Option<SubagentConfig>,
}

impl Default for BuilderTools {
    fn default() -> Self {
        let registry = ToolRegistry::empty();
        Self { registry, tool_context: None, web_search: false, subagents: None }
    }
}

/// The sources of attachments, and the file for notes.
#[derive(Debug, Default)]
pub(super) struct ContextSources {
    pub(super) memory: Option<Arc<dyn AttachmentFinder>>,
    pub(super) skills: Option<Arc<dyn AttachmentFinder>>,
    pub(super) path_instructions: Option<Arc<dyn PathInstructionSource>>,
    pub(super) memory_file: Option<PathBuf>,
}

/// How the session is recorded, and resumed.
#[derive(Debug)]
pub(super) struct SessionRecord {
    pub(super) journal: Option<JournalLocation>,
    pub(super) transcript: Option<TranscriptConfig>,
    pub(super) keeps_file_history: bool,
    pub(super) snapshots: Option<SnapshotConfig>,
    pub(super) added_snapshots: Vec<(PathBuf, SnapshotConfig)>,
    pub(super) trials: Option<TrialConfig>,
    pub(super) shared_budget: Option<(PathBuf, String)>,
    pub(super) resumes_run: bool,
}

impl Default for SessionRecord {
    fn default() -> Self {
        Self {
            journal: None,
            transcript: None,
            keeps_file_history: true,
            snapshots: None,
            added_snapshots: Vec::new(),
            trials: None,
            shared_budget: None,
            resumes_run: false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct HookSetup {
    pub(super) set: HookSet,
    pub(super) skill_hooks: Vec<(String, HookSet)>,
    pub(super) identity: SessionIdentity,
    pub(super) start_source: Option<String>,
}

/// The position in a tree of sessions; the root by default.
#[derive(Debug, Default)]
pub(crate) struct SessionNesting {
    pub(crate) depth: u8,
    pub(crate) tree: SessionTree,
    pub(crate) observer: Option<Arc<dyn SessionObserver>>,
    /// The agent and the call that started the session.
    pub(crate) started_by: Option<(AgentId, ToolCallId)>,
}
