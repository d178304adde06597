//! Output styles: built-in or from Markdown files, chosen by name. Of several with the same name,
//! the project's takes precedence over the user's, and the user's over the built-in one.
//!
//! A style only adds text to the system prompt: it permits nothing and runs nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_settings::EnabledSources;

use crate::extension_sources::ExtensionSources;
use crate::markdown_files::{FrontMatter, list_markdown_files};
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::read_or_skip;
use windlass_host::user_directories;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStyle {
    pub name: String,
    text: String,
    /// Keep the part of the system prompt about coding.
    keeps_coding_instructions: bool,
    pub problem: Option<String>,
}

/// All styles, in order of precedence.
pub fn load_output_styles(
    cwd: &Path,
    extensions: ExtensionSources<'_>,
    lookup: &impl EnvLookup,
) -> Vec<OutputStyle> {
    let EnabledSources { user, project, .. } = extensions.enabled;
    let root = windlass_settings::find_project_root(cwd);
    // A style becomes part of the system prompt, so a project's needs trust.
    let may_style = project && extensions.trusts_project;
    let inside = cwd.ancestors().take_while(|folder| may_style && folder.starts_with(&root));
    let mut folders: Vec<PathBuf> = inside.map(|folder| folder.join(".claude")).collect();
    folders.extend(user_directories::claude_directory(lookup).filter(|_| user));
    let mut folders: Vec<PathBuf> =
        folders.into_iter().map(|folder| folder.join("output-styles")).collect();
    let plugins = extensions.plugins.iter();
    folders.extend(
        plugins.flat_map(|plugin| plugin.component_folders("outputStyles", "output-styles")),
    );
    let mut styles: Vec<OutputStyle> = Vec::new();
    for path in folders.iter().flat_map(|folder| list_markdown_files(folder)) {
        let Some(text) = read_or_skip(&path, BYTES_MAX) else { continue };
        let Some(name) = path.file_stem() else { continue };
        let mut style = OutputStyle::parse(&name.to_string_lossy(), &text);
        style.problem = style.problem.map(|why| format!("{}: {why}", path.display()));
        styles.push(style);
    }
    styles.extend(BUILT_IN_STYLES.iter().map(|(name, text)| OutputStyle::parse(name, text)));
    let mut names: Vec<String> = Vec::new();
    styles.retain(|style| {
        let is_new = !names.contains(&style.name);
        names.push(style.name.clone());
        is_new
    });
    styles
}

/// Applies the style of this name to the system prompt; returns a note if it does not exist.
/// `default` changes nothing.
pub fn apply_output_style(
    styles: &[OutputStyle],
    name: &str,
    prompt: &mut Arc<str>,
) -> Option<String> {
    match find_style(styles, name) {
        Some(style) => *prompt = Arc::from(style.apply_to(prompt)),
        None if name.eq_ignore_ascii_case("default") => {}
        None => return Some(format!("there is no output style `{name}`; the default one is used")),
    }
    None
}

fn find_style<'a>(styles: &'a [OutputStyle], name: &str) -> Option<&'a OutputStyle> {
    styles.iter().find(|style| style.name.eq_ignore_ascii_case(name))
}

impl OutputStyle {
    fn parse(name: &str, text: &str) -> Self {
        let page = FrontMatter::parse(text);
        let field = |key: &str| page.as_ref().and_then(|page| page.text(key));
        let keeps = field("keep-coding-instructions");
        let problem = page.as_ref().and_then(|page| page.problem()).map(str::to_owned);
        let own = field("name").filter(|_| problem.is_none());
        Self {
            problem,
            name: own.unwrap_or_else(|| name.to_owned()),
            text: page.as_ref().map_or(text, |page| page.body).trim().to_owned(),
            keeps_coding_instructions: matches!(
                keeps.as_deref(),
                Some("true" | "yes" | "on" | "1")
            ),
        }
    }

    pub fn apply_to(&self, prompt: &str) -> String {
        let kept: Vec<&str> = prompt
            .split("\n\n")
            .filter(|part| self.keeps_coding_instructions || !part.starts_with(CODING_SECTION))
            .collect();
        format!("{}\n\n{}", kept.join("\n\n"), self.text)
    }
}

/// The beginning of the system prompt's part about coding.
const CODING_SECTION: &str = "With code\n";
const BYTES_MAX: u64 = 100_000;
const BUILT_IN_STYLES: [(&str, &str); 4] = [
    ("Concise", include_str!("text/style/concise.md")),
    ("Explanatory", include_str!("text/style/explanatory.md")),
    ("Learning", include_str!("text/style/learning.md")),
    ("Proactive", include_str!("text/style/proactive.md")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_keep_what_is_said_of_code_and_a_page_may_not() {
        let prompt = include_str!("../../assembly/src/text/system_prompt.md");
        assert!(prompt.contains(CODING_SECTION));
        for (name, text) in BUILT_IN_STYLES {
            let style = OutputStyle::parse(name, text);
            let applied = style.apply_to(prompt);
            assert_eq!(style.name, name);
            assert!(applied.contains(CODING_SECTION) && applied.contains(&style.text), "{name}");
        }
        let plain = OutputStyle::parse("poet", "---\nname: Poet\n---\nAnswer in verse.\n");
        let applied = plain.apply_to(prompt);
        assert!(
            !applied.contains(CODING_SECTION) && applied.contains("Never work around"),
            "{applied}"
        );
        assert!(applied.ends_with("\n\nAnswer in verse."), "{applied}");
        assert_eq!(find_style(&[plain], "poet").map(|style| style.name.as_str()), Some("Poet"));
    }
}
