//! Rejects options that a model does not support before anything is sent.
//!
//! Only models in the table are checked. For unknown ones the server decides.

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

/// Fails if one of the models does not support an option.
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

/// The thinking mode of a session: as requested, else on if every model is known to support it.
/// Without it some wires return no reasoning to send back, and the model forgets its reasoning
/// between two calls.
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
