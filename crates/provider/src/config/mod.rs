//! The known providers and models, and the user's configuration of them.
//!
//! Merges two files of the same form field by field: the built-in table, and the user's
//! `config.toml`, which takes precedence. Nothing is read from the project: its author must not
//! choose where keys are sent. The environment and the flags are handled elsewhere.

mod config_file;
pub mod dollars;
pub mod model;
pub mod provider;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use windlass_config_text::{TomlEntry, TomlMistake, TomlTable};
use windlass_driver::Durability;

use model::ModelConfig;
use provider::ProviderConfig;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

#[derive(Clone, Debug, Default)]
pub struct Config {
    pub providers: BTreeMap<String, ProviderConfig>,
    /// By `provider/name`, or `provider/*` for all of a provider.
    pub models: BTreeMap<String, ModelConfig>,
    pub aliases: BTreeMap<String, String>,
    pub default_model: Option<String>,
    /// The model for summaries.
    pub small_model: Option<String>,
    /// Used when the first model is overloaded or unavailable.
    pub fallback_models: Vec<String>,
    /// The durability of journals.
    pub durability: Durability,
    pub transcripts: TranscriptLocation,
    /// The date of the built-in table.
    pub facts_date: Option<String>,
    /// The path of the user's file, which need not exist.
    pub path: Option<PathBuf>,
}

/// A model with its facts, and whether it is listed.
#[derive(Clone, Debug)]
pub struct ResolvedModel {
    pub model: ModelConfig,
    /// Does it have an entry of its own?
    pub is_listed: bool,
}

impl Config {
    pub fn load(lookup: &impl EnvLookup) -> Result<Self, CommandError> {
        let mut config = Self::load_built_in()?;
        config.path = config_file::config_path(lookup);
        let Some(path) = config.path.clone() else {
            return Ok(config);
        };
        let Some(text) = config_file::read_config_text(&path)? else {
            return Ok(config);
        };
        let layered = config.merge_text(&text);
        layered.map_err(|mistake| CommandError::usage(format_mistake(&mistake, &path, &text)))
    }

    pub fn load_built_in() -> Result<Self, CommandError> {
        Self::default().merge_text(BUILT_IN_CONFIG).map_err(|mistake| {
            let path = Path::new("the built-in table");
            CommandError::failure(format_mistake(&mistake, path, BUILT_IN_CONFIG))
        })
    }

    pub fn resolve_model(&self, provider: &str, name: &str) -> ResolvedModel {
        let row = |name: &str| self.models.get(&format!("{provider}/{name}"));
        let own = row(name).or_else(|| row(strip_date_suffix(name)));
        let all = row("*").map(|model| self.resolve_inheritance(model)).unwrap_or_default();
        ResolvedModel {
            is_listed: own.is_some(),
            model: own
                .map(|model| self.resolve_inheritance(model))
                .unwrap_or_default()
                .with_defaults_from(&all),
        }
    }

    pub fn listed_models<'a>(&'a self, provider: &'a str) -> impl Iterator<Item = &'a str> {
        let own = move |key: &'a String| {
            let name = key.strip_prefix(provider)?.strip_prefix('/')?;
            (name != "*").then_some(name)
        };
        self.models.keys().filter_map(own)
    }

    /// Fills an entry's gaps from the entry it inherits from, recursively.
    fn resolve_inheritance(&self, model: &ModelConfig) -> ModelConfig {
        let mut resolved = model.clone();
        for _ in 0..INHERITANCE_DEPTH_MAX {
            let like = resolved.inherits_from.take();
            match like.and_then(|like| self.models.get(&like)) {
                Some(other) => {
                    resolved = ModelConfig {
                        inherits_from: other.inherits_from.clone(),
                        ..resolved.with_defaults_from(other)
                    }
                }
                None => break,
            }
        }
        resolved
    }

    fn merge_text(mut self, text: &str) -> Result<Self, TomlMistake> {
        let parsed =
            DeTable::parse(text).map_err(|error| TomlMistake::from_syntax_error(&error))?;
        let root = TomlTable::from_root("this file", parsed.get_ref());
        root.check_keys(KEYS)?;
        let is_built_in = self.providers.is_empty();
        root.read_key("provider", |entry| {
            for entry in entry.parse_table("`provider`")?.entries() {
                let base = self.providers.get(entry.key);
                let provider = provider::parse_provider(&entry, base, is_built_in)?;
                self.providers.insert(entry.key.to_owned(), provider);
            }
            Ok(())
        })?;
        root.read_key("model", |entry| {
            for entry in entry.parse_table("`model`")?.entries() {
                let model = model::parse_model(&entry, &self)?;
                let base = self.models.get(entry.key).cloned().unwrap_or_default();
                let merged = model.with_defaults_from(&base);
                self.models.insert(entry.key.to_owned(), merged);
                self.check_model_limits(&entry)?;
            }
            Ok(())
        })?;
        root.read_key("short", |entry| {
            for entry in entry.parse_table("`short`")?.entries() {
                self.aliases.insert(entry.key.to_owned(), entry.parse_trimmed_text()?);
            }
            Ok(())
        })?;
        if let Some(survives) =
            root.read_key("sessions_survive", |entry| entry.parse_keyword(DURABILITY_KEYWORDS))?
        {
            self.durability = survives;
        }
        if let Some(transcripts) = root.read_key("transcripts", parse_transcript_location)? {
            self.transcripts = transcripts;
        }
        self.facts_date =
            root.read_key("facts", |entry| entry.parse_trimmed_text())?.or(self.facts_date);
        self.default_model = root
            .read_key("default_model", |entry| entry.parse_trimmed_text())?
            .or(self.default_model);
        self.small_model =
            root.read_key("small_model", |entry| entry.parse_trimmed_text())?.or(self.small_model);
        if let Some(models) = root.read_key("fallback_models", |entry| entry.parse_text_list())? {
            self.fallback_models = models;
        }
        Ok(self)
    }

    /// Checks numbers that are valid one by one but not together.
    fn check_model_limits(&self, entry: &TomlEntry<'_>) -> Result<(), TomlMistake> {
        let (provider, name) = entry.key.split_once('/').unwrap_or_default();
        let model = self.resolve_model(provider, name).model;
        let facts = model.to_model_facts(name);
        let window = facts.window.0;
        let most = model.output_max.unwrap_or(facts.output_max.0);
        let output_default = model.output_default.unwrap_or(facts.output_default.0);
        if most >= window {
            let problem = format!("the output of {} does not fit its window", entry.key);
            let remedy = format!("output_max ({most}) must be less than window ({window})");
            return Err(TomlMistake::new(entry.key_offset, problem, remedy));
        }
        if output_default > most {
            let problem = format!("{} is asked for more than it can give", entry.key);
            let remedy =
                format!("output_default ({output_default}) must not be over output_max ({most})");
            return Err(TomlMistake::new(entry.key_offset, problem, remedy));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TranscriptLocation {
    /// Where those programs look for them.
    #[default]
    Standard,
    Off,
    Below(PathBuf),
}

fn parse_transcript_location(entry: TomlEntry<'_>) -> Result<TranscriptLocation, TomlMistake> {
    if let Ok(on) = entry.parse_flag() {
        return Ok(if on { TranscriptLocation::Standard } else { TranscriptLocation::Off });
    }
    let path = entry.parse_trimmed_text().map(PathBuf::from).ok().filter(|path| path.is_absolute());
    path.map(TranscriptLocation::Below)
        .ok_or_else(|| entry.invalid_value("true, false or an absolute path"))
}

fn format_mistake(mistake: &TomlMistake, path: &Path, text: &str) -> String {
    format!("{}, {}: {mistake}", path.display(), mistake.position_in(text))
}

/// A snapshot has the name of its family with a date suffix: `-20251001` or `-2026-04-23`.
pub(crate) fn strip_date_suffix(name: &str) -> &str {
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

const BUILT_IN_CONFIG: &str = include_str!("known.toml");
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
/// The default survives a killed process only: waiting for the disk makes every turn some
/// milliseconds longer.
const DURABILITY_KEYWORDS: &[(&str, Durability)] =
    &[("kill", Durability::Written), ("power_loss", Durability::Synced)];
/// Limit on nested inheritance.
const INHERITANCE_DEPTH_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_consistent() {
        let config = Config::load_built_in().unwrap();
        assert!(config.models.len() > 40);
        let named = config.aliases.values().chain(&config.default_model);
        for name in named {
            let (provider, name) = name.split_once('/').unwrap();
            assert!(config.resolve_model(provider, name).is_listed, "{name}");
        }
        for key in config.models.keys() {
            let (provider, name) = key.split_once('/').unwrap();
            assert!(config.providers.contains_key(provider), "{key}");
            let facts = config.resolve_model(provider, name).model.to_model_facts(name);
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
            assert_eq!(strip_date_suffix(name), family);
        }
    }
}
