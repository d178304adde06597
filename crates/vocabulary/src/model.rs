//! What the loop knows of models: a name, limits, prices.

use core::fmt;
use serde::{Deserialize, Serialize};

use crate::id::text_id;
use crate::usage::{MicroUsd, Tokens, Usage};
use alloc::sync::Arc;

text_id!(
    /// A model's name, as its provider spells it.
    ModelName);

/// The wire formats, named after the wire and never after a company.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// `POST /v1/messages`.
    AnthropicMessages,
    /// `POST /v1/responses`.
    OpenaiResponses,
    /// `POST /v1/chat/completions`.
    OpenaiChat,
    /// `POST /v1beta/models/…:streamGenerateContent`.
    Gemini,
}

/// The facts about a model that the loop needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The provider's name for it.
    pub name: ModelName,
    /// Tokens of input and output together.
    pub window: Tokens,
    /// The default limit on an answer.
    pub output_default: Tokens,
    /// The largest possible limit on an answer.
    pub output_max: Tokens,
    /// What it costs.
    pub prices: Prices,
}

impl ModelFacts {
    /// A model with this name and cautious facts: a window of 128,000 tokens, answers of 8,000 and
    /// at most 16,000, no price. Set what you know of it.
    #[must_use]
    pub fn new(name: impl Into<ModelName>) -> Self {
        Self {
            name: name.into(),
            window: Tokens(128_000),
            output_default: Tokens(8_000),
            output_max: Tokens(16_000),
            prices: Prices::default(),
        }
    }
}

/// Micro-dollars per million tokens, so that money stays an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Fresh input.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
}

/// The reasoning effort of the model.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Short answers with little reasoning.
    Low,
    /// Less than the default.
    Medium,
    /// The usual default of providers.
    #[default]
    High,
    /// More than the default, where the provider offers it.
    Xhigh,
    /// The maximum of the provider.
    Max,
}

impl Effort {
    /// All efforts, lowest first.
    pub const ALL: &'static [Self] = &[Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Its name in settings, on the command line and on the wires.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// Whether the model reasons.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingMode {
    /// Not sent to the provider, so its default applies.
    #[default]
    Unset,
    /// The model decides how much.
    Adaptive,
    /// At most this many tokens, if the provider supports a limit; otherwise the model decides.
    Budget(Tokens),
    /// Off.
    Disabled,
}

impl ThinkingMode {
    /// Does the model reason?
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Adaptive | Self::Budget(_))
    }
}

impl Prices {
    /// The cost of this usage, rounded up so that a sum of rows is never below the bill.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> MicroUsd {
        let per_million = u128::from(usage.input.0) * u128::from(self.input)
            + u128::from(usage.output.0) * u128::from(self.output)
            + u128::from(usage.cache_write.0) * u128::from(self.cache_write)
            + u128::from(usage.cache_read.0) * u128::from(self.cache_read);
        MicroUsd(u64::try_from(per_million.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// The highest price of an input token.
    #[must_use]
    pub fn max_input_price(&self) -> u64 {
        self.input.max(self.cache_write).max(self.cache_read)
    }
}
