//! The options about models, before the environment, settings and `config.toml` are consulted.

use windlass_vocabulary::{Effort, Prices, ThinkingMode};

/// Options of the command line or a client about models; `None` if not given.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// `provider/name`, a listed name, or a short name.
    pub model: Option<String>,
    pub fallback_model: Vec<String>,
    /// The model for summaries and other small work.
    pub small_model: Option<String>,
    pub effort: Option<Effort>,
    pub thinking: Option<ThinkingMode>,
    /// The price of a model that has none in the table.
    pub price: Option<Prices>,
}
