//! Prompts that stand for longer ones: `/name words` for a page that somebody keeps, with the words
//! in their places, commands replaced by what they print, and `@file` by what the file holds.
//!
//! Nothing here may do more than a tool may: a command and a file go through the same rules and the
//! same tools as the model's own calls. A project's page runs nothing and grants nothing before the
//! project is trusted.

mod fill;
mod hands;
mod mention;
mod page;
mod snippet;

use std::collections::BTreeMap;

use windlass_driver::{Page as Called, Submission};
use windlass_permission::{Opinion, Rule};
use windlass_vocabulary::{Block, ModelName};

use crate::refusal::Refusal;
#[cfg(test)]
pub(crate) use fill::parts;
pub(crate) use hands::Hands;
use page::Author;
pub(crate) use page::Pages;
use snippet::Piece;

/// A command that stands for a longer prompt, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Without the slash.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// What may be written after it.
    pub(crate) hint: String,
}

/// What a prompt became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Expanded {
    /// What the model is told.
    text: String,
    /// The files it mentions, each with its name before it.
    files: Vec<String>,
    /// What may run besides, for this prompt alone.
    allow: Vec<Rule>,
    /// Who is asked, for this prompt alone.
    model: Option<ModelName>,
    /// The page it stands for.
    page: Option<Called>,
}

/// What pages may name besides their arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// The session.
    pub(crate) session_id: String,
    /// The project's folder.
    pub(crate) project: String,
    /// Short names of models.
    pub(crate) models: BTreeMap<String, String>,
}

impl Names {
    /// The name a model has at its provider.
    fn model(&self, name: &str) -> ModelName {
        let full = self.models.get(name).map_or(name, String::as_str);
        ModelName::from(full.split_once('/').map_or(full, |(_, rest)| rest))
    }
}

/// Everything needed to expand prompts that come later.
#[derive(Clone, Debug)]
pub(crate) struct Expander {
    /// The pages there are.
    pub(crate) pages: Pages,
    /// What they may name.
    pub(crate) names: Names,
    /// What they may use.
    pub(crate) hands: Hands,
}

impl Expander {
    /// Everything that may be typed as a command: pages, then prompts that servers have ready.
    pub(crate) fn commands(&self) -> Vec<Listed> {
        let pages = self.pages.iter().map(|page| Listed {
            name: page.name.clone(),
            description: page.description.clone(),
            hint: page.hint.clone().unwrap_or_default(),
        });
        let prompts = self.hands.remote.prompts().into_iter().map(|prompt| Listed {
            hint: prompt.hint(),
            name: prompt.name,
            description: prompt.description,
        });
        pages.chain(prompts).collect()
    }

    /// Makes of a message what the model is told, with what may run besides for it alone.
    pub(crate) async fn expand(&self, said: Submission) -> Result<Submission, Refusal> {
        submission(said, &self.pages, &self.names, self.hands.clone()).await
    }
}

/// Makes of a message what the model is told, with what may run besides for it alone. Only words
/// stand for others; a message with pictures keeps what it says.
pub(crate) async fn submission(
    mut said: Submission,
    pages: &Pages,
    names: &Names,
    hands: Hands,
) -> Result<Submission, Refusal> {
    if let [Block::Text(text)] = said.content.as_slice()
        && let Some(content) = hands.remote.expand(text).await
    {
        said.content = content.map_err(Refusal::failed)?;
        return Ok(said);
    }
    if let [Block::Text(text)] = said.content.as_mut_slice() {
        let expanded = expand(std::mem::take(text), pages, names, hands).await?;
        *text = expanded.text;
        said.content.extend(expanded.files.into_iter().map(Block::Text));
        said.allow.extend(expanded.allow);
        said.model = expanded.model;
        said.page = expanded.page;
    }
    Ok(said)
}

/// Makes of a prompt what the model is told. One that is no page's name keeps its words; the files
/// it mentions are put behind them.
async fn expand(
    prompt: String,
    pages: &Pages,
    names: &Names,
    mut hands: Hands,
) -> Result<Expanded, Refusal> {
    let Some((custom, words)) = pages.called(&prompt) else {
        // Whoever names a file wants it read.
        let files = mention::files(&prompt, &hands, &Opinion::Allow).await;
        return Ok(Expanded { text: prompt, files, ..Expanded::default() });
    };
    let page = custom.read().map_err(|problem| {
        Refusal::failed(format!("/{}: {}: {problem}", custom.name, custom.path.display()))
    })?;
    let may_run = custom.author == Author::User || hands.trusts_project;
    let allow = if may_run { page.allow.clone() } else { Vec::new() };
    hands.policy.rules.allow.extend(allow.iter().cloned());
    let folder = custom.folder();
    let filling = fill::Filling::new(words, &page.arguments, names, &folder);
    let mut text = String::new();
    let mut used = false;
    for piece in snippet::pieces(&page.body) {
        match piece {
            Piece::Text(part) => {
                let (part, has_used) = filling.fill(part);
                text.push_str(&part);
                used |= has_used;
            }
            Piece::Command(_) if !hands.runs_snippets => text.push_str(NOT_RUN),
            Piece::Command(_) if !may_run => {
                return Err(Refusal::failed(format!(
                    "/{} of this project runs commands, and the project is not trusted; look at {}, \
                     then trust the project",
                    custom.name,
                    custom.path.display()
                )));
            }
            Piece::Command(command) => {
                let (command, has_used) = filling.fill(command);
                used |= has_used;
                let said = hands.run(&command).await.map_err(|why| {
                    Refusal::failed(format!("/{}: `{command}` was not run: {why}", custom.name))
                })?;
                text.push_str(&said);
            }
        }
    }
    if !used && !words.is_empty() {
        text = format!("{}\n\nARGUMENTS: {words}", text.trim_end());
    }
    let model = page.model.as_deref().map(|model| names.model(model));
    let source = if custom.author == Author::User { "user" } else { "project" };
    let page = Some(Called { name: custom.name.clone(), arguments: words.to_owned(), source });
    let files = mention::files(&text, &hands, &Opinion::None).await;
    Ok(Expanded { text, files, allow, model, page })
}

/// What stands in the place of a command that settings do not let run.
const NOT_RUN: &str = "[a command is not run here: disableSkillShellExecution]";
