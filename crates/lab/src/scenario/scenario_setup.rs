//! The `settings` of a scenario: one line, one setting.
//!
//! Everything has a default that makes for a quiet world: a roomy free model, two tools, no hooks,
//! no question asked.

use std::sync::Arc;

use windlass_engine::Settings;
use windlass_engine::settings::CircleGuard;
use windlass_permission::Rule;
use windlass_vocabulary::{
    Concurrency, EffectClass, Json, MicroUsd, Millis, ModelFacts, ModelName, PermissionMode,
    Prices, Tokens, ToolInspection, ToolName, ToolSpec,
};

use super::token_reader::{TokenReader, split_head};

#[derive(Clone, Debug)]
pub struct ScenarioSetup {
    pub settings: Settings,
    /// What the registry would say of each tool's calls.
    pub tools: Vec<(ToolName, ToolInspection)>,
    /// Notices that are usually left out and are wanted here.
    pub shown_notices: Vec<String>,
    /// The wire whose law normalisation follows, with changed limits.
    pub provider_rules: windlass_dialect::ProviderRules,
    /// What normalisation leaves out because the provider refused it before.
    pub without_reasoning: bool,
    is_default_tools: bool,
}

impl Default for ScenarioSetup {
    fn default() -> Self {
        let mut settings = Settings::new(ModelFacts {
            name: ModelName::from("model"),
            window: Tokens(100_000),
            output_default: Tokens(1_000),
            output_max: Tokens(1_000),
            prices: Prices::default(),
        });
        settings.policy.mode = PermissionMode::BypassPermissions;
        settings.policy.can_ask = true;
        settings.policy.directories = vec!["/w".into()];
        let mut setup = Self {
            settings,
            tools: Vec::new(),
            shown_notices: Vec::new(),
            provider_rules: windlass_dialect::provider_rules::ANTHROPIC_MESSAGES,
            without_reasoning: false,
            is_default_tools: true,
        };
        setup.add_tool("Bash", ToolInspection::EXCLUSIVE_EFFECT, 100_000);
        setup.add_tool("Read", ToolInspection::SHARED_READ, 100_000);
        setup
    }
}

impl ScenarioSetup {
    #[must_use]
    pub fn inspect(&self, name: &ToolName) -> ToolInspection {
        let known = self.tools.iter().find(|(tool, _)| tool == name);
        known.map_or_else(
            || ToolInspection::from_problem(format!("there is no tool called {name}")),
            |(_, inspection)| inspection.clone(),
        )
    }

    pub(crate) fn parse_line(&mut self, line: &str) -> Result<(), String> {
        if let (head, Some(text)) = split_head(line) {
            return self.parse_text_setting(head, text);
        }
        let mut words = TokenReader::new(line)?;
        let key = words.expect_word("a setting")?;
        let is_known = self.parse_model_setting(&key, &mut words)?
            || self.parse_limit_setting(&key, &mut words)?
            || self.parse_context_setting(&key, &mut words)?
            || self.parse_switch_setting(&key, &mut words)?
            || self.parse_provider_rule_setting(&key, &mut words)?;
        if !is_known {
            return Err(format!("there is no setting called `{key}`"));
        }
        words.expect_end()
    }

    fn parse_text_setting(&mut self, head: &str, text: &str) -> Result<(), String> {
        let settings = &mut self.settings;
        match head.split_once(' ') {
            None if head == "system" => settings.prompt.system_prompt = Arc::from(text),
            None if head == "user_context" => settings.prompt.user_context = Some(Arc::from(text)),
            Some(("system_context", key)) => {
                settings.prompt.system_context.push((key.to_owned(), text.to_owned()));
            }
            _ => return Err(format!("there is no setting called `{head}:`")),
        }
        Ok(())
    }

    fn parse_model_setting(&mut self, key: &str, words: &mut TokenReader) -> Result<bool, String> {
        match key {
            "model" => {
                self.settings.model.name = ModelName::from(words.expect_word("a name")?.as_str());
            }
            "window" => self.settings.model.window = parse_tokens(words)?,
            "output" => {
                self.settings.model.output_default = parse_tokens(words)?;
                let model = &mut self.settings.model;
                model.output_max = model.output_max.max(model.output_default);
            }
            "output_max" => self.settings.model.output_max = parse_tokens(words)?,
            "prices" => self.settings.model.prices = parse_prices(words)?,
            "fallback" => {
                let facts = self.parse_other_model(words)?;
                self.settings.fallbacks.push(facts);
            }
            "small" => self.settings.small_model = Some(self.parse_other_model(words)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A model like the main one but for its name and what is said after it.
    fn parse_other_model(&self, words: &mut TokenReader) -> Result<ModelFacts, String> {
        let mut facts = self.settings.model.clone();
        facts.name = ModelName::from(words.expect_word("a name")?.as_str());
        while let Some(key) = words.next_word() {
            match key.as_str() {
                "window" => facts.window = parse_tokens(words)?,
                "output" => facts.output_default = parse_tokens(words)?,
                "output_max" => facts.output_max = parse_tokens(words)?,
                "prices" => facts.prices = parse_prices(words)?,
                other => return Err(format!("a model has no `{other}`")),
            }
        }
        Ok(facts)
    }

    fn parse_limit_setting(&mut self, key: &str, words: &mut TokenReader) -> Result<bool, String> {
        let limits = &mut self.settings.limits;
        match key {
            "turns_max" => limits.turns_max = parse_small(words)?,
            "retries_max" => limits.retries_max = parse_small(words)?,
            "overloads_max" => limits.overloads_max = parse_small(words)?,
            "pauses_max" => limits.pauses_max = parse_small(words)?,
            "output_recoveries_max" => limits.output_recoveries_max = parse_small(words)?,
            "stop_blocks_max" => limits.stop_blocks_max = parse_small(words)?,
            "stop_same_max" => limits.stop_same_max = parse_small(words)?,
            "nudges_max" => limits.nudges_max = parse_small(words)?,
            "summary_failures_max" => limits.summary_failures_max = parse_small(words)?,
            "refills_max" => limits.refill.refills_max = parse_small(words)?,
            "refill_turns" => limits.refill.refill_turns = parse_small(words)?,
            "tools_parallel_max" => limits.tools_parallel_max = parse_small(words)?,
            "auto_compact" => limits.auto_compact = parse_switch(words)?,
            "reactive_compact" => limits.reactive_compact = parse_switch(words)?,
            "stop_hooks" => limits.stop_hooks = parse_switch(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn parse_context_setting(
        &mut self,
        key: &str,
        words: &mut TokenReader,
    ) -> Result<bool, String> {
        let context = &mut self.settings.context;
        match key {
            "message_result_bytes_max" => context.message_result_bytes_max = parse_small(words)?,
            "result_bytes_kept" => context.result_bytes_kept = parse_small(words)?,
            "turns_kept" => context.turns_kept = Some(parse_small(words)?),
            "microcompact_percent" => context.microcompact_percent = parse_small(words)?,
            "recent_turns" => context.recent_turns = parse_small(words)?,
            "cleared_by_provider" => {
                let name = words.expect_word("a model's name")?;
                context.cleared_by_provider.push(name.as_str().into());
            }
            "verbose_bytes" => context.verbose_bytes = parse_small(words)?,
            "collapse_percent" => context.collapse_percent = parse_small(words)?,
            "summary_tokens" => context.summary_tokens = parse_tokens(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn parse_switch_setting(&mut self, key: &str, words: &mut TokenReader) -> Result<bool, String> {
        let settings = &mut self.settings;
        match key {
            "tool" => self.parse_tool_setting(words)?,
            "mode" => settings.policy.mode = parse_mode(&words.expect_word("a mode")?)?,
            "nobody_to_ask" => settings.policy.can_ask = false,
            "allow" => settings.policy.rules.allow.push(parse_rule(words)?),
            "ask" => settings.policy.rules.ask.push(parse_rule(words)?),
            "deny" => settings.policy.rules.deny.push(parse_rule(words)?),
            "pre_tool_hooks" => settings.hooks.pre_tool_use = parse_switch(words)?,
            "can_defer" => settings.hooks.can_defer = parse_switch(words)?,
            "post_tool_hooks" => settings.hooks.post_tool_use = parse_switch(words)?,
            "pre_compact_hooks" => settings.hooks.pre_compact = parse_switch(words)?,
            "post_compact_hooks" => settings.hooks.post_compact = parse_switch(words)?,
            "post_tool_failure_hooks" => {
                settings.hooks.post_tool_use_failure = parse_switch(words)?;
            }
            "post_tool_batch_hooks" => settings.hooks.post_tool_batch = parse_switch(words)?,
            "stop_failure_hooks" => settings.hooks.stop_failure = parse_switch(words)?,
            "subagent" => settings.agent.is_subagent = parse_switch(words)?,
            "circle_guard" => settings.switches.circle_guard = parse_circle_guard(words)?,
            "batch_tools" => settings.switches.batch_tools = parse_switch(words)?,
            "tool_labels" => settings.switches.tool_labels = parse_switch(words)?,
            "prefetch" => settings.switches.prefetch = parse_switch(words)?,
            "budget_usd" => {
                settings.budget.budget_max = Some(parse_dollars(&words.expect_word("an amount")?)?);
            }
            "token_budget" => settings.budget.token_budget = Some(parse_tokens(words)?),
            "jitter_seed" => settings.retry.jitter_seed = words.expect_number("a seed")?,
            "wait_max" => settings.retry.wait_max = Millis(words.expect_number("milliseconds")?),
            "show" => self.shown_notices.push(words.expect_word("a notice")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `tool NAME shared|exclusive [idempotent] [spends] [result_bytes_max N]`
    fn parse_tool_setting(&mut self, words: &mut TokenReader) -> Result<(), String> {
        if self.is_default_tools {
            self.is_default_tools = false;
            self.tools.clear();
            self.settings.tools = Arc::from([]);
        }
        let name = words.expect_word("a tool's name")?;
        let mut inspection = match words.expect_word("`shared` or `exclusive`")?.as_str() {
            "shared" => ToolInspection::SHARED_READ,
            "exclusive" => ToolInspection::EXCLUSIVE_EFFECT,
            other => return Err(format!("a tool is `shared` or `exclusive`, not `{other}`")),
        };
        let mut bytes_max = 100_000;
        while let Some(word) = words.next_word() {
            match word.as_str() {
                "idempotent" => inspection.class = EffectClass::Idempotent,
                "pure" => inspection.class = EffectClass::Pure,
                "effect" => inspection.class = EffectClass::Effect,
                "spends" => inspection.spends = true,
                "result_bytes_max" => bytes_max = parse_small(words)?,
                other => return Err(format!("a tool has no `{other}`")),
            }
        }
        if inspection.concurrency == Concurrency::Shared && inspection.spends {
            inspection.class = EffectClass::Effect;
        }
        self.add_tool(&name, inspection, bytes_max);
        Ok(())
    }

    fn add_tool(&mut self, name: &str, inspection: ToolInspection, result_bytes_max: usize) {
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
    fn parse_provider_rule_setting(
        &mut self,
        key: &str,
        words: &mut TokenReader,
    ) -> Result<bool, String> {
        match key {
            "media_count_max" => self.provider_rules.media.count_max = parse_small(words)?,
            "media_count_batch" => self.provider_rules.media.count_batch = parse_small(words)?,
            "media_item_bytes_max" => {
                self.provider_rules.media.item_bytes_max = parse_small(words)?;
            }
            "media_total_bytes_max" => {
                self.provider_rules.media.total_bytes_max = parse_small(words)?;
            }
            "without_reasoning" => self.without_reasoning = parse_switch(words)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn parse_tokens(words: &mut TokenReader) -> Result<Tokens, String> {
    words.expect_number("a number of tokens").map(Tokens)
}

fn parse_small<T: TryFrom<u64>>(words: &mut TokenReader) -> Result<T, String> {
    let number = words.expect_number("a number")?;
    T::try_from(number).map_err(|_| format!("{number} is too large here"))
}

/// `on`, `off`, or nothing, which means on.
fn parse_switch(words: &mut TokenReader) -> Result<bool, String> {
    match words.next_word().as_deref() {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("`on` or `off`, not `{other}`")),
    }
}

fn parse_circle_guard(words: &mut TokenReader) -> Result<CircleGuard, String> {
    match words.expect_word("a way to count")?.as_str() {
        "calls" => Ok(CircleGuard::Calls),
        "turns" => Ok(CircleGuard::Turns),
        "off" => Ok(CircleGuard::Off),
        other => Err(format!("`calls`, `turns` or `off`, not `{other}`")),
    }
}

/// Micro-dollars per million tokens: input, output, and perhaps cache write and cache read.
fn parse_prices(words: &mut TokenReader) -> Result<Prices, String> {
    let input = words.expect_number("the price of input")?;
    let output = words.expect_number("the price of output")?;
    let cache_write = words.next_number().unwrap_or(input);
    let cache_read = words.next_number().unwrap_or(input);
    Ok(Prices { input, output, cache_write, cache_read })
}

/// `$1.50`, exactly.
pub(crate) fn parse_dollars(word: &str) -> Result<MicroUsd, String> {
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

pub(crate) fn parse_mode(word: &str) -> Result<PermissionMode, String> {
    match word {
        "default" => Ok(PermissionMode::Default),
        "accept_edits" => Ok(PermissionMode::AcceptEdits),
        "plan" => Ok(PermissionMode::Plan),
        "dont_ask" => Ok(PermissionMode::DontAsk),
        "bypass" => Ok(PermissionMode::BypassPermissions),
        other => Err(format!("there is no mode called `{other}`")),
    }
}

fn parse_rule(words: &mut TokenReader) -> Result<Rule, String> {
    let text = match words.next_text() {
        Some(text) => text,
        None => words.expect_word("a rule")?,
    };
    Rule::parse(&text).map_err(|error| error.to_string())
}
