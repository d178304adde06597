//! Variables that other agents know and scripts set: limits and waits. A flag goes before them. A value
//! that means nothing is left out with a warning: a run must not fail because of a variable that was
//! meant for another program.

use std::time::Duration;

use windlass_driver::ModelTimeouts;
use windlass_driver::engine_settings::Settings;
use windlass_host::environment::{self, EnvLookup};
use windlass_vocabulary::{ModelFacts, Tokens};

use crate::options::LimitOptions;

/// Reads variables and remembers what is wrong with them.
pub(crate) struct EnvironmentOverrides<'a, L> {
    lookup: &'a L,
    pub(crate) warnings: Vec<String>,
}

impl<'a, L: EnvLookup> EnvironmentOverrides<'a, L> {
    pub(crate) fn new(lookup: &'a L) -> Self {
        Self { lookup, warnings: Vec::new() }
    }

    /// The limits of a run, where no flag says anything.
    pub(crate) fn apply_limits(&mut self, settings: &mut Settings, flags: &LimitOptions) {
        let turns = self.read_number("CLAUDE_CODE_MAX_TURNS", 1);
        if let Some(turns) = turns.filter(|_| flags.max_turns.is_none()) {
            settings.limits.turns_max = u32::try_from(turns).unwrap_or(u32::MAX);
        }
        let retries = self.read_number("CLAUDE_CODE_MAX_RETRIES", 0);
        if let Some(retries) = retries.filter(|_| flags.max_retries.is_none()) {
            settings.limits.retries_max = u8::try_from(retries).unwrap_or(u8::MAX);
        }
        if let Some(calls) = self.read_number("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", 1) {
            settings.limits.tools_parallel_max = u8::try_from(calls).unwrap_or(u8::MAX);
        }
    }

    /// What models may write and read, of those that are asked in turns.
    pub(crate) fn apply_model_limits(&mut self, settings: &mut Settings) {
        let output = self.read_number("CLAUDE_CODE_MAX_OUTPUT_TOKENS", 1);
        let window = self.read_number("CLAUDE_CODE_MAX_CONTEXT_TOKENS", WINDOW_MIN);
        for model in std::iter::once(&mut settings.model).chain(&mut settings.fallbacks) {
            if let Some(output) = output {
                limit_output(model, output);
            }
            let room = model.output_default.0.min(model.output_max.0).saturating_add(WINDOW_MIN);
            match window {
                // An answer must still fit.
                Some(window) if window > room => model.window = Tokens(window),
                Some(window) => self.warnings.push(format!(
                    "CLAUDE_CODE_MAX_CONTEXT_TOKENS {window} leaves no room for an answer of {}, and \
                     is left out",
                    model.name
                )),
                None => {}
            }
        }
    }

    /// How long a model server may keep us waiting.
    pub(crate) fn build_timeouts(&mut self) -> ModelTimeouts {
        let mut timeouts = ModelTimeouts::default();
        if let Some(whole) = self.read_millis("API_TIMEOUT_MS") {
            timeouts.headers = whole;
            timeouts.connect = timeouts.connect.min(whole);
        }
        if let Some(idle) = self.read_millis("CLAUDE_STREAM_IDLE_TIMEOUT_MS") {
            timeouts.silence = idle;
            timeouts.event = idle;
            timeouts.pings = idle;
        }
        timeouts
    }

    fn read_millis(&mut self, name: &str) -> Option<Duration> {
        let millis = self.read_number(name, 1)?;
        Some(Duration::from_millis(millis).min(TIMEOUT_MAX))
    }

    fn read_number(&mut self, name: &str, least: u64) -> Option<u64> {
        let text = environment::read_variable(self.lookup, name).ok().flatten()?;
        let number = text.trim().parse().ok().filter(|number| *number >= least);
        if number.is_none() {
            self.warnings
                .push(format!("{name} is not a whole number of at least {least}, and is left out"));
        }
        number
    }
}

/// Sets what an answer may cost; what the model can write at most stays.
fn limit_output(model: &mut ModelFacts, output: u64) {
    model.output_max = Tokens(output).min(model.output_max);
    model.output_default = model.output_max;
}

/// Tokens that must be left besides an answer.
const WINDOW_MIN: u64 = 8_000;
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
