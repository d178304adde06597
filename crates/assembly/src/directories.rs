//! Where a session works: what its tools may see, and where long outputs are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_driver::ToolSessionContext;
use windlass_permission::{Policy, Rule};

use crate::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::random;
use windlass_provider::config::Config;

/// The same place for calls that are no part of the session.
pub(super) fn clone_for_prompt_tools(
    surroundings: &ToolSessionContext,
    policy: &Policy,
) -> ToolSessionContext {
    let mut beside = surroundings.for_subagent();
    beside.hidden_paths.configured = policy.rules.build_hidden_paths(&policy.directories);
    beside
}

/// Lets everything below a directory be read. Two slashes mean the root.
pub(super) fn build_read_rule(directory: &Path) -> Rule {
    let content = format!("/{}/**", directory.to_string_lossy());
    Rule { tool: "Read".to_owned(), content: Some(content) }
}

/// Where we are.
pub fn working_directory() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::failure(format!(
            "the working directory cannot be used: {error}; change to one that exists"
        ))
    })
}

/// Long outputs are kept beside a journal, whose session may be continued, or else in a directory
/// of this run alone that is made when first needed and removed at the end.
pub(super) fn build_tool_context(
    cwd: &Path,
    journal: Option<&Path>,
) -> (ToolSessionContext, Option<PathBuf>) {
    match journal {
        Some(journal) => {
            let spill = cwd.join(journal).with_extension("spill");
            (ToolSessionContext::new(cwd, spill), None)
        }
        None => {
            let spill = build_scratch_path();
            (ToolSessionContext::new(cwd, &spill), Some(spill))
        }
    }
}

/// With everything tools must know: where they may work, what they may not see, and an environment
/// without keys.
pub(super) fn prepare_tool_context(
    mut surroundings: ToolSessionContext,
    directories: Vec<PathBuf>,
    policy: &Policy,
    config: &Config,
    layers: &SettingsLayers,
) -> ToolSessionContext {
    layers.export_variables(&mut surroundings);
    apply_command_limits(&mut surroundings);
    for directory in directories {
        surroundings.files.add_directory(directory);
    }
    surroundings.hidden_paths.configured = policy.rules.build_hidden_paths(&policy.directories);
    let is_secret = |name: &str| {
        windlass_provider::api_key::secret_variables(config).any(|secret| secret == name)
    };
    surroundings.processes.environment.retain(|(name, _)| !name.to_str().is_some_and(is_secret));
    surroundings
}

/// How long commands may take and how much of what they print is shown, as the environment says. What is
/// no number says nothing.
fn apply_command_limits(surroundings: &mut ToolSessionContext) {
    let given = |wanted: &str| -> Option<u64> {
        let mut all = surroundings.processes.environment.iter().rev();
        let (_, value) = all.find(|(name, _)| name == wanted)?;
        value.to_str()?.trim().parse().ok().filter(|number| *number > 0)
    };
    let time =
        |wanted: &str| given(wanted).map(Duration::from_millis).map(|t| t.min(COMMAND_TIMEOUT_MAX));
    let (usual, most) = (time("BASH_DEFAULT_TIMEOUT_MS"), time("BASH_MAX_TIMEOUT_MS"));
    let shown = given("BASH_MAX_OUTPUT_LENGTH").and_then(|chars| usize::try_from(chars).ok());
    let limits = &mut surroundings.limits;
    limits.command_timeout_default = usual.unwrap_or(limits.command_timeout_default);
    limits.command_timeout_max =
        most.unwrap_or(limits.command_timeout_max).max(limits.command_timeout_default);
    limits.output_inline_bytes_max =
        shown.unwrap_or(limits.output_inline_bytes_max).min(OUTPUT_CHARS_MAX);
}

/// However long a command may take, it is not longer than a day.
const COMMAND_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// However much is to be shown of what it prints.
const OUTPUT_CHARS_MAX: usize = 150_000;

/// A name nobody else can know beforehand, so nobody can have put something there.
pub(super) fn build_scratch_path() -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{}", random::generate_name()))
}
