//! Custom commands in Markdown files. Where two have one name, the user's counts before the
//! project's.

use std::path::{Path, PathBuf};

use windlass_driver::SkillDefinition;
use windlass_permission::Rule;
use windlass_settings::EnabledSources;

use crate::bounded_file::read_page;
use crate::extension_sources::ExtensionSources;
use crate::markdown_files::{FrontMatter, list_markdown_files};
use crate::rule_list::split_rules;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandAuthor {
    User,
    Project,
}

/// A custom command, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// Without the slash.
    pub name: String,
    pub description: String,
    pub argument_hint: Option<String>,
    pub author: CommandAuthor,
    pub path: PathBuf,
}

#[derive(Debug, Default)]
pub struct CustomCommandContent {
    pub body: String,
    pub arguments: Vec<String>,
    pub allow: Vec<Rule>,
    pub model: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct CustomCommands {
    commands: Vec<CustomCommand>,
}

impl CustomCommands {
    /// Looks for them: skills, the user's own pages, the project's from where we are up to its root,
    /// those of plugins.
    pub fn load(
        cwd: &Path,
        extensions: ExtensionSources<'_>,
        skills: &[SkillDefinition],
        lookup: &impl EnvLookup,
    ) -> Self {
        let EnabledSources { user, project, .. } = extensions.enabled;
        let root = windlass_settings::find_project_root(cwd);
        let mut found = Self::default();
        for skill in skills.iter().filter(|skill| !skill.is_model_only) {
            let is_theirs = skill.listed_path.starts_with(&root);
            if is_theirs && skill.is_link {
                // The user did not trust what a link leads to; the model may still read it.
                continue;
            }
            let author = if is_theirs { CommandAuthor::Project } else { CommandAuthor::User };
            let path = skill.folder.join("SKILL.md");
            let hint = skill.argument_hint.clone();
            let description = skill.description.chars().take(DESCRIPTION_CHARS_MAX).collect();
            found.push(CustomCommand {
                name: skill.name.clone(),
                description,
                argument_hint: hint,
                author,
                path,
            });
        }
        if let Some(folder) = user_directories::claude_directory(lookup).filter(|_| user) {
            found.add_folder(&folder.join("commands"), CommandAuthor::User, None);
        }
        let inside = cwd.ancestors().take_while(|folder| project && folder.starts_with(&root));
        for folder in inside {
            found.add_folder(&folder.join(".claude/commands"), CommandAuthor::Project, None);
        }
        for plugin in extensions.plugins {
            for folder in plugin.component_folders("commands", "commands") {
                found.add_folder(&folder, CommandAuthor::User, Some(&plugin.name));
            }
        }
        found
    }

    fn add_folder(&mut self, folder: &Path, author: CommandAuthor, plugin: Option<&str>) {
        for path in list_markdown_files(folder) {
            let Some(name) = path.file_stem().map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            let name = match plugin {
                Some(plugin) => format!("{plugin}:{name}"),
                None => name,
            };
            let (description, hint) = read_description(&path);
            self.push(CustomCommand { name, description, argument_hint: hint, author, path });
        }
    }

    fn push(&mut self, custom: CustomCommand) {
        let is_new = !self.commands.iter().any(|known| known.name == custom.name);
        if is_new && self.commands.len() < COMMANDS_MAX {
            self.commands.push(custom);
        }
    }

    /// All there are, in order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = &CustomCommand> {
        self.commands.iter()
    }

    /// The command a prompt calls, and the words after its name. In a name, the folders before it may
    /// be said too: `/folder:name`.
    pub fn find_invoked<'a>(&self, prompt: &'a str) -> Option<(&CustomCommand, &'a str)> {
        let text = prompt.trim_start().strip_prefix('/')?;
        let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let last = name.rsplit(':').next().unwrap_or(name);
        let is_meant = |custom: &&CustomCommand| {
            custom.name == name || (custom.name == last && custom.is_in_folders(name))
        };
        Some((self.commands.iter().find(is_meant)?, words.trim()))
    }
}

impl CustomCommand {
    pub fn read_content(&self) -> Result<CustomCommandContent, String> {
        let text = read_page(&self.path)?;
        let Some(page) = FrontMatter::parse(&text) else {
            return Ok(CustomCommandContent { body: text, ..CustomCommandContent::default() });
        };
        let rules = page.text("allowed-tools").unwrap_or_default();
        let parsed = split_rules(&rules)
            .into_iter()
            .map(|rule| Rule::parse(rule).map_err(|error| format!("allowed-tools: {error}")));
        Ok(CustomCommandContent {
            body: page.body.to_owned(),
            arguments: page.list("arguments").unwrap_or_default(),
            allow: parsed.collect::<Result<_, _>>()?,
            model: page.text("model").filter(|model| model != "inherit"),
        })
    }

    pub fn folder(&self) -> String {
        self.path.parent().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned())
    }

    /// Does it lie in the folders that a name says before its last part?
    fn is_in_folders(&self, name: &str) -> bool {
        let mut parts = name.rsplit(':').skip(1);
        let mut folders = self.path.ancestors().skip(1);
        parts.all(|part| {
            let folder = folders.next().and_then(Path::file_name);
            folder.is_some_and(|folder| folder.to_string_lossy() == part)
        })
    }
}

/// The description in the front matter, or else the first line; and the argument hint.
fn read_description(path: &Path) -> (String, Option<String>) {
    let Ok(text) = read_page(path) else { return (String::new(), None) };
    let page = FrontMatter::parse(&text);
    let body = page.as_ref().map_or(text.as_str(), |page| page.body);
    let first = body.lines().map(|line| line.trim_start_matches('#').trim());
    let first = first.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    let description = page.as_ref().and_then(|page| page.text("description"));
    let description = description.unwrap_or_else(|| first.to_owned());
    let hint = page.as_ref().and_then(|page| page.text("argument-hint"));
    (description.chars().take(DESCRIPTION_CHARS_MAX).collect(), hint)
}

const COMMANDS_MAX: usize = 256;
const DESCRIPTION_CHARS_MAX: usize = 200;
