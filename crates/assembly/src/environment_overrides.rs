//! Environment variables known from other agents: limits and timeouts. Flags take precedence. An
//! invalid value is ignored with a warning: a run must not fail because of a variable meant for
//! another program.

use std::path::Path;
use std::time::Duration;

use windlass_driver::ModelTimeouts;
use windlass_driver::engine_settings::Settings;
use windlass_host::environment::{self, EnvLookup};
use windlass_host::extra_certificates::load_extra_certificates;
use windlass_vocabulary::{ModelFacts, Tokens};

use crate::options::LimitOptions;
use crate::tool_context::{SHELL_VARIABLE, is_bash};

/// Reads variables, and records problems.
pub(crate) struct EnvironmentOverrides<'a, L> {
    lookup: &'a L,
    pub(crate) warnings: Vec<String>,
}

impl<'a, L: EnvLookup> EnvironmentOverrides<'a, L> {
    pub(crate) fn new(lookup: &'a L) -> Self {
        Self { lookup, warnings: Vec::new() }
    }

    /// The limits of a run that no flag sets.
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

    /// The output limits and windows of the models.
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

    /// Trusts additional certificates.
    pub(crate) fn trust_certificates(&mut self) {
        let trust = windlass_driver::trust_certificates;
        self.warnings.extend(load_extra_certificates(self.lookup, trust));
    }

    /// Warns about variables without effect, so that users do not rely on them.
    pub(crate) fn warn_of_unsupported(&mut self) {
        for (name, advice) in UNSUPPORTED_SWITCHES {
            if environment::is_switched_on(self.lookup, name) {
                self.warnings.push(format!("{name} has no effect: {advice}"));
            }
        }
        let shell = environment::read_variable(self.lookup, SHELL_VARIABLE).ok().flatten();
        if let Some(shell) = shell.filter(|shell| !is_bash(Path::new(shell))) {
            self.warnings.push(format!(
                "{SHELL_VARIABLE}={shell} has no effect: commands are read as bash reads them; give \
                 the absolute path of a bash"
            ));
        }
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

const CLOUD_ADVICE: &str =
    "this cloud is not supported; set ANTHROPIC_BASE_URL to a gateway for it";
/// Switches of other agents that nothing comes of, and what to do instead.
const UNSUPPORTED_SWITCHES: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", CLOUD_ADVICE),
    ("CLAUDE_CODE_USE_VERTEX", CLOUD_ADVICE),
    ("CLAUDE_CODE_USE_FOUNDRY", CLOUD_ADVICE),
];
/// The minimal window that must be left besides the answer.
const WINDOW_MIN: u64 = 8_000;
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
