//! Sets up the tool context: what tools may access, where long outputs are stored, and what
//! confines commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_driver::ToolSessionContext;
use windlass_permission::{CellSupport, Policy};

use crate::cell;
use crate::directories::{build_read_rule, build_scratch_path};
use crate::options::PermissionOptions;
use crate::sandbox;
use crate::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_provider::api_key;
use windlass_provider::config::Config;

pub(crate) struct ToolContextRequest<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) journal: Option<&'a Path>,
    /// The directories with long outputs of the sessions this one continues.
    pub(crate) inherited_spills: Vec<PathBuf>,
    /// Additional working directories.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) policy: Policy,
    pub(crate) permission: &'a PermissionOptions,
    pub(crate) config: &'a Config,
    pub(crate) layers: &'a SettingsLayers,
}

pub(crate) struct PreparedToolContext {
    pub(crate) tool_context: ToolSessionContext,
    /// The policy of the request, with what the tools and the sandbox need.
    pub(crate) policy: Policy,
    /// To be removed when the session is over.
    pub(crate) scratch_directory: Option<PathBuf>,
    pub(crate) notes: Vec<String>,
}

impl ToolContextRequest<'_> {
    pub(crate) fn prepare(self) -> Result<PreparedToolContext, CommandError> {
        let Self { cwd, journal, inherited_spills, directories, mut policy, .. } = self;
        // Long outputs are beside the journal if the session may be resumed, or else in a temporary
        // directory that is created when first needed.
        let (spill_directory, scratch_directory) = match journal {
            Some(journal) => (cwd.join(journal).with_extension("spill"), None),
            None => {
                let scratch = build_scratch_path();
                (scratch.clone(), Some(scratch))
            }
        };
        // The model reads spilled output from there.
        policy.rules.allow.push(build_read_rule(&spill_directory));
        policy.rules.allow.extend(inherited_spills.iter().map(|spill| build_read_rule(spill)));
        let mut tool_context = ToolSessionContext::new(cwd, spill_directory);
        self.layers.export_variables(&mut tool_context);
        apply_command_limits(&mut tool_context);
        apply_shell_choice(&mut tool_context);
        for directory in directories {
            tool_context.files.add_directory(directory);
        }
        tool_context.hidden_paths.configured = policy.rules.build_hidden_paths(&policy.directories);
        let is_secret =
            |name: &str| api_key::secret_variables(self.config).any(|secret| secret == name);
        tool_context
            .processes
            .environment
            .retain(|(name, _)| !name.to_str().is_some_and(is_secret));
        let sandbox = self
            .layers
            .resolve_sandbox(self.permission.sandbox, &self.permission.sandbox_allow_domain);
        let notes = sandbox::confine_commands(&sandbox, &mut tool_context, &mut policy)?;
        match &tool_context.processes.command_prefix {
            // It does more than the command that was judged, so no command is held to that.
            Some(_) => policy.cell = CellSupport::Missing,
            None => cell::hold_unasked_commands(&mut tool_context, &mut policy),
        }
        Ok(PreparedToolContext { tool_context, policy, scratch_directory, notes })
    }
}

/// The timeouts and output limits of commands from the environment. A value that is not a positive
/// number is ignored.
fn apply_command_limits(tool_context: &mut ToolSessionContext) {
    let given = |wanted: &str| -> Option<u64> {
        let mut all = tool_context.processes.environment.iter().rev();
        let (_, value) = all.find(|(name, _)| name == wanted)?;
        value.to_str()?.trim().parse().ok().filter(|number| *number > 0)
    };
    let time =
        |wanted: &str| given(wanted).map(Duration::from_millis).map(|t| t.min(COMMAND_TIMEOUT_MAX));
    let default = time("BASH_DEFAULT_TIMEOUT_MS");
    let longest = time("BASH_MAX_TIMEOUT_MS");
    let shown = given("BASH_MAX_OUTPUT_LENGTH").and_then(|chars| usize::try_from(chars).ok());
    let limits = &mut tool_context.limits;
    limits.command_timeout_default = default.unwrap_or(limits.command_timeout_default);
    limits.command_timeout_max =
        longest.unwrap_or(limits.command_timeout_max).max(limits.command_timeout_default);
    limits.output_inline_bytes_max =
        shown.unwrap_or(limits.output_inline_bytes_max).min(OUTPUT_CHARS_MAX);
}

/// Sets the bash that runs commands, and the user's program that wraps it, from the environment.
fn apply_shell_choice(tool_context: &mut ToolSessionContext) {
    let processes = &mut tool_context.processes;
    let given = |wanted: &str| {
        let (_, value) = processes.environment.iter().rev().find(|(name, _)| name == wanted)?;
        value.to_str().map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let prefix = given("CLAUDE_CODE_SHELL_PREFIX");
    let shell = given(SHELL_VARIABLE).map(PathBuf::from);
    processes.command_prefix = prefix;
    processes.bash_program = shell.filter(|path| is_bash(path));
}

/// Commands are read as bash reads them, so another shell would do something else.
pub(crate) fn is_bash(path: &Path) -> bool {
    path.is_absolute() && path.is_file() && path.file_name().is_some_and(|name| name == "bash")
}

pub(crate) const SHELL_VARIABLE: &str = "CLAUDE_CODE_SHELL";
const COMMAND_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const OUTPUT_CHARS_MAX: usize = 150_000;
