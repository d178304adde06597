//! Requests to look again for what people keep in files: skills, commands and styles of answers.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Served, later, opened};
use crate::expansion::Pages;
use crate::front::stream_json::desk::Desk;
use crate::{skills, style};

/// What was found.
struct Again {
    folders: Vec<PathBuf>,
    pages: Pages,
    styles: Vec<String>,
}

/// `reload_skills`.
pub(super) fn skills(desk: &mut Desk) -> Result<Served, String> {
    again(desk, |desk| {
        let stage = desk.stage.as_ref();
        let listed = stage.map(|stage| stage.expander.commands()).unwrap_or_default();
        let one = |one: crate::expansion::Listed| json!({ "name": one.name, "description": one.description, "argumentHint": one.hint });
        json!({ "skills": listed.into_iter().map(one).collect::<Vec<Value>>() })
    })
}

/// `reload_output_styles`.
pub(super) fn styles(desk: &mut Desk) -> Result<Served, String> {
    again(desk, |desk| {
        let stage = desk.stage.as_ref();
        let own = stage.map(|stage| stage.output_styles().to_vec()).unwrap_or_default();
        let all: Vec<String> = std::iter::once("default".to_owned()).chain(own).collect();
        json!({ "available_output_styles": all })
    })
}

/// Looks beside the desk, and answers with what is there now.
fn again(desk: &mut Desk, answer: fn(&Desk) -> Value) -> Result<Served, String> {
    let cwd = opened(desk)?.cwd();
    let root = desk.args.settings.root(&cwd);
    let is_bare = desk.args.bare || desk.args.settings.safe_mode;
    let layers = opened(desk)?.layers.clone();
    let looking = tokio::task::spawn_blocking(move || {
        if is_bare {
            return Again { folders: Vec::new(), pages: Pages::default(), styles: Vec::new() };
        }
        let lookup = |name: &str| std::env::var_os(name);
        let lookup = &layers.over(&lookup);
        let folders = skills::folders(&root, &layers, lookup);
        let known = windlass_driver::skills(&folders, |_| false);
        let pages = Pages::find(&root, &layers, &known, lookup);
        let styles = style::all(&root, &layers, lookup).into_iter().map(|style| style.name);
        Again { folders, pages, styles: styles.collect() }
    });
    Ok(later(async move {
        let found = looking.await.map_err(|_| "they were not found".to_owned());
        move |desk: &mut Desk| {
            let found = found?;
            let stage = opened(desk)?;
            stage.expander.pages = found.pages;
            stage.found_again(found.folders, found.styles);
            Ok(answer(desk))
        }
    }))
}
