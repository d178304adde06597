//! How the model answers: a style that somebody chose by its name. Ours, or a page that people keep;
//! where two have one name, the project's is meant before the user's, and the user's before ours.
//!
//! A style speaks to the model alone. It grants nothing and runs nothing, so a project's may be used
//! before the project is trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_settings::Sources;

use crate::environment::Lookup;
use crate::folder;
use crate::frontmatter::{Page, pages};
use crate::layers::Layers;

/// A style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Its name.
    pub(crate) name: String,
    /// What the model is told.
    text: String,
    /// What the model is told of working on code stays too.
    keeps_code: bool,
    /// What is wrong with its head.
    pub(crate) problem: Option<String>,
}

/// All there are, those that count first.
pub(crate) fn all(cwd: &Path, layers: &Layers, lookup: &impl Lookup) -> Vec<Style> {
    let Sources { user, project, .. } = layers.sources;
    let root = folder::project(cwd);
    let inside = cwd.ancestors().take_while(|folder| project && folder.starts_with(&root));
    let mut folders: Vec<PathBuf> = inside.map(|folder| folder.join(".claude")).collect();
    folders.extend(folder::claude(lookup).filter(|_| user));
    let mut folders: Vec<PathBuf> =
        folders.into_iter().map(|folder| folder.join("output-styles")).collect();
    let plugins = layers.plugins.iter();
    folders.extend(plugins.flat_map(|plugin| plugin.folders("outputStyles", "output-styles")));
    let mut styles: Vec<Style> = Vec::new();
    for path in folders.iter().flat_map(|folder| pages(folder)) {
        let own = || path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if let Some(mut style) = own().and_then(|name| Style::read(&name, &text)) {
            style.problem = style.problem.map(|why| format!("{}: {why}", path.display()));
            styles.push(style);
        }
    }
    styles.extend(OURS.iter().filter_map(|(name, text)| Style::read(name, text)));
    let mut names: Vec<String> = Vec::new();
    styles.retain(|style| {
        let is_new = !names.contains(&style.name);
        names.push(style.name.clone());
        is_new
    });
    styles
}

/// Puts the system prompt into the style of this name, and says if there is none. `default` is as it
/// is.
pub(crate) fn apply(styles: &[Style], name: &str, prompt: &mut Arc<str>) -> Option<String> {
    match named(styles, name) {
        Some(style) => *prompt = Arc::from(style.applied(prompt)),
        None if name.eq_ignore_ascii_case("default") => {}
        None => return Some(format!("there is no output style `{name}`; answers are as usual")),
    }
    None
}

/// The one of this name, however it is written.
fn named<'a>(styles: &'a [Style], name: &str) -> Option<&'a Style> {
    styles.iter().find(|style| style.name.eq_ignore_ascii_case(name))
}

impl Style {
    fn read(name: &str, text: &str) -> Option<Self> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let page = Page::parse(text);
        let field = |key: &str| page.as_ref().and_then(|page| page.text(key));
        let keeps = field("keep-coding-instructions");
        let problem = page.as_ref().and_then(|page| page.problem()).map(str::to_owned);
        let own = field("name").filter(|_| problem.is_none());
        Some(Self {
            problem,
            name: own.unwrap_or_else(|| name.to_owned()),
            text: page.as_ref().map_or(text, |page| page.body).trim().to_owned(),
            keeps_code: matches!(keeps.as_deref(), Some("true" | "yes" | "on" | "1")),
        })
    }

    /// The system prompt in this style.
    pub(crate) fn applied(&self, prompt: &str) -> String {
        let kept: Vec<&str> = prompt
            .split("\n\n")
            .filter(|part| self.keeps_code || !part.starts_with(CODE))
            .collect();
        format!("{}\n\n{}", kept.join("\n\n"), self.text)
    }
}

/// How the part of the system prompt begins that is about code.
const CODE: &str = "With code\n";
const BYTES_MAX: usize = 100_000;
const OURS: [(&str, &str); 4] = [
    ("Concise", include_str!("../text/style/concise.md")),
    ("Explanatory", include_str!("../text/style/explanatory.md")),
    ("Learning", include_str!("../text/style/learning.md")),
    ("Proactive", include_str!("../text/style/proactive.md")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_keep_what_is_said_of_code_and_a_page_may_not() {
        let prompt = include_str!("../text/system_prompt.md");
        assert!(prompt.contains(CODE));
        for (name, text) in OURS {
            let style = Style::read(name, text).expect("a style");
            let applied = style.applied(prompt);
            assert_eq!(style.name, name);
            assert!(applied.contains(CODE) && applied.contains(&style.text), "{name}");
        }
        let plain = Style::read("poet", "---\nname: Poet\n---\nAnswer in verse.\n").expect("one");
        let applied = plain.applied(prompt);
        assert!(!applied.contains(CODE) && applied.contains("Never work around"), "{applied}");
        assert!(applied.ends_with("\n\nAnswer in verse."), "{applied}");
        assert_eq!(named(&[plain], "poet").map(|style| style.name.as_str()), Some("Poet"));
    }
}
