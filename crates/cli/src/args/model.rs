//! The command line about models and limits.

use clap::ValueEnum;
use windlass_vocabulary::{MicroUsd, Prices};

use windlass_provider::config::dollars::parse_micro_dollars;
use windlass_provider::config::model;

/// Which model.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model: provider/name, a name `windlass models` lists, or fable, opus, sonnet,
    /// haiku. [default: sonnet, or default_model of config.toml] [env: WINDLASS_MODEL,
    /// ANTHROPIC_MODEL]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Fallback models, in order, for when the model is overloaded or gone; any provider.
    #[arg(long, value_name = "MODEL,MODEL", value_delimiter = ',')]
    pub(crate) fallback_model: Vec<String>,
    /// The model that writes summaries. [default: the main model]
    #[arg(long, value_name = "MODEL")]
    pub(crate) small_model: Option<String>,
    /// Reasoning effort, where the model supports it. [default: the provider's]
    #[arg(long, value_name = "EFFORT", value_enum)]
    pub(crate) effort: Option<EffortArg>,
    /// Extended thinking, where the model supports it.
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) thinking: Option<ThinkingArg>,
    /// Dollars per million tokens, for a model that `windlass models` has no price for.
    #[arg(long, value_name = "IN,OUT[,CACHE_WRITE,CACHE_READ]", value_parser = parse_prices)]
    pub(crate) price: Option<Prices>,
}

/// Where it ends.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Stop after this many rounds of tool calls. [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Spend at most this many dollars. Checked before each request.
    #[arg(long, value_name = "USD", value_parser = parse_budget_usd)]
    pub(crate) max_budget_usd: Option<MicroUsd>,
    /// Retries for a failed request; 0 for none. [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u8>,
    /// Summarise history above this many tokens: `auto`, or at least 100000 (`200k`).
    #[arg(long, value_name = "TOKENS", value_parser = parse_compaction_window)]
    pub(crate) autocompact: Option<u64>,
    /// Do not stop a run that keeps repeating the same turns with the same results.
    #[arg(long)]
    pub(crate) no_circle_guard: bool,
}

/// How hard the model should work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// Quick and cheap.
    Low,
    /// Balanced.
    Medium,
    /// Thorough.
    High,
    /// Very thorough.
    Xhigh,
    /// Maximum.
    Max,
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingArg {
    /// As much as the model sees fit.
    Adaptive,
    /// Off.
    Disabled,
}

/// `auto` is the window of the model, whatever it is.
fn parse_compaction_window(text: &str) -> Result<u64, String> {
    let tokens = match text.strip_suffix(['k', 'K']) {
        None if text == "auto" => Some(u64::MAX),
        None => text.parse().ok(),
        Some(digits) => digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1_000)),
    };
    let tokens = tokens.filter(|tokens| *tokens >= 100_000);
    tokens.ok_or_else(|| "give auto, or a number of tokens of at least 100000, such as 200k".into())
}

pub(super) fn parse_budget_usd(text: &str) -> Result<MicroUsd, String> {
    match parse_micro_dollars(text)? {
        0 => Err("must be more than 0".to_owned()),
        micros => Ok(MicroUsd(micros)),
    }
}

fn parse_prices(text: &str) -> Result<Prices, String> {
    let parts: Vec<u64> = text.split(',').map(parse_micro_dollars).collect::<Result<_, _>>()?;
    match *parts.as_slice() {
        [0, 0, ..] => Err("at least one price must be more than 0".to_owned()),
        [input, output] => Ok(model::build_prices(input, output)),
        [input, output, cache_write, cache_read] => {
            Ok(Prices { input, output, cache_write, cache_read })
        }
        _ => Err("give two prices, or four".to_owned()),
    }
}
