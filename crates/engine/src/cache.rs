//! What the provider's prompt cache should hold, and why it did not.
//!
//! Request N+1 begins with request N except at a named break. Here the break is named: by
//! comparing what is about to be sent with what was sent last. When the billed cache read falls
//! short of the prediction, the ledger says in one sentence why.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{MessageId, Messages, ModelRequest, Tokens, ToolSpec, Usage};

/// What was sent last, as far as the cache can hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    model: windlass_vocabulary::ModelName,
    system: Vec<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    messages: Messages,
    /// Input the provider counted for it; `None` while the bill is out or if it does not cache.
    cached: Option<Tokens>,
}

/// What the cache should give for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Input that should be read from the cache.
    pub read: Tokens,
    /// Where this request leaves the last one's path, if it does.
    pub named_break: Option<String>,
    /// The provider took something out before it counted.
    pub is_cleared: bool,
}

impl Prefix {
    /// Remembers a request that is about to go out.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        Self {
            model: request.model.clone(),
            system: request.system.clone(),
            tools: request.tools.clone(),
            messages: request.messages.clone(),
            cached: None,
        }
    }

    /// The provider has counted it.
    pub(crate) fn billed(&mut self, usage: &Usage) {
        let does_cache = usage.cache_read > Tokens(0) || usage.cache_write > Tokens(0);
        self.cached = does_cache.then(|| usage.cache_read + usage.cache_write);
    }

    /// What the cache should give for the next request.
    pub(crate) fn forecast(&self, next: &ModelRequest) -> Forecast {
        let Some(cached) = self.cached else { return Forecast::default() };
        let named_break = self.first_difference(next);
        let read = if named_break.is_none() { cached } else { Tokens(0) };
        Forecast { read, named_break, is_cleared: false }
    }

    /// Which part differs first, in the order in which providers hash: tools, system, messages.
    fn first_difference(&self, next: &ModelRequest) -> Option<String> {
        if self.model != next.model {
            return Some(format!("another model is asked: {} before {}", self.model, next.model));
        }
        if self.tools != next.tools {
            return Some(String::from("the tools on offer changed"));
        }
        if self.system != next.system {
            return Some(String::from("the system prompt changed"));
        }
        let same = self.messages.shared_prefix_len(&next.messages);
        self.messages.get(same).map(|old| named(old.id))
    }
}

fn named(id: MessageId) -> String {
    format!("message {id} is sent in another form than before: a context level shortened it")
}

/// Why a billed cache read fell short, in one sentence; `None` if it did not.
pub(crate) fn explain(forecast: &Forecast, usage: &Usage) -> Option<String> {
    if let Some(named_break) = &forecast.named_break {
        return Some(named_break.clone());
    }
    // Providers round to their own block sizes.
    let is_short = usage.cache_read.0.saturating_mul(10) < forecast.read.0.saturating_mul(9);
    is_short.then(|| {
        format!(
            "{} tokens were expected from the cache and {} came: the provider dropped the prefix, \
             or it expired",
            forecast.read.0, usage.cache_read.0
        )
    })
}
