//! What the engine sends can be made legal for every provider, and without making up a result: the
//! engine's own pairing leaves the second step of normalisation nothing to do. Looked at in every
//! eighth request, because it is dear.

use windlass_dialect::normalize::normalize;
use windlass_dialect::provider_rules::{
    ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, ProviderRules,
};
use windlass_engine::Effect;

use super::StepView;

const ALL_PROVIDER_RULES: [ProviderRules; 4] =
    [ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI];
const CHECK_EVERY: u64 = 8;
/// What the second step says when it had to put calls and results together by itself.
const INVENTED_RESULT_NOTES: [&str; 2] = ["had no result", "was never called"];

#[derive(Debug, Default)]
pub(super) struct ProviderRulesChecker {
    requests: u64,
}

impl ProviderRulesChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        for effect in view.effects {
            let Effect::CallModel(request) = effect else {
                continue;
            };
            self.requests += 1;
            if !self.requests.is_multiple_of(CHECK_EVERY) {
                continue;
            }
            for rules in &ALL_PROVIDER_RULES {
                let (projection, notes) = normalize(request, rules);
                if let Some(breach) = rules.find_violations(&projection).first() {
                    return Err(format!("{:?}: {breach}", rules.wire));
                }
                let notes = notes.into_lines();
                let is_made_up =
                    |note: &&String| INVENTED_RESULT_NOTES.iter().any(|words| note.contains(words));
                if let Some(note) = notes.iter().find(is_made_up) {
                    return Err(format!("{:?}: {note}", rules.wire));
                }
            }
        }
        Ok(())
    }
}
