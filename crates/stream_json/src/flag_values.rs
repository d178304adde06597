//! Flags whose values are JSON or files of this front end.

use std::fs::{File, OpenOptions};

use serde_json::Value;
use windlass_driver::AgentDefinition;

use crate::initialize;
use crate::json_schema::CheckedSchema;
use windlass_assembly::options::RunOptions;
use windlass_host::command_error::CommandError;

pub(crate) fn open_debug_file(args: &RunOptions) -> Result<Option<File>, CommandError> {
    let Some(path) = &args.headless.debug_file else {
        return Ok(None);
    };
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(Some).map_err(|error| {
        CommandError::usage(format!(
            "--debug-file {}: {error}; give a file that can be written",
            path.display()
        ))
    })
}

/// Parses `--json-schema`, which answers must fit.
pub(crate) fn parse_json_schema_flag(
    args: &RunOptions,
) -> Result<Option<CheckedSchema>, CommandError> {
    let Some(text) = &args.headless.stream.json_schema else {
        return Ok(None);
    };
    let wrong = |why: String| CommandError::usage(format!("--json-schema: {why}"));
    let value = serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    CheckedSchema::new(value).map(Some).map_err(wrong)
}

pub(crate) fn parse_agents_flag(args: &RunOptions) -> Result<Vec<AgentDefinition>, CommandError> {
    let Some(text) = &args.headless.agents else {
        return Ok(Vec::new());
    };
    let wrong = |why: String| CommandError::usage(format!("--agents: {why}"));
    let value: Value =
        serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    initialize::parse_agents(Some(&value)).map_err(wrong)
}
