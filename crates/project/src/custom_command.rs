//! Custom commands in Markdown files. Of several with the same name, the user's takes precedence
//! over the project's.

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

/// A custom command, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// Without the slash.
    pub name: String,
    /// For a skill: the name of its folder.
    pub folder_name: Option<String>,
    pub description: String,
    pub argument_hint: Option<String>,
    pub author: CommandAuthor,
    pub path: PathBuf,
    /// A project's file that is a link, or is reached through one. It may lead to any file of the user.
    pub is_link: bool,
}

#[derive(Debug, Default)]
pub struct CustomCommandContent {
    /// The whole file.
    pub text: String,
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
    /// Finds commands: skills, the user's own files, the project's from the working directory up to
    /// its root, those of plugins.
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
                // The target of a symlink was not covered by the user's trust; the model may still
                // read it.
                continue;
            }
            let author = if is_theirs { CommandAuthor::Project } else { CommandAuthor::User };
            let path = skill.folder.join("SKILL.md");
            let hint = skill.argument_hint.clone();
            let description = skill.description.chars().take(DESCRIPTION_CHARS_MAX).collect();
            found.push(CustomCommand {
                name: skill.name.clone(),
                folder_name: skill_folder_name(skill),
                description,
                argument_hint: hint,
                author,
                path,
                is_link: false,
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
            let Ok(inside) = path.strip_prefix(folder) else { continue };
            let inside = inside.with_extension("");
            let parts = inside.iter().map(|part| part.to_string_lossy().into_owned());
            let parts: Vec<String> = plugin.map(str::to_owned).into_iter().chain(parts).collect();
            let name = parts.join(":");
            let (description, hint) = read_description(&path);
            let is_link = author == CommandAuthor::Project && is_reached_by_link(folder, &path);
            self.push(CustomCommand {
                name,
                folder_name: None,
                description,
                argument_hint: hint,
                author,
                path,
                is_link,
            });
        }
    }

    fn push(&mut self, custom: CustomCommand) {
        let is_new = !self.commands.iter().any(|known| known.name == custom.name);
        if is_new && self.commands.len() < COMMANDS_MAX {
            self.commands.push(custom);
        }
    }

    /// All commands, in order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = &CustomCommand> {
        self.commands.iter()
    }

    /// The command that a prompt calls, and its arguments. Folder prefixes may be omitted if that
    /// is unambiguous: `/name` for `/folder:name`. A skill can also be called by its folder's name.
    pub fn find_invoked<'a>(&self, prompt: &'a str) -> Option<(&CustomCommand, &'a str)> {
        let text = prompt.trim_start().strip_prefix('/')?;
        let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let is_folder = |custom: &&CustomCommand| custom.folder_name.as_deref() == Some(name);
        let exact = self.commands.iter().find(|custom| custom.name == name);
        let exact = exact.or_else(|| self.commands.iter().find(is_folder));
        let ends_so = |custom: &&CustomCommand| {
            custom.name.strip_suffix(name).is_some_and(|before| before.ends_with(':'))
        };
        let mut others = self.commands.iter().filter(ends_so);
        let custom = match (exact, others.next(), others.next()) {
            (Some(custom), _, _) | (None, Some(custom), None) => custom,
            (None, None, _) | (None, Some(_), Some(_)) => return None,
        };
        Some((custom, words.trim()))
    }
}

impl CustomCommand {
    pub fn read_content(&self) -> Result<CustomCommandContent, String> {
        let text = read_page(&self.path)?;
        let Some(page) = FrontMatter::parse(&text) else {
            let body = text.clone();
            return Ok(CustomCommandContent { text, body, ..CustomCommandContent::default() });
        };
        let rules = page.text("allowed-tools").unwrap_or_default();
        let parsed = split_rules(&rules)
            .into_iter()
            .map(|rule| Rule::parse(rule).map_err(|error| format!("allowed-tools: {error}")));
        Ok(CustomCommandContent {
            text: text.clone(),
            body: page.body.to_owned(),
            arguments: page.list("arguments").unwrap_or_default(),
            allow: parsed.collect::<Result<_, _>>()?,
            model: page.text("model").filter(|model| model != "inherit"),
        })
    }

    pub fn folder(&self) -> String {
        self.path.parent().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned())
    }
}

/// Is one of the names from `.claude` on a link?
fn is_reached_by_link(folder: &Path, path: &Path) -> bool {
    let top = folder.parent().unwrap_or(folder);
    path.ancestors().take_while(|place| place.starts_with(top)).any(Path::is_symlink)
}

fn skill_folder_name(skill: &SkillDefinition) -> Option<String> {
    let folder = skill.listed_path.file_name()?.to_str()?;
    Some(match skill.name.rsplit_once(':') {
        Some((plugin, _)) => format!("{plugin}:{folder}"),
        None => folder.to_owned(),
    })
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
