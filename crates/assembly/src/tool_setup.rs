//! The stage in which a session gets its tools: registry, working directories, sandbox, MCP servers.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use windlass_driver::ToolSessionContext;
use windlass_driver::mcp::{McpConnectionChange, McpServers};
use windlass_permission::Policy;

use crate::mcp;
use crate::options::RunOptions;
use crate::project_files::ProjectFiles;
use crate::prompt_expansion::PromptTools;
use crate::resolved::ResolvedOptions;
use crate::session::SelectedSession;
use crate::tool_context::ToolContextRequest;
use crate::tool_selection::ToolSelection;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

pub(crate) struct ToolSetup {
    /// Its registry has the tools of skills and MCP servers too.
    pub(crate) selection: ToolSelection,
    /// Shared with prompts while they are expanded, then the session's own.
    pub(crate) tool_context: Arc<ToolSessionContext>,
    policy: Policy,
    pub(crate) mcp_servers: McpServers,
    /// To be removed when the session is over.
    pub(crate) scratch_directory: Option<PathBuf>,
    /// Changes of the servers' connections, for telemetry.
    pub(crate) connection_changes: mpsc::Receiver<McpConnectionChange>,
    notes: Vec<String>,
    /// Servers that were left out, which is shown in any case.
    warnings: Vec<String>,
}

impl ToolSetup {
    /// Prepares the tools and starts the MCP servers.
    pub(crate) fn build(
        options: &RunOptions,
        resolved: &ResolvedOptions,
        session: &SelectedSession,
        files: &ProjectFiles,
        mut selection: ToolSelection,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let mut prepared = ToolContextRequest {
            cwd: &resolved.cwd,
            journal: session.journal.as_deref(),
            inherited_spills: session.inherited_spills(),
            directories: resolved.directories.clone(),
            policy: resolved.engine_settings.policy.clone(),
            permission: &options.permission,
            config: &resolved.config,
            layers: &resolved.layers,
        }
        .prepare()?;
        selection.add_skill_tool(&mut prepared.tool_context, &files.skill_folders);
        let started =
            mcp::start_session_servers(options, &resolved.layers, &prepared.tool_context, lookup)?;
        if started.is_needed {
            started.servers.attach(&mut selection.registry);
        }
        Ok(Self {
            selection,
            tool_context: Arc::new(prepared.tool_context),
            policy: prepared.policy,
            mcp_servers: started.servers,
            connection_changes: started.connection_changes,
            scratch_directory: prepared.scratch_directory,
            notes: prepared.notes,
            warnings: started.notes,
        })
    }

    /// The options, with the policy the tools need.
    pub(crate) fn apply_to(&mut self, mut resolved: ResolvedOptions) -> ResolvedOptions {
        resolved.engine_settings.policy.clone_from(&self.policy);
        resolved.notes.append(&mut self.notes);
        self.warnings.drain(..).for_each(|warning| resolved.layers.warn(warning));
        resolved
    }

    /// For the prompt of the command line: files it reads count as read by the session.
    pub(crate) fn first_prompt_tools(&self, resolved: &ResolvedOptions) -> PromptTools {
        self.build_prompt_tools(Arc::clone(&self.tool_context), resolved)
    }

    /// For expanding later prompts, whose calls are not part of the session.
    pub(crate) fn later_prompt_tools(&self, resolved: &ResolvedOptions) -> PromptTools {
        let mut tool_context = self.tool_context.for_subagent();
        tool_context.hidden_paths.configured =
            self.policy.rules.build_hidden_paths(&self.policy.directories);
        self.build_prompt_tools(Arc::new(tool_context), resolved)
    }

    fn build_prompt_tools(
        &self,
        tool_context: Arc<ToolSessionContext>,
        resolved: &ResolvedOptions,
    ) -> PromptTools {
        let settings = &resolved.layers.loaded.settings;
        PromptTools {
            registry: self.selection.registry.clone(),
            tool_context,
            policy: self.policy.clone(),
            mcp_servers: self.mcp_servers.clone(),
            trusted_pages: Arc::new(resolved.layers.loaded.trusted_pages()),
            may_run_snippets: settings.disable_skill_shell_execution != Some(true),
        }
    }
}
