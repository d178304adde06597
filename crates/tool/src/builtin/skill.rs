//! Loads a skill: the `SKILL.md` of a folder in the session's skill directories.
//!
//! A skill is looked up by name in the list of existing ones, never by a path built from the name.
//! Returns its text with the arguments inserted; nothing in it is run here.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::ToolInspection;

use crate::input::InputError;
use crate::skill_files::{SKILL_BYTES_MAX, SkillDefinition, load_skills};
use crate::tool::ToolCallContext;
use crate::tool_session_context::ToolSessionContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, build_outcome, run_blocking,
};

#[derive(Debug)]
pub(crate) struct SkillTool {
    description: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SkillInput {
    /// Its name.
    skill: String,
    /// What to use it on, if it takes anything.
    #[serde(default)]
    args: Option<String>,
}

const DESCRIPTION: &str = "Loads a skill: instructions for a kind of task. When a skill is named \
to you or fits the task, load it first, then follow it.";

/// Limits on the list of skills in the tool description, and on each skill's own description.
const LISTING_BYTES_MAX: usize = 2_000;
const DESCRIPTION_CHARS_MAX: usize = 200;
const ARGUMENTS_CHARS_MAX: usize = 10_000;
const ARGUMENTS_PLACEHOLDER: &str = "$ARGUMENTS";
const NAMES_SHOWN_MAX: usize = 60;
const NAME_CHARS_SHOWN_MAX: usize = 100;

impl SkillTool {
    /// The tool with the current skills. They are listed up to a limit; others can still be loaded
    /// by name.
    pub(crate) fn new(context: &ToolSessionContext) -> Self {
        let mut description = DESCRIPTION.to_owned();
        let room = description.len() + LISTING_BYTES_MAX;
        let known = load_model_skills(context);
        for (at, SkillDefinition { name, description: about, .. }) in known.iter().enumerate() {
            let about: String = about.chars().take(DESCRIPTION_CHARS_MAX).collect();
            let name: String = name.chars().take(NAME_CHARS_SHOWN_MAX).collect();
            let line = format!("\n- {name}: {about}");
            if description.len() + line.len() > room {
                description.push_str(&format!("\n- and {} more", known.len() - at));
                break;
            }
            description.push_str(&line);
        }
        Self { description }
    }
}

impl TypedTool for SkillTool {
    type Input = SkillInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "Skill",
            text: &self.description,
            result_bytes_max: SKILL_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &SkillInput) -> Result<ToolInspection, InputError> {
        if input.skill.trim().is_empty() {
            return Err(InputError::field("skill", "empty"));
        }
        if input.args.as_ref().is_some_and(|args| args.chars().count() > ARGUMENTS_CHARS_MAX) {
            return Err(InputError::field(
                "args",
                format!("more than {ARGUMENTS_CHARS_MAX} characters"),
            ));
        }
        Ok(ToolInspection::SHARED_READ)
    }

    fn run(&self, input: SkillInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_blocking(call, move |call| load_skill(&input, &call)))
    }
}

fn load_skill(input: &SkillInput, call: &ToolCallContext) -> TypedToolResult {
    // Users write `/name`, and models copy it.
    let wanted = input.skill.trim().trim_start_matches('/');
    let known = load_model_skills(&call.tool_context);
    let Some(found) = known.iter().find(|found| found.name == wanted) else {
        return Err(explain_unknown_skill(wanted, &known));
    };
    let args = input.args.as_deref().map(str::trim).unwrap_or_default();
    let body = fill_arguments(&found.body, args).ok_or_else(|| {
        format!("With its arguments the skill `{wanted}` has over {SKILL_BYTES_MAX} bytes.")
    })?;
    let folder = found.folder.display().to_string();
    let structured = json!({"skill": found.name, "folder": folder});
    let text = format!("The skill `{wanted}`, whose files are in {folder}:\n\n{body}");
    Ok(build_outcome(text, &structured))
}

/// All skills that the model may load. Of several with the same name, the first folder's is used.
fn load_model_skills(context: &ToolSessionContext) -> Vec<SkillDefinition> {
    let mut known =
        load_skills(&context.skill_directories, |path| context.hidden_paths.covers(path));
    known.retain(|skill| !skill.is_user_only);
    known
}

/// The body with the arguments inserted, or appended if it has no placeholder; `None` if that is
/// too long.
fn fill_arguments(body: &str, args: &str) -> Option<String> {
    let places = body.matches(ARGUMENTS_PLACEHOLDER).count();
    let long = places.saturating_mul(args.len()).saturating_add(body.len());
    if long > SKILL_BYTES_MAX {
        return None;
    }
    Some(match (places, args) {
        (0, "") => body.to_owned(),
        (0, args) => format!("{}\n\nARGUMENTS: {args}", body.trim_end()),
        (_, args) => body.replace(ARGUMENTS_PLACEHOLDER, args),
    })
}

fn explain_unknown_skill(wanted: &str, known: &[SkillDefinition]) -> String {
    let names: Vec<&str> =
        known.iter().map(|found| found.name.as_str()).take(NAMES_SHOWN_MAX).collect();
    let wanted: String = wanted.chars().take(NAME_CHARS_SHOWN_MAX).collect();
    match names.is_empty() {
        true => format!("There is no skill `{wanted}`. There are no skills at all."),
        false => format!("There is no skill `{wanted}`. There are: {}.", names.join(", ")),
    }
}
