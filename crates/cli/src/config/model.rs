//! What is known of one model: window, output, prices, abilities. Facts; nothing is decided here.

use windlass_vocabulary::{Effort, ModelFacts, ModelName, Prices, Tokens};

use super::Config;
use super::entry::Entry;
use super::mistake::Mistake;
use crate::nearest::nearest;

/// A model's row. What it does not say is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// The row that fills the gaps of this one.
    pub(super) like: Option<String>,
    /// Tokens of input and output together.
    pub(crate) window: Option<u64>,
    /// Asked for when nothing else is said.
    pub(crate) output_default: Option<u64>,
    /// The most in one answer.
    pub(crate) output_max: Option<u64>,
    /// What it costs; zeros mean that it is free.
    pub(crate) price: Option<Prices>,
    /// Can it call tools?
    pub(crate) tools: Option<bool>,
    /// Does it take images?
    pub(crate) images: Option<bool>,
    /// Does the provider cache prompts?
    pub(crate) cache: Option<bool>,
    /// Can it think, and can that be switched off?
    pub(crate) thinking: Option<Thinking>,
    /// Which efforts it knows.
    pub(crate) effort: Option<Vec<Effort>>,
    /// Images and documents in one request.
    pub(crate) media_max: Option<u64>,
    /// Does the provider take old tool results out itself when asked to?
    pub(crate) clears_results: Option<bool>,
}

/// Whether a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// It cannot be asked to.
    None,
    /// It can be switched on and off.
    Optional,
    /// It cannot be switched off.
    Always,
}

impl Model {
    /// This row, with its gaps filled from another.
    pub(crate) fn over(self, base: &Self) -> Self {
        Self {
            like: self.like.or_else(|| base.like.clone()),
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

    /// What the loop must know, with cautious values for what is unknown.
    pub(crate) fn facts(&self, name: &str) -> ModelFacts {
        let window = self.window.unwrap_or(WINDOW);
        // An answer that could fill the whole window would leave no room for a question.
        let room = (window / 2).max(1);
        let output_max = self.output_max.unwrap_or_else(|| OUTPUT_MAX.min(room));
        let wish = if self.output_max.is_some() { OUTPUT_WISH } else { OUTPUT_WISH_UNKNOWN };
        ModelFacts {
            name: ModelName::from(name),
            window: Tokens(window),
            output_default: Tokens(self.output_default.unwrap_or(wish).min(output_max)),
            output_max: Tokens(output_max),
            prices: self.price.unwrap_or_default(),
        }
    }
}

/// Prices of input and output, with the cache at the usual shares of the input price: writing costs
/// a quarter more, reading a tenth.
pub(crate) fn prices(input: u64, output: u64) -> Prices {
    Prices {
        input,
        output,
        cache_write: input.saturating_add(input.div_ceil(4)),
        cache_read: input.div_ceil(10),
    }
}

/// Reads one row.
pub(super) fn read(entry: &Entry<'_>, config: &Config) -> Result<Model, Mistake> {
    known_provider(entry, config)?;
    let table = entry.table("a model")?;
    table.only(KEYS)?;
    let tokens = |key: &str| table.read(key, |entry| entry.number(1..=TOKENS_MAX));
    let flag = |key: &str| table.read(key, |entry| entry.flag());
    Ok(Model {
        like: table.read("like", |entry| other_row(&entry, config))?,
        window: tokens("window")?,
        output_default: tokens("output_default")?,
        output_max: tokens("output_max")?,
        price: table.read("price", |entry| price(&entry))?,
        tools: flag("tools")?,
        images: flag("images")?,
        cache: flag("cache")?,
        thinking: table.read("thinking", |entry| entry.word(THINKING))?,
        effort: table.read("effort", |entry| {
            entry.list()?.iter().map(|entry| entry.word(EFFORTS)).collect()
        })?,
        media_max: table.read("media_max", |entry| entry.number(0..=100_000))?,
        clears_results: flag("clears_results")?,
    })
}

fn known_provider(entry: &Entry<'_>, config: &Config) -> Result<(), Mistake> {
    let Some((provider, name)) = entry.key.split_once('/').filter(|(_, name)| !name.is_empty())
    else {
        let problem = format!("\"{}\" does not say whose model it is", entry.key.escape_debug());
        return Err(Mistake::new(entry.key_at, problem, "write [model.\"provider/name\"]"));
    };
    if config.providers.contains_key(provider) {
        return Ok(());
    }
    let known = config.providers.keys().map(String::as_str);
    let remedy = match nearest(provider, known.clone()) {
        Some(near) => format!("did you mean \"{near}/{name}\"?"),
        None => {
            format!("add [provider.{provider}], or use {}", known.collect::<Vec<_>>().join(", "))
        }
    };
    Err(Mistake::new(entry.key_at, format!("there is no provider `{provider}`"), remedy))
}

fn other_row(entry: &Entry<'_>, config: &Config) -> Result<String, Mistake> {
    let name = entry.text()?;
    match config.models.contains_key(&name) {
        true => Ok(name),
        false => {
            let problem = format!("`like` names a row that is not there, \"{name}\"");
            let remedy = match nearest(&name, config.models.keys().map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "name one that stands above; `windlass models` lists them".to_owned(),
            };
            Err(Mistake::new(entry.at, problem, remedy))
        }
    }
}

fn price(entry: &Entry<'_>) -> Result<Prices, Mistake> {
    let table = entry.table("`price`").map_err(|_| {
        entry.must("a table, such as { input = 2, output = 10 }, in dollars per million tokens")
    })?;
    table.only(&["input", "output", "cache_read", "cache_write"])?;
    let dollars = |key: &str| table.read(key, |entry| entry.dollars());
    let (Some(input), Some(output)) = (dollars("input")?, dollars("output")?) else {
        return Err(entry.must("a table with `input` and `output`"));
    };
    let usual = prices(input, output);
    Ok(Prices {
        cache_read: dollars("cache_read")?.unwrap_or(usual.cache_read),
        cache_write: dollars("cache_write")?.unwrap_or(usual.cache_write),
        ..usual
    })
}

const THINKING: &[(&str, Thinking)] =
    &[("none", Thinking::None), ("optional", Thinking::Optional), ("always", Thinking::Always)];
const EFFORTS: &[(&str, Effort)] = &[
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
/// For a model nobody has described.
const WINDOW: u64 = 200_000;
const OUTPUT_MAX: u64 = 32_000;
const OUTPUT_WISH_UNKNOWN: u64 = 8_000;
/// Asked for when a model can give more.
const OUTPUT_WISH: u64 = 32_000;
