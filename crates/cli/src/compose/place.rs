//! Where a session works: what its tools may see, and where long outputs are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_driver::Surroundings;
use windlass_permission::{Policy, Rule};

use crate::config::Config;
use crate::layers::Layers;
use crate::refusal::Refusal;
use crate::{chance, server};

/// The same place for calls that are no part of the session.
pub(super) fn apart(surroundings: &Surroundings, policy: &Policy) -> Surroundings {
    let mut beside = surroundings.for_another();
    beside.hidden = policy.rules.hidden(&policy.directories);
    beside
}

/// Lets everything below a directory be read. Two slashes mean the root.
pub(super) fn reading_below(directory: &Path) -> Rule {
    let content = format!("/{}/**", directory.to_string_lossy());
    Rule { tool: "Read".to_owned(), content: Some(content) }
}

/// Where we are.
pub(crate) fn working_directory() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(|error| {
        Refusal::failed(format!(
            "the working directory cannot be used: {error}; change to one that exists"
        ))
    })
}

/// Long outputs are kept beside a journal, whose session may be continued, or else in a directory
/// of this run alone that is made when first needed and removed at the end.
pub(super) fn surroundings(cwd: &Path, journal: Option<&Path>) -> (Surroundings, Option<PathBuf>) {
    match journal {
        Some(journal) => {
            let spill = cwd.join(journal).with_extension("spill");
            (Surroundings::new(cwd, spill), None)
        }
        None => {
            let spill = scratch_directory();
            (Surroundings::new(cwd, &spill), Some(spill))
        }
    }
}

/// With everything tools must know: where they may work, what they may not see, and an environment
/// without keys.
pub(super) fn prepared(
    mut surroundings: Surroundings,
    directories: Vec<PathBuf>,
    policy: &Policy,
    config: &Config,
    layers: &Layers,
) -> Surroundings {
    layers.export(&mut surroundings);
    limit_commands(&mut surroundings);
    for directory in directories {
        surroundings.add_directory(directory);
    }
    surroundings.hidden = policy.rules.hidden(&policy.directories);
    let is_secret = |name: &str| server::key_variables(config).any(|secret| secret == name);
    surroundings.environment.retain(|(name, _)| !name.to_str().is_some_and(is_secret));
    surroundings
}

/// How long commands may take and how much of what they print is shown, as the environment says. What is
/// no number says nothing.
fn limit_commands(surroundings: &mut Surroundings) {
    let given = |wanted: &str| -> Option<u64> {
        let mut all = surroundings.environment.iter().rev();
        let (_, value) = all.find(|(name, _)| name == wanted)?;
        value.to_str()?.trim().parse().ok().filter(|number| *number > 0)
    };
    let time = |wanted: &str| given(wanted).map(Duration::from_millis).map(|t| t.min(COMMAND_MAX));
    let (usual, most) = (time("BASH_DEFAULT_TIMEOUT_MS"), time("BASH_MAX_TIMEOUT_MS"));
    let shown = given("BASH_MAX_OUTPUT_LENGTH").and_then(|chars| usize::try_from(chars).ok());
    let limits = &mut surroundings.limits;
    limits.command_default = usual.unwrap_or(limits.command_default);
    limits.command_max = most.unwrap_or(limits.command_max).max(limits.command_default);
    limits.output_inline_max = shown.unwrap_or(limits.output_inline_max).min(SHOWN_MAX);
}

/// However long a command may take, it is not longer than a day.
const COMMAND_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// However much is to be shown of what it prints.
const SHOWN_MAX: usize = 150_000;

/// A name nobody else can know beforehand, so nobody can have put something there.
pub(super) fn scratch_directory() -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{}", chance::name()))
}
