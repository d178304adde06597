//! What is known of providers and models, and what the user says about them.
//!
//! Two files of one form, the later one winning field by field: the table that is built in, and the
//! user's own `config.toml`. Nothing is ever read from the project that is worked on: whoever wrote
//! it must not choose where keys go. The environment and the flags are looked at elsewhere.

pub(crate) mod amount;
mod entry;
mod file;
mod mistake;
pub(crate) mod model;
pub(crate) mod provider;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use windlass_driver::Durability;

use crate::environment::Lookup;
use crate::refusal::Refusal;
use entry::Table;
use mistake::Mistake;
use model::Model;
use provider::Provider;

/// Providers, models and choices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// By name.
    pub(crate) providers: BTreeMap<String, Provider>,
    /// By `provider/name`, or `provider/*` for all of a provider.
    pub(crate) models: BTreeMap<String, Model>,
    /// Short names for models.
    pub(crate) short: BTreeMap<String, String>,
    /// Asked when nothing else is said.
    pub(crate) default_model: Option<String>,
    /// Writes summaries.
    pub(crate) small_model: Option<String>,
    /// Asked when the first is overloaded or gone.
    pub(crate) fallback_models: Vec<String>,
    /// What sessions that are kept survive.
    pub(crate) durability: Durability,
    /// Where transcripts for other programs are written.
    pub(crate) transcripts: Transcripts,
    /// The day the table of facts was made.
    pub(crate) facts: Option<String>,
    /// The user's file, whether or not it is there.
    pub(crate) path: Option<PathBuf>,
}

/// A model as it is known: its facts, and whether it is listed at all.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The facts.
    pub(crate) model: Model,
    /// Has it a row of its own?
    pub(crate) is_listed: bool,
}

impl Config {
    /// Both files.
    pub(crate) fn load(lookup: &impl Lookup) -> Result<Self, Refusal> {
        let mut config = Self::built_in()?;
        config.path = file::path(lookup);
        let Some(path) = config.path.clone() else {
            return Ok(config);
        };
        let Some(text) = file::read(&path)? else {
            return Ok(config);
        };
        let layered = config.with(&text);
        layered.map_err(|mistake| Refusal::usage(mistake.in_file(&path, &text)))
    }

    /// The table that is built in.
    pub(crate) fn built_in() -> Result<Self, Refusal> {
        Self::default().with(KNOWN).map_err(|mistake| {
            Refusal::failed(mistake.in_file(Path::new("the built-in table"), KNOWN))
        })
    }

    /// What is known of a model.
    pub(crate) fn model(&self, provider: &str, name: &str) -> Known {
        let row = |name: &str| self.models.get(&format!("{provider}/{name}"));
        let own = row(name).or_else(|| row(without_date(name)));
        let all = row("*").map(|model| self.resolved(model)).unwrap_or_default();
        Known {
            is_listed: own.is_some(),
            model: own.map(|model| self.resolved(model)).unwrap_or_default().over(&all),
        }
    }

    /// Names of a provider's listed models.
    pub(crate) fn listed<'a>(&'a self, provider: &'a str) -> impl Iterator<Item = &'a str> {
        let own = move |key: &'a String| {
            let name = key.strip_prefix(provider)?.strip_prefix('/')?;
            (name != "*").then_some(name)
        };
        self.models.keys().filter_map(own)
    }

    /// A row with what it takes from the row it is like, and so on.
    fn resolved(&self, model: &Model) -> Model {
        let mut resolved = model.clone();
        for _ in 0..LIKE_MAX {
            let like = resolved.like.take();
            match like.and_then(|like| self.models.get(&like)) {
                Some(other) => {
                    resolved = Model { like: other.like.clone(), ..resolved.over(other) }
                }
                None => break,
            }
        }
        resolved
    }

    /// With one more file on top.
    fn with(mut self, text: &str) -> Result<Self, Mistake> {
        let parsed = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let problem = format!("this is not TOML: {}", error.message().replace('\n', ", "));
            Mistake::new(at, problem, "mend the line")
        })?;
        let root = Table::root(parsed.get_ref());
        root.only(KEYS)?;
        let is_built_in = self.providers.is_empty();
        root.read("provider", |entry| {
            for entry in entry.table("`provider`")?.entries() {
                let base = self.providers.get(entry.key);
                let provider = provider::read(&entry, base, is_built_in)?;
                self.providers.insert(entry.key.to_owned(), provider);
            }
            Ok(())
        })?;
        root.read("model", |entry| {
            for entry in entry.table("`model`")?.entries() {
                let model = model::read(&entry, &self)?;
                let base = self.models.get(entry.key).cloned().unwrap_or_default();
                let merged = model.over(&base);
                self.models.insert(entry.key.to_owned(), merged);
                self.check(&entry)?;
            }
            Ok(())
        })?;
        root.read("short", |entry| {
            for entry in entry.table("`short`")?.entries() {
                self.short.insert(entry.key.to_owned(), entry.text()?);
            }
            Ok(())
        })?;
        if let Some(survives) = root.read("sessions_survive", |entry| entry.word(SURVIVE))? {
            self.durability = survives;
        }
        if let Some(transcripts) = root.read("transcripts", transcripts)? {
            self.transcripts = transcripts;
        }
        self.facts = root.read("facts", |entry| entry.text())?.or(self.facts);
        self.default_model =
            root.read("default_model", |entry| entry.text())?.or(self.default_model);
        self.small_model = root.read("small_model", |entry| entry.text())?.or(self.small_model);
        if let Some(models) = root.read("fallback_models", |entry| entry.texts())? {
            self.fallback_models = models;
        }
        Ok(self)
    }

    /// What each number says may be right and the whole still make no sense.
    fn check(&self, entry: &entry::Entry<'_>) -> Result<(), Mistake> {
        let (provider, name) = entry.key.split_once('/').unwrap_or_default();
        let model = self.model(provider, name).model;
        let facts = model.facts(name);
        let (window, most) = (facts.window.0, model.output_max.unwrap_or(facts.output_max.0));
        let wish = model.output_default.unwrap_or(facts.output_default.0);
        if most >= window {
            let problem = format!("the output of {} does not fit its window", entry.key);
            let remedy = format!("output_max ({most}) must be less than window ({window})");
            return Err(Mistake::new(entry.key_at, problem, remedy));
        }
        if wish > most {
            let problem = format!("{} is asked for more than it can give", entry.key);
            let remedy = format!("output_default ({wish}) must not be over output_max ({most})");
            return Err(Mistake::new(entry.key_at, problem, remedy));
        }
        Ok(())
    }
}

/// Where transcripts for other programs are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transcripts {
    /// Where those programs look for them.
    #[default]
    Usual,
    /// Nowhere.
    Off,
    /// Below this directory.
    Below(PathBuf),
}

fn transcripts(entry: entry::Entry<'_>) -> Result<Transcripts, Mistake> {
    if let Ok(on) = entry.flag() {
        return Ok(if on { Transcripts::Usual } else { Transcripts::Off });
    }
    let path = entry.text().map(PathBuf::from).ok().filter(|path| path.is_absolute());
    path.map(Transcripts::Below).ok_or_else(|| entry.must("true, false or an absolute path"))
}

/// A snapshot is named after its family and a date: `-20251001` or `-2026-04-23`.
pub(crate) fn without_date(name: &str) -> &str {
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    for length in [8, 10] {
        let cut = name.len().checked_sub(length).and_then(|at| name.split_at_checked(at));
        if let Some((family, date)) = cut
            && is_date(date)
            && let Some(family) = family.strip_suffix('-')
        {
            return family;
        }
    }
    name
}

const KNOWN: &str = include_str!("known.toml");
const KEYS: &[&str] = &[
    "default_model",
    "fallback_models",
    "small_model",
    "sessions_survive",
    "transcripts",
    "short",
    "provider",
    "model",
    "facts",
];
/// A killed process by default: to wait for the disk makes every turn some milliseconds longer.
const SURVIVE: &[(&str, Durability)] =
    &[("kill", Durability::Written), ("power_loss", Durability::Synced)];
/// How far a row may be like a row that is like a row.
const LIKE_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_sound() {
        let config = Config::built_in().unwrap();
        assert!(config.models.len() > 40);
        let named = config.short.values().chain(&config.default_model);
        for name in named {
            let (provider, name) = name.split_once('/').unwrap();
            assert!(config.model(provider, name).is_listed, "{name}");
        }
        for key in config.models.keys() {
            let (provider, name) = key.split_once('/').unwrap();
            assert!(config.providers.contains_key(provider), "{key}");
            let facts = config.model(provider, name).model.facts(name);
            assert!(facts.output_default <= facts.output_max, "{key}");
            assert!(facts.output_max < facts.window, "{key}");
            if name != "*" {
                assert!(facts.prices.input < facts.prices.output, "{key}");
                assert!(facts.prices.cache_read <= facts.prices.input, "{key}");
                assert!(facts.prices.cache_write >= facts.prices.input, "{key}");
            }
        }
    }

    #[test]
    fn a_snapshot_has_the_facts_of_its_family() {
        let cases = [
            ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
            ("gpt-5.5-2026-04-23", "gpt-5.5"),
            ("gpt-5.5", "gpt-5.5"),
            ("20251001", "20251001"),
            ("ä-2026-04-2", "ä-2026-04-2"),
        ];
        for (name, family) in cases {
            assert_eq!(without_date(name), family);
        }
    }
}
