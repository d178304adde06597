//! Converts the command line into the options of a session. Refuses only what is wrong in the command line
//! by itself.

use windlass_assembly::options::{
    HeadlessOptions, InputFormat, LimitOptions, McpOptions, OutputFormat, PermissionOptions,
    PromptFileOptions, RunOptions, SandboxUse, SessionOptions, SettingsOptions, StreamOptions,
    ThinkingDisplay,
};
use windlass_assembly::report::cost::{CostGrouping, CostOptions};
use windlass_assembly::report::session_list::SessionListOptions;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::process_environment;
use windlass_permission::policy_check::NO_AUTO_MODE;
use windlass_provider::model_options::ModelOptions;
use windlass_vocabulary::{Effort, PermissionMode, ThinkingMode};

use super::{
    AcpArgs, CostArgs, CostGroupingArg, EffortArg, HeadlessArgs, InputFormatArg, LimitArgs,
    McpConfigArgs, ModelArgs, OutputFormatArg, PermissionArgs, PermissionModeArg,
    PermissionPromptsArg, RunArgs, SandboxArg, SessionArgs, SessionsListArgs, SessionsSearchArgs,
    SettingsArgs, StreamArgs, ThinkingArg, ThinkingDisplayArg,
};

impl TryFrom<RunArgs> for RunOptions {
    type Error = CommandError;

    fn try_from(args: RunArgs) -> Result<Self, CommandError> {
        Ok(Self {
            print: args.print,
            prompt: args.prompt,
            model: args.model.into(),
            limit: args.limit.into(),
            permission: args.permission.try_into()?,
            system_prompt: args.system_prompt,
            append_system_prompt: args.append_system_prompt,
            output_format: args.output_format.into(),
            verbose: args.verbose,
            bare: args.bare || environment::is_set(&process_environment, "CLAUDE_CODE_SIMPLE"),
            screen_reader: args.screen_reader,
            session: args.session.into(),
            mcp: args.mcp.into(),
            headless: args.headless.into(),
            settings: args.settings.into(),
        })
    }
}

impl TryFrom<AcpArgs> for RunOptions {
    type Error = CommandError;

    fn try_from(args: AcpArgs) -> Result<Self, CommandError> {
        Ok(Self {
            model: args.model.into(),
            limit: args.limit.into(),
            permission: args.permission.try_into()?,
            mcp: args.mcp.into(),
            settings: args.settings.into(),
            verbose: args.verbose,
            ..Self::default()
        })
    }
}

impl From<ModelArgs> for ModelOptions {
    fn from(args: ModelArgs) -> Self {
        Self {
            model: args.model,
            fallback_model: args.fallback_model,
            small_model: args.small_model,
            effort: args.effort.map(Effort::from),
            thinking: args.thinking.map(ThinkingMode::from),
            price: args.price,
        }
    }
}

impl From<LimitArgs> for LimitOptions {
    fn from(args: LimitArgs) -> Self {
        Self {
            max_turns: args.max_turns,
            max_budget_usd: args.max_budget_usd,
            max_retries: args.max_retries,
            no_circle_guard: args.no_circle_guard,
            compaction_window: args.autocompact,
        }
    }
}

impl TryFrom<PermissionArgs> for PermissionOptions {
    type Error = CommandError;

    fn try_from(args: PermissionArgs) -> Result<Self, CommandError> {
        Ok(Self {
            permission_mode: args.permission_mode.map(PermissionMode::try_from).transpose()?,
            dangerously_skip_permissions: args.dangerously_skip_permissions,
            tools: args.tools,
            allowed_tools: args.allowed_tools,
            disallowed_tools: args.disallowed_tools,
            add_dir: args.add_dir,
            sandbox: args.sandbox.map(SandboxUse::from),
            sandbox_allow_domain: args.sandbox_allow_domain,
        })
    }
}

impl From<SessionArgs> for SessionOptions {
    fn from(args: SessionArgs) -> Self {
        Self {
            goes_on: args.goes_on,
            resume: args.resume,
            fork_session: args.fork_session,
            continue_run: args.continue_run,
            resume_session_at: args.resume_session_at,
            resume_drops_turn: args.resume_drops_turn,
            from_transcript: args.from_transcript,
            session_id: args.session_id,
            name: args.name,
            no_session_persistence: args.no_session_persistence,
            journal: args.journal,
            journal_relay: args.journal_relay,
        }
    }
}

impl From<McpConfigArgs> for McpOptions {
    fn from(args: McpConfigArgs) -> Self {
        Self { mcp_config: args.mcp_config, strict_mcp_config: args.strict_mcp_config }
    }
}

impl From<HeadlessArgs> for HeadlessOptions {
    fn from(args: HeadlessArgs) -> Self {
        Self {
            stream: args.stream.into(),
            permission_prompt_tool: args.permission_prompt_tool,
            denies_prompts: args.permission_prompts == Some(PermissionPromptsArg::None),
            allow_dangerously_skip_permissions: args.allow_dangerously_skip_permissions,
            prompt_files: PromptFileOptions {
                system_prompt: args.prompt_files.system_prompt_file,
                append_system_prompt: args.prompt_files.append_system_prompt_file,
            },
            agents: args.agents,
            agent: args.agent,
            betas: args.betas,
            max_thinking_tokens: args.max_thinking_tokens,
            task_budget: args.task_budget,
            plugin_dir: args.plugin_dir,
            plugin_dir_no_mcp: args.plugin_dir_no_mcp,
            debug: args.debug.or(args.mcp_debug.then_some(None)),
            debug_file: args.debug_file,
            is_attended: false,
        }
    }
}

impl From<StreamArgs> for StreamOptions {
    fn from(args: StreamArgs) -> Self {
        Self {
            input_format: match args.input_format {
                InputFormatArg::Text => InputFormat::Text,
                InputFormatArg::StreamJson => InputFormat::StreamJson,
            },
            include_partial_messages: args.include_partial_messages,
            include_hook_events: args.include_hook_events,
            replay_user_messages: args.replay_user_messages,
            session_mirror: args.session_mirror,
            forward_subagent_text: args.forward_subagent_text,
            prompt_suggestions: args.prompt_suggestions,
            json_schema: args.json_schema,
            await_initialize: args.await_initialize,
            thinking_display: args.thinking_display.map(|display| match display {
                ThinkingDisplayArg::Summarized => ThinkingDisplay::Summarized,
                ThinkingDisplayArg::Omitted => ThinkingDisplay::Omitted,
            }),
        }
    }
}

impl From<SettingsArgs> for SettingsOptions {
    fn from(args: SettingsArgs) -> Self {
        Self {
            settings: args.settings,
            managed_settings: args.managed_settings,
            setting_sources: args.setting_sources,
            project_config_root: args.project_config_root,
            trust_project: args.trust_project,
            safe_mode: args.safe_mode,
            disable_slash_commands: args.disable_slash_commands,
        }
    }
}

impl From<EffortArg> for Effort {
    fn from(arg: EffortArg) -> Self {
        match arg {
            EffortArg::Low => Self::Low,
            EffortArg::Medium => Self::Medium,
            EffortArg::High => Self::High,
            EffortArg::Xhigh => Self::Xhigh,
            EffortArg::Max => Self::Max,
        }
    }
}

impl From<ThinkingArg> for ThinkingMode {
    fn from(arg: ThinkingArg) -> Self {
        match arg {
            ThinkingArg::Adaptive => Self::Adaptive,
            ThinkingArg::Disabled => Self::Disabled,
        }
    }
}

impl From<SandboxArg> for SandboxUse {
    fn from(arg: SandboxArg) -> Self {
        match arg {
            SandboxArg::Off => Self::Off,
            SandboxArg::Auto => Self::Auto,
            SandboxArg::Required => Self::Required,
        }
    }
}

impl From<OutputFormatArg> for OutputFormat {
    fn from(arg: OutputFormatArg) -> Self {
        match arg {
            OutputFormatArg::Text => Self::Text,
            OutputFormatArg::Json => Self::Json,
            OutputFormatArg::StreamJson => Self::StreamJson,
        }
    }
}

impl TryFrom<PermissionModeArg> for PermissionMode {
    type Error = CommandError;

    fn try_from(arg: PermissionModeArg) -> Result<Self, CommandError> {
        match arg {
            PermissionModeArg::Default => Ok(Self::Default),
            PermissionModeArg::AcceptEdits => Ok(Self::AcceptEdits),
            PermissionModeArg::Plan => Ok(Self::Plan),
            PermissionModeArg::DontAsk => Ok(Self::DontAsk),
            PermissionModeArg::BypassPermissions => Ok(Self::BypassPermissions),
            PermissionModeArg::Auto => Err(CommandError::usage(NO_AUTO_MODE)),
        }
    }
}

impl From<CostArgs> for CostOptions {
    fn from(args: CostArgs) -> Self {
        Self {
            session: args.session,
            all: args.all,
            by: match args.by {
                CostGroupingArg::Model => CostGrouping::Model,
                CostGroupingArg::Day => CostGrouping::Day,
                CostGroupingArg::Project => CostGrouping::Project,
            },
            json: args.json,
        }
    }
}

impl From<SessionsListArgs> for SessionListOptions {
    fn from(args: SessionsListArgs) -> Self {
        Self { all: args.all, limit: args.limit, json: args.json }
    }
}

impl From<&SessionsSearchArgs> for SessionListOptions {
    fn from(args: &SessionsSearchArgs) -> Self {
        Self { all: args.all, limit: args.limit, json: args.json }
    }
}
