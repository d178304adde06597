//! Requests to read skills, commands and output styles again from their files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{ControlOutcome, answer_later, require_session};
use crate::event_loop::EventLoop;
use windlass_host::environment::process_environment;
use windlass_project::custom_command::CustomCommands;
use windlass_project::{output_style, skills};

struct ReloadedProjectFiles {
    skill_folders: Vec<PathBuf>,
    custom_commands: CustomCommands,
    styles: Vec<String>,
}

pub(super) fn reload_skills(event_loop: &mut EventLoop) -> Result<ControlOutcome, String> {
    reload_then_answer(event_loop, |event_loop| {
        let live = event_loop.session.live();
        let listed = live.map(|live| live.expander.list_commands()).unwrap_or_default();
        let one = |one: windlass_assembly::prompt_expansion::CustomCommandEntry| json!({ "name": one.name, "description": one.description, "argumentHint": one.argument_hint });
        json!({ "skills": listed.into_iter().map(one).collect::<Vec<Value>>() })
    })
}

pub(super) fn reload_output_styles(event_loop: &mut EventLoop) -> Result<ControlOutcome, String> {
    reload_then_answer(event_loop, |event_loop| {
        let live = event_loop.session.live();
        let own = live.map(|live| live.output_styles().to_vec()).unwrap_or_default();
        let all: Vec<String> = std::iter::once("default".to_owned()).chain(own).collect();
        json!({ "available_output_styles": all })
    })
}

/// Reads the files outside of the event loop, and answers with the result.
fn reload_then_answer(
    event_loop: &mut EventLoop,
    answer: fn(&EventLoop) -> Value,
) -> Result<ControlOutcome, String> {
    let cwd = require_session(event_loop)?.cwd();
    let root = event_loop.args.settings.resolve_project_root(&cwd);
    let is_bare = event_loop.args.bare || event_loop.args.settings.safe_mode;
    let layers = require_session(event_loop)?.settings.layers.clone();
    let reload = tokio::task::spawn_blocking(move || {
        if is_bare {
            return ReloadedProjectFiles {
                skill_folders: Vec::new(),
                custom_commands: CustomCommands::default(),
                styles: Vec::new(),
            };
        }
        let lookup = process_environment;
        let lookup = &layers.overlay_environment(&lookup);
        let folders = skills::find_skill_folders(&root, layers.extension_sources(), lookup);
        let known = windlass_driver::load_skills(&folders, |_| false);
        let custom_commands =
            CustomCommands::load(&root, layers.extension_sources(), &known, lookup);
        let styles = output_style::load_output_styles(&root, layers.extension_sources(), lookup)
            .into_iter()
            .map(|style| style.name);
        ReloadedProjectFiles { skill_folders: folders, custom_commands, styles: styles.collect() }
    });
    Ok(answer_later(async move {
        let reloaded = reload.await.map_err(|_| "they were not found".to_owned());
        move |event_loop: &mut EventLoop| {
            let reloaded = reloaded?;
            let live = require_session(event_loop)?;
            live.expander.custom_commands = reloaded.custom_commands;
            live.set_skills_and_styles(reloaded.skill_folders, reloaded.styles);
            Ok(answer(event_loop))
        }
    }))
}
