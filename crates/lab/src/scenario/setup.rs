//! The `settings` of a scenario: one line, one setting.
//!
//! Everything has a default that makes for a quiet world: a roomy free model, two tools, no hooks,
//! no question asked.

use std::sync::Arc;

use windlass_engine::Settings;
use windlass_permission::Rule;
use windlass_vocabulary::{
    Concurrency, EffectClass, Inspection, Json, MicroUsd, Millis, Mode, ModelFacts, ModelName,
    Prices, Tokens, ToolName, ToolSpec,
};

use super::token::{Words, split_head};

/// The world of a scenario.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the engine is given.
    pub settings: Settings,
    /// What the registry would say of each tool's calls.
    pub tools: Vec<(ToolName, Inspection)>,
    /// Notices that are usually left out and are wanted here.
    pub shown: Vec<String>,
    /// The wire whose law normalisation follows, with changed limits.
    pub law: windlass_dialect::Law,
    /// What normalisation leaves out because the provider refused it before.
    pub without_reasoning: bool,
    is_default_tools: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let mut settings = Settings::new(ModelFacts {
            name: ModelName::from("model"),
            window: Tokens(100_000),
            output_default: Tokens(1_000),
            output_max: Tokens(1_000),
            prices: Prices::default(),
        });
        settings.policy.mode = Mode::BypassPermissions;
        settings.policy.can_ask = true;
        settings.policy.directories = vec!["/w".into()];
        let mut setup = Self {
            settings,
            tools: Vec::new(),
            shown: Vec::new(),
            law: windlass_dialect::law::ANTHROPIC_MESSAGES,
            without_reasoning: false,
            is_default_tools: true,
        };
        setup.offer("Bash", Inspection::EXCLUSIVE_EFFECT, 100_000);
        setup.offer("Read", Inspection::SHARED_READ, 100_000);
        setup
    }
}

impl Setup {
    /// What the registry would say of a call.
    #[must_use]
    pub fn inspect(&self, name: &ToolName) -> Inspection {
        let known = self.tools.iter().find(|(tool, _)| tool == name);
        known.map_or_else(
            || Inspection::refused(format!("there is no tool called {name}")),
            |(_, inspection)| inspection.clone(),
        )
    }

    /// Takes in one line.
    pub(crate) fn read(&mut self, line: &str) -> Result<(), String> {
        if let (head, Some(text)) = split_head(line) {
            return self.read_text(head, text);
        }
        let mut words = Words::new(line)?;
        let key = words.word("a setting")?;
        let is_known = self.read_model(&key, &mut words)?
            || self.read_limit(&key, &mut words)?
            || self.read_context(&key, &mut words)?
            || self.read_switch(&key, &mut words)?
            || self.read_law(&key, &mut words)?;
        if !is_known {
            return Err(format!("there is no setting called `{key}`"));
        }
        words.end()
    }

    /// Settings whose value is a sentence.
    fn read_text(&mut self, head: &str, text: &str) -> Result<(), String> {
        let settings = &mut self.settings;
        match head.split_once(' ') {
            None if head == "system" => settings.system_prompt = Arc::from(text),
            None if head == "user_context" => settings.user_context = Some(Arc::from(text)),
            Some(("system_context", key)) => {
                settings.system_context.push((key.to_owned(), text.to_owned()));
            }
            _ => return Err(format!("there is no setting called `{head}:`")),
        }
        Ok(())
    }

    fn read_model(&mut self, key: &str, words: &mut Words) -> Result<bool, String> {
        match key {
            "model" => self.settings.model.name = ModelName::from(words.word("a name")?.as_str()),
            "window" => self.settings.model.window = tokens(words)?,
            "output" => {
                self.settings.model.output_default = tokens(words)?;
                let model = &mut self.settings.model;
                model.output_max = model.output_max.max(model.output_default);
            }
            "output_max" => self.settings.model.output_max = tokens(words)?,
            "prices" => self.settings.model.prices = prices(words)?,
            "fallback" => {
                let facts = self.another(words)?;
                self.settings.fallbacks.push(facts);
            }
            "small" => self.settings.small_model = Some(self.another(words)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A model like the main one but for its name and what is said after it.
    fn another(&self, words: &mut Words) -> Result<ModelFacts, String> {
        let mut facts = self.settings.model.clone();
        facts.name = ModelName::from(words.word("a name")?.as_str());
        while let Some(key) = words.next_word() {
            match key.as_str() {
                "window" => facts.window = tokens(words)?,
                "output" => facts.output_default = tokens(words)?,
                "output_max" => facts.output_max = tokens(words)?,
                "prices" => facts.prices = prices(words)?,
                other => return Err(format!("a model has no `{other}`")),
            }
        }
        Ok(facts)
    }

    fn read_limit(&mut self, key: &str, words: &mut Words) -> Result<bool, String> {
        let limits = &mut self.settings.limits;
        match key {
            "turns_max" => limits.turns_max = small(words)?,
            "retries_max" => limits.retries_max = small(words)?,
            "overloads_max" => limits.overloads_max = small(words)?,
            "pauses_max" => limits.pauses_max = small(words)?,
            "output_recoveries_max" => limits.output_recoveries_max = small(words)?,
            "stop_blocks_max" => limits.stop_blocks_max = small(words)?,
            "stop_same_max" => limits.stop_same_max = small(words)?,
            "nudges_max" => limits.nudges_max = small(words)?,
            "summary_failures_max" => limits.summary_failures_max = small(words)?,
            "refills_max" => limits.refills_max = small(words)?,
            "refill_turns" => limits.refill_turns = small(words)?,
            "tools_parallel_max" => limits.tools_parallel_max = small(words)?,
            "auto_compact" => limits.auto_compact = switch(words)?,
            "reactive_compact" => limits.reactive_compact = switch(words)?,
            "stop_hooks" => limits.stop_hooks = switch(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_context(&mut self, key: &str, words: &mut Words) -> Result<bool, String> {
        let context = &mut self.settings.context;
        match key {
            "message_result_bytes_max" => context.message_result_bytes_max = small(words)?,
            "result_bytes_kept" => context.result_bytes_kept = small(words)?,
            "turns_kept" => context.turns_kept = Some(small(words)?),
            "microcompact_percent" => context.microcompact_percent = small(words)?,
            "recent_turns" => context.recent_turns = small(words)?,
            "cleared_by_provider" => {
                let name = words.word("a model's name")?;
                context.cleared_by_provider.push(name.as_str().into());
            }
            "verbose_bytes" => context.verbose_bytes = small(words)?,
            "collapse_percent" => context.collapse_percent = small(words)?,
            "summary_tokens" => context.summary_tokens = tokens(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_switch(&mut self, key: &str, words: &mut Words) -> Result<bool, String> {
        let settings = &mut self.settings;
        match key {
            "tool" => self.read_tool(words)?,
            "mode" => settings.policy.mode = mode(&words.word("a mode")?)?,
            "nobody_to_ask" => settings.policy.can_ask = false,
            "allow" => settings.policy.rules.allow.push(rule(words)?),
            "ask" => settings.policy.rules.ask.push(rule(words)?),
            "deny" => settings.policy.rules.deny.push(rule(words)?),
            "pre_tool_hooks" => settings.hooks.pre_tool_use = switch(words)?,
            "can_defer" => settings.hooks.can_defer = switch(words)?,
            "post_tool_hooks" => settings.hooks.post_tool_use = switch(words)?,
            "pre_compact_hooks" => settings.hooks.pre_compact = switch(words)?,
            "post_compact_hooks" => settings.hooks.post_compact = switch(words)?,
            "post_tool_failure_hooks" => settings.hooks.post_tool_use_failure = switch(words)?,
            "post_tool_batch_hooks" => settings.hooks.post_tool_batch = switch(words)?,
            "stop_failure_hooks" => settings.hooks.stop_failure = switch(words)?,
            "subagent" => settings.agent.is_subagent = switch(words)?,
            "batch_tools" => settings.batch_tools = switch(words)?,
            "tool_labels" => settings.tool_labels = switch(words)?,
            "prefetch" => settings.prefetch = switch(words)?,
            "budget_usd" => settings.budget_max = Some(dollars(&words.word("an amount")?)?),
            "token_budget" => settings.token_budget = Some(tokens(words)?),
            "jitter_seed" => settings.jitter_seed = words.number("a seed")?,
            "wait_max" => settings.wait_max = Millis(words.number("milliseconds")?),
            "show" => self.shown.push(words.word("a notice")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `tool NAME shared|exclusive [idempotent] [spends] [result_bytes_max N]`
    fn read_tool(&mut self, words: &mut Words) -> Result<(), String> {
        if self.is_default_tools {
            self.is_default_tools = false;
            self.tools.clear();
            self.settings.tools = Arc::from([]);
        }
        let name = words.word("a tool's name")?;
        let mut inspection = match words.word("`shared` or `exclusive`")?.as_str() {
            "shared" => Inspection::SHARED_READ,
            "exclusive" => Inspection::EXCLUSIVE_EFFECT,
            other => return Err(format!("a tool is `shared` or `exclusive`, not `{other}`")),
        };
        let mut bytes_max = 100_000;
        while let Some(word) = words.next_word() {
            match word.as_str() {
                "idempotent" => inspection.class = EffectClass::Idempotent,
                "pure" => inspection.class = EffectClass::Pure,
                "effect" => inspection.class = EffectClass::Effect,
                "spends" => inspection.spends = true,
                "result_bytes_max" => bytes_max = small(words)?,
                other => return Err(format!("a tool has no `{other}`")),
            }
        }
        if inspection.concurrency == Concurrency::Shared && inspection.spends {
            inspection.class = EffectClass::Effect;
        }
        self.offer(&name, inspection, bytes_max);
        Ok(())
    }

    fn offer(&mut self, name: &str, inspection: Inspection, result_bytes_max: usize) {
        let name = ToolName::from(name);
        let mut specs = self.settings.tools.to_vec();
        specs.push(ToolSpec {
            name: name.clone(),
            description: Arc::from(""),
            input_schema: Json::empty_object(),
            result_bytes_max,
        });
        self.settings.tools = Arc::from(specs);
        self.tools.push((name, inspection));
    }

    /// Limits of the provider's law, and what it refused before; for `normalize` alone.
    fn read_law(&mut self, key: &str, words: &mut Words) -> Result<bool, String> {
        match key {
            "media_count_max" => self.law.media_count_max = small(words)?,
            "media_count_batch" => self.law.media_count_batch = small(words)?,
            "media_item_bytes_max" => self.law.media_item_bytes_max = small(words)?,
            "media_total_bytes_max" => self.law.media_total_bytes_max = small(words)?,
            "without_reasoning" => self.without_reasoning = switch(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn tokens(words: &mut Words) -> Result<Tokens, String> {
    words.number("a number of tokens").map(Tokens)
}

fn small<T: TryFrom<u64>>(words: &mut Words) -> Result<T, String> {
    let number = words.number("a number")?;
    T::try_from(number).map_err(|_| format!("{number} is too large here"))
}

/// `on`, `off`, or nothing, which means on.
fn switch(words: &mut Words) -> Result<bool, String> {
    match words.next_word().as_deref() {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("`on` or `off`, not `{other}`")),
    }
}

/// Micro-dollars per million tokens: input, output, and perhaps cache write and cache read.
fn prices(words: &mut Words) -> Result<Prices, String> {
    let input = words.number("the price of input")?;
    let output = words.number("the price of output")?;
    let cache_write = words.next_number().unwrap_or(input);
    let cache_read = words.next_number().unwrap_or(input);
    Ok(Prices { input, output, cache_write, cache_read })
}

/// `$1.50`, exactly.
pub(crate) fn dollars(word: &str) -> Result<MicroUsd, String> {
    let fail = || format!("`{word}` is not an amount like $1.50");
    let amount = word.strip_prefix('$').ok_or_else(fail)?;
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    if part.len() > 6 {
        return Err(fail());
    }
    let whole: u64 = whole.parse().map_err(|_| fail())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| fail())?;
    Ok(MicroUsd(whole.saturating_mul(1_000_000).saturating_add(part)))
}

pub(crate) fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "default" => Ok(Mode::Default),
        "accept_edits" => Ok(Mode::AcceptEdits),
        "plan" => Ok(Mode::Plan),
        "dont_ask" => Ok(Mode::DontAsk),
        "bypass" => Ok(Mode::BypassPermissions),
        other => Err(format!("there is no mode called `{other}`")),
    }
}

fn rule(words: &mut Words) -> Result<Rule, String> {
    let text = match words.next_text() {
        Some(text) => text,
        None => words.word("a rule")?,
    };
    Rule::parse(&text).map_err(|error| error.to_string())
}
