//! Refuses what a model cannot do before anything is sent, not after a round trip.
//!
//! Only what the table knows is checked. A model it does not know gets the benefit of the doubt: its
//! server will say.

use windlass_vocabulary::{Effort, ThinkingMode};

use super::{ChosenModel, ModelChain};
use crate::config::model::ThinkingSupport;
use windlass_host::command_error::CommandError;

#[derive(Clone, Copy, Debug)]
pub struct ModelRequirements {
    pub tools: bool,
    pub thinking: Option<ThinkingMode>,
    pub effort: Option<Effort>,
}

/// Refuses what one of them cannot do.
pub fn check_capabilities(
    model_chain: &ModelChain,
    requirements: ModelRequirements,
) -> Result<(), CommandError> {
    let refuse = |line: String| Err(CommandError::usage(line));
    for chosen in model_chain.primary_and_fallbacks() {
        let name = chosen.full_name();
        let model = chosen.model();
        if requirements.tools && model.tools == Some(false) {
            return refuse(format!(
                "{name} cannot call tools; {}",
                suggest_tool_alternative(chosen)
            ));
        }
        let is_always = model.thinking == Some(ThinkingSupport::Always);
        if requirements.thinking == Some(ThinkingMode::Disabled) && is_always {
            return refuse(format!(
                "{name} always thinks; leave out --thinking disabled, or use --effort low"
            ));
        }
        let is_never = model.thinking == Some(ThinkingSupport::None);
        if requirements.thinking == Some(ThinkingMode::Adaptive) && is_never {
            return refuse(format!(
                "{name} does not support thinking; leave out --thinking adaptive, or choose \
                 another --model"
            ));
        }
        if let (Some(effort), Some(known)) = (requirements.effort, &model.effort)
            && !known.contains(&effort)
        {
            let known: Vec<&str> = known.iter().map(|effort| effort.name()).collect();
            return refuse(match known.as_slice() {
                [] => format!("{name} does not support effort; leave out --effort"),
                known => format!(
                    "{name} does not support the effort `{}`; use one of {}",
                    effort.name(),
                    known.join(", ")
                ),
            });
        }
    }
    Ok(())
}

/// Thinking for a session: as it was asked for, or on where every model is known to be able to.
/// Without it some wires do not hand out reasoning to be sent back, and the model forgets between
/// two calls what it had thought of.
pub fn resolve_thinking_mode(
    model_chain: &ModelChain,
    requested: Option<ThinkingMode>,
) -> ThinkingMode {
    let thinks = |chosen: &ChosenModel| {
        matches!(chosen.model().thinking, Some(ThinkingSupport::Optional | ThinkingSupport::Always))
    };
    match requested {
        Some(mode) => mode,
        None if model_chain.all().all(thinks) => ThinkingMode::Adaptive,
        None => ThinkingMode::Unset,
    }
}

/// What to do about a model without tools. The same model may have them over another wire.
fn suggest_tool_alternative(chosen: &ChosenModel) -> String {
    let other = match chosen.provider.as_str() {
        "openai-chat" => format!("ask it as openai/{}", chosen.name),
        _ => "choose another --model".to_owned(),
    };
    format!("{other}, or ask without tools: --tools \"\"")
}
