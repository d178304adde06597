//! The facts about one model: window, output, prices, abilities.

use windlass_config_text::{TomlEntry, TomlMistake, find_similar_name};
use windlass_vocabulary::{Effort, ModelFacts, ModelName, Prices, Tokens};

use super::Config;
use super::dollars::parse_dollars;

/// A model's entry. A missing field is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelConfig {
    /// The entry that fills the gaps of this one.
    pub(super) inherits_from: Option<String>,
    /// Limit on input and output tokens together.
    pub window: Option<u64>,
    /// The default limit on output tokens.
    pub output_default: Option<u64>,
    pub output_max: Option<u64>,
    /// Its prices; zeros mean that it is free.
    pub price: Option<Prices>,
    pub tools: Option<bool>,
    pub images: Option<bool>,
    /// Does the provider cache prompts?
    pub cache: Option<bool>,
    /// Does it support reasoning, and can that be disabled?
    pub thinking: Option<ThinkingSupport>,
    pub effort: Option<Vec<Effort>>,
    /// Limit on images and documents in one request.
    pub media_max: Option<u64>,
    /// Can the provider remove old tool results on request?
    pub clears_results: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingSupport {
    /// No.
    None,
    /// It can be enabled and disabled.
    Optional,
    /// It cannot be disabled.
    Always,
}

impl ModelConfig {
    pub(crate) fn with_defaults_from(self, base: &Self) -> Self {
        Self {
            inherits_from: self.inherits_from.or_else(|| base.inherits_from.clone()),
            window: self.window.or(base.window),
            output_default: self.output_default.or(base.output_default),
            output_max: self.output_max.or(base.output_max),
            price: self.price.or(base.price),
            tools: self.tools.or(base.tools),
            images: self.images.or(base.images),
            cache: self.cache.or(base.cache),
            thinking: self.thinking.or(base.thinking),
            effort: self.effort.or_else(|| base.effort.clone()),
            media_max: self.media_max.or(base.media_max),
            clears_results: self.clears_results.or(base.clears_results),
        }
    }

    /// The facts for the engine, with cautious defaults for unknown ones.
    pub fn to_model_facts(&self, name: &str) -> ModelFacts {
        let window = self.window.unwrap_or(WINDOW_DEFAULT);
        // An output limit of the whole window would leave no room for input.
        let room = (window / 2).max(1);
        let output_max = self.output_max.unwrap_or_else(|| OUTPUT_MAX_DEFAULT.min(room));
        let output_default =
            if self.output_max.is_some() { OUTPUT_DEFAULT } else { OUTPUT_DEFAULT_UNLISTED };
        ModelFacts {
            name: ModelName::from(name),
            window: Tokens(window),
            output_default: Tokens(self.output_default.unwrap_or(output_default).min(output_max)),
            output_max: Tokens(output_max),
            prices: self.price.unwrap_or_default(),
        }
    }
}

/// Prices from input and output prices, with the usual factors for the cache: writing costs a
/// quarter more than input, reading a tenth of it.
pub fn build_prices(input: u64, output: u64) -> Prices {
    Prices {
        input,
        output,
        cache_write: input.saturating_add(input.div_ceil(4)),
        cache_read: input.div_ceil(10),
    }
}

pub(super) fn parse_model(
    entry: &TomlEntry<'_>,
    config: &Config,
) -> Result<ModelConfig, TomlMistake> {
    check_provider(entry, config)?;
    let table = entry.parse_table("a model")?;
    table.check_keys(KEYS)?;
    let tokens = |key: &str| table.parse_number(key, 1..=TOKENS_MAX);
    let flag = |key: &str| table.parse_flag(key);
    Ok(ModelConfig {
        inherits_from: table.read_key("like", |entry| parse_inherits_from(&entry, config))?,
        window: tokens("window")?,
        output_default: tokens("output_default")?,
        output_max: tokens("output_max")?,
        price: table.read_key("price", |entry| parse_price(&entry))?,
        tools: flag("tools")?,
        images: flag("images")?,
        cache: flag("cache")?,
        thinking: table.read_key("thinking", |entry| entry.parse_keyword(THINKING_KEYWORDS))?,
        effort: table.read_key("effort", |entry| {
            entry.parse_list()?.iter().map(|entry| entry.parse_keyword(EFFORT_KEYWORDS)).collect()
        })?,
        media_max: table.parse_number("media_max", 0..=100_000)?,
        clears_results: flag("clears_results")?,
    })
}

fn check_provider(entry: &TomlEntry<'_>, config: &Config) -> Result<(), TomlMistake> {
    let Some((provider, name)) = entry.key.split_once('/').filter(|(_, name)| !name.is_empty())
    else {
        let problem = format!("\"{}\" does not say whose model it is", entry.key.escape_debug());
        return Err(TomlMistake::new(entry.key_offset, problem, "write [model.\"provider/name\"]"));
    };
    if config.providers.contains_key(provider) {
        return Ok(());
    }
    let known = config.providers.keys().map(String::as_str);
    let remedy = match find_similar_name(provider, known.clone()) {
        Some(near) => format!("did you mean \"{near}/{name}\"?"),
        None => {
            format!("add [provider.{provider}], or use {}", known.collect::<Vec<_>>().join(", "))
        }
    };
    Err(TomlMistake::new(entry.key_offset, format!("there is no provider `{provider}`"), remedy))
}

fn parse_inherits_from(entry: &TomlEntry<'_>, config: &Config) -> Result<String, TomlMistake> {
    let name = entry.parse_trimmed_text()?;
    match config.models.contains_key(&name) {
        true => Ok(name),
        false => {
            let problem = format!("`like` names an unknown row, \"{name}\"");
            let remedy = match find_similar_name(&name, config.models.keys().map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "name one above it; `windlass models` lists them".to_owned(),
            };
            Err(TomlMistake::new(entry.offset, problem, remedy))
        }
    }
}

fn parse_price(entry: &TomlEntry<'_>) -> Result<Prices, TomlMistake> {
    let table = entry.parse_table("`price`").map_err(|_| {
        entry.invalid_value(
            "a table, such as { input = 2, output = 10 }, in dollars per million tokens",
        )
    })?;
    table.check_keys(&["input", "output", "cache_read", "cache_write"])?;
    let dollars = |key: &str| table.read_key(key, |entry| parse_dollars(&entry));
    let (Some(input), Some(output)) = (dollars("input")?, dollars("output")?) else {
        return Err(entry.invalid_value("a table with `input` and `output`"));
    };
    let usual = build_prices(input, output);
    Ok(Prices {
        cache_read: dollars("cache_read")?.unwrap_or(usual.cache_read),
        cache_write: dollars("cache_write")?.unwrap_or(usual.cache_write),
        ..usual
    })
}

const THINKING_KEYWORDS: &[(&str, ThinkingSupport)] = &[
    ("none", ThinkingSupport::None),
    ("optional", ThinkingSupport::Optional),
    ("always", ThinkingSupport::Always),
];
const EFFORT_KEYWORDS: &[(&str, Effort)] = &[
    ("low", Effort::Low),
    ("medium", Effort::Medium),
    ("high", Effort::High),
    ("xhigh", Effort::Xhigh),
    ("max", Effort::Max),
];
const KEYS: &[&str] = &[
    "like",
    "window",
    "output_default",
    "output_max",
    "price",
    "tools",
    "images",
    "cache",
    "thinking",
    "effort",
    "media_max",
    "clears_results",
];
const TOKENS_MAX: u64 = 100_000_000;
/// For a model without an entry.
const WINDOW_DEFAULT: u64 = 200_000;
const OUTPUT_MAX_DEFAULT: u64 = 32_000;
const OUTPUT_DEFAULT_UNLISTED: u64 = 8_000;
/// The default limit for models that support more.
const OUTPUT_DEFAULT: u64 = 32_000;
