//! The options in which continuations differ: model, effort and prompt.

use std::ffi::OsString;

use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;

use super::RaceOptions;

/// More would not help the user to choose.
const VARIANTS_MAX: usize = 8;
const LABEL_CHARS_MAX: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RaceVariant {
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) prompt: String,
    /// Whether the label includes the prompt, which it does if the prompts differ.
    pub(super) is_prompt_shown: bool,
}

impl RaceVariant {
    pub(super) fn label(&self) -> String {
        let prompt = Some(to_single_line(&self.prompt)).filter(|_| self.is_prompt_shown);
        let parts: Vec<String> =
            [self.model.clone(), self.effort.clone(), prompt].into_iter().flatten().collect();
        truncate_with_ellipsis(&parts.join(" "), LABEL_CHARS_MAX)
    }

    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![format!("--print={}", self.prompt).into()];
        arguments.extend(self.model.iter().map(|model| format!("--model={model}").into()));
        arguments.extend(self.effort.iter().map(|effort| format!("--effort={effort}").into()));
        arguments
    }
}

/// Every combination of the given models, efforts and prompts.
pub(super) fn list_variants(
    options: &RaceOptions,
    repeated: &str,
) -> Result<Vec<RaceVariant>, CommandError> {
    let or_none = |given: &[String]| match given.is_empty() {
        true => vec![None],
        false => given.iter().cloned().map(Some).collect(),
    };
    let prompts = match options.prompts.is_empty() {
        true => vec![repeated.to_owned()],
        false => options.prompts.clone(),
    };
    let is_prompt_shown = prompts.len() > 1;
    let mut variants = Vec::new();
    for model in or_none(&options.models) {
        for effort in or_none(&options.efforts) {
            for prompt in &prompts {
                let (model, effort, prompt) = (model.clone(), effort.clone(), prompt.clone());
                variants.push(RaceVariant { model, effort, prompt, is_prompt_shown });
            }
        }
    }
    match variants.len() {
        0 | 1 => Err(CommandError::usage(
            "a race needs at least two: give --models a,b, --efforts low,high or --prompt twice",
        )),
        count if count > VARIANTS_MAX => Err(CommandError::usage(format!(
            "these are {count} combinations; at most {VARIANTS_MAX} run side by side"
        ))),
        _ => Ok(variants),
    }
}
