//! Pages that people keep as commands: which there are, whose they are, and what each says. Where two
//! have one name, the user's own is meant before the project's.

use std::path::{Path, PathBuf};

use windlass_driver::SkillPage;
use windlass_permission::Rule;
use windlass_settings::Sources;

use crate::environment::Lookup;
use crate::folder;
use crate::frontmatter::{Page, pages};
use crate::layers::Layers;
use crate::rules::listed;

/// Whose a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user's own.
    User,
    /// The project's.
    Project,
}

/// A page that is called by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Custom {
    /// Without the slash.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// What may be written after its name.
    pub(crate) hint: Option<String>,
    /// Whose it is.
    pub(crate) author: Author,
    /// The file.
    pub(crate) path: PathBuf,
}

/// What a page says.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) body: String,
    pub(super) arguments: Vec<String>,
    pub(super) allow: Vec<Rule>,
    pub(super) model: Option<String>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    all: Vec<Custom>,
}

impl Pages {
    /// Looks for them: skills, the user's own pages, the project's from where we are up to its root,
    /// those of plugins.
    pub(crate) fn find(
        cwd: &Path,
        layers: &Layers,
        skills: &[SkillPage],
        lookup: &impl Lookup,
    ) -> Self {
        let Sources { user, project, .. } = layers.sources;
        let root = folder::project(cwd);
        let mut found = Self::default();
        for skill in skills.iter().filter(|skill| !skill.is_for_models) {
            let is_theirs = skill.listed.starts_with(&root);
            if is_theirs && skill.is_link {
                // Nobody can have said yes to what it leads to; the model may read it.
                continue;
            }
            let author = if is_theirs { Author::Project } else { Author::User };
            let (path, hint) = (skill.folder.join("SKILL.md"), skill.hint.clone());
            let description = skill.about.chars().take(DESCRIPTION_CHARS_MAX).collect();
            found.push(Custom { name: skill.name.clone(), description, hint, author, path });
        }
        if let Some(folder) = folder::claude(lookup).filter(|_| user) {
            found.add(&folder.join("commands"), Author::User, None);
        }
        let inside = cwd.ancestors().take_while(|folder| project && folder.starts_with(&root));
        for folder in inside {
            found.add(&folder.join(".claude/commands"), Author::Project, None);
        }
        for plugin in &layers.plugins {
            for folder in plugin.folders("commands", "commands") {
                found.add(&folder, Author::User, Some(&plugin.name));
            }
        }
        found
    }

    fn add(&mut self, folder: &Path, author: Author, plugin: Option<&str>) {
        for path in pages(folder) {
            let Some(name) = path.file_stem().map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            let name = match plugin {
                Some(plugin) => format!("{plugin}:{name}"),
                None => name,
            };
            let (description, hint) = introduction(&path);
            self.push(Custom { name, description, hint, author, path });
        }
    }

    fn push(&mut self, custom: Custom) {
        let is_new = !self.all.iter().any(|known| known.name == custom.name);
        if is_new && self.all.len() < PAGES_MAX {
            self.all.push(custom);
        }
    }

    /// All there are, in order of precedence.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Custom> {
        self.all.iter()
    }

    /// The page a prompt calls, and the words after its name. In a name, the folders before it may
    /// be said too: `/folder:name`.
    pub(super) fn called<'a>(&self, prompt: &'a str) -> Option<(&Custom, &'a str)> {
        let text = prompt.trim_start().strip_prefix('/')?;
        let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let last = name.rsplit(':').next().unwrap_or(name);
        let is_meant = |custom: &&Custom| {
            custom.name == name || (custom.name == last && custom.has_folders(name))
        };
        Some((self.all.iter().find(is_meant)?, words.trim()))
    }
}

impl Custom {
    /// Reads it, or says why not.
    pub(super) fn read(&self) -> Result<Content, String> {
        let text = bounded(&self.path)?;
        let Some(page) = Page::parse(&text) else {
            return Ok(Content { body: text, ..Content::default() });
        };
        let rules = page.text("allowed-tools").unwrap_or_default();
        let parsed = listed(&rules)
            .into_iter()
            .map(|rule| Rule::parse(rule).map_err(|error| format!("allowed-tools: {error}")));
        Ok(Content {
            body: page.body.to_owned(),
            arguments: page.list("arguments").unwrap_or_default(),
            allow: parsed.collect::<Result<_, _>>()?,
            model: page.text("model").filter(|model| model != "inherit"),
        })
    }

    /// The folder it lies in.
    pub(super) fn folder(&self) -> String {
        self.path.parent().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned())
    }

    /// Does it lie in the folders that a name says before its last part?
    fn has_folders(&self, name: &str) -> bool {
        let mut parts = name.rsplit(':').skip(1);
        let mut folders = self.path.ancestors().skip(1);
        parts.all(|part| {
            let folder = folders.next().and_then(Path::file_name);
            folder.is_some_and(|folder| folder.to_string_lossy() == part)
        })
    }
}

/// What a page says of itself: in its head, or else its first line.
fn introduction(path: &Path) -> (String, Option<String>) {
    let Ok(text) = bounded(path) else { return (String::new(), None) };
    let page = Page::parse(&text);
    let body = page.as_ref().map_or(text.as_str(), |page| page.body);
    let first = body.lines().map(|line| line.trim_start_matches('#').trim());
    let first = first.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    let description = page.as_ref().and_then(|page| page.text("description"));
    let description = description.unwrap_or_else(|| first.to_owned());
    let hint = page.as_ref().and_then(|page| page.text("argument-hint"));
    (description.chars().take(DESCRIPTION_CHARS_MAX).collect(), hint)
}

fn bounded(path: &Path) -> Result<String, String> {
    let found = path.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() || found.len() > BYTES_MAX {
        return Err("it is not a file, or over 256 KiB".to_owned());
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

const PAGES_MAX: usize = 256;
const BYTES_MAX: u64 = 256 * 1024;
const DESCRIPTION_CHARS_MAX: usize = 200;
