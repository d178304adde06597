//! The events of scenarios: one line each, as described in `scenarios/README.md`.
//!
//! Names of requests, calls and errands are kept as they are written; `play.rs` knows which
//! attempt or ticket they stand for.

use windlass_engine::Interrupt;
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Delta, HookPoint, HookReport, HookVerdict, MessageOrigin,
    MetaKind, Millis, ModelFailure, ModelName, ModelStopReason, PermissionAnswer, ToolCallId,
    ToolInspection, ToolName, ToolOutcome, ToolResultPart, Usage,
};

use super::block_parser::{
    build_image, parse_block, parse_delta, parse_failure, parse_public_name, parse_usage,
};

use super::scenario_setup::{ScenarioSetup, parse_dollars, parse_mode};
use super::token_reader::{TokenReader, parse_loose_text, split_head};

#[derive(Clone, Debug)]
pub enum ScenarioEvent {
    User {
        content: Vec<ContentBlock>,
        pinned: bool,
    },
    Interrupt(Interrupt),
    Model {
        /// Of which request; the last one if not said.
        request: Option<usize>,
        deltas: Vec<Delta>,
    },
    ModelEnds {
        /// Of which request; the last one if not said.
        request: Option<usize>,
        stop: ModelStopReason,
        usage: Usage,
    },
    ModelFails {
        request: Option<usize>,
        failure: ModelFailure,
    },
    ToolSays(ToolCallId, String),
    ToolEnds(ToolCallId, ToolOutcome),
    Answered(ToolCallId, PermissionAnswer, Option<ToolInspection>),
    /// Hooks answered about a call, or about the end of the run.
    Hook(HookPoint, Option<ToolCallId>, HookReport),
    Summary {
        number: Option<usize>,
        result: Result<String, ModelFailure>,
    },
    Label(Result<String, ModelFailure>),
    /// A timer ran out; the last one if not said which.
    Timer(Option<usize>),
    /// The user wants the session to go on without a prompt.
    Resume,
    Compact(Option<String>),
    Attachment(AttachmentKind, String),
    RepeatLast,
    /// A message of a history that is to be normalised.
    Message {
        origin: MessageOrigin,
        model: Option<ModelName>,
        content: Vec<ContentBlock>,
    },
    /// The messages so far go through the four steps.
    Normalize,
}

pub(crate) fn parse_scenario_event(
    line: &str,
    setup: &ScenarioSetup,
) -> Result<ScenarioEvent, String> {
    let (head, rest) = split_head(line);
    let mut words = TokenReader::new(head)?;
    let subject = words.expect_word("what happens")?;
    let rest_or = |what: &str| rest.ok_or_else(|| format!("{what} follows a colon"));
    let happening = match subject.as_str() {
        "user" => parse_user(&mut words, rest_or("what the user says")?)?,
        "interrupt" => ScenarioEvent::Interrupt(match words.next_word().as_deref() {
            None | Some("user") => Interrupt::User,
            Some("new_message") => Interrupt::NewMessage,
            Some("shutdown") => Interrupt::Shutdown,
            Some("crashed") => Interrupt::Crashed,
            Some(other) => return Err(format!("there is no interrupt called `{other}`")),
        }),
        "model" => parse_model(&mut words, rest, setup)?,
        "tool" => parse_tool(&mut words, rest_or("what the tool says")?)?,
        "answer" => parse_answer(&mut words)?,
        "hook" => parse_hook(&mut words, setup)?,
        "summary" => {
            let number = parse_ordinal(&mut words)?;
            ScenarioEvent::Summary { number, result: parse_text_or_failure(&mut words, rest)? }
        }
        "label" => ScenarioEvent::Label(parse_text_or_failure(&mut words, rest)?),
        "timer" => ScenarioEvent::Timer(parse_ordinal(&mut words)?),
        "attachment" => {
            let kind = parse_attachment_kind(&words.expect_word("what is attached")?)?;
            ScenarioEvent::Attachment(kind, parse_loose_text(rest_or("the text")?)?)
        }
        "compact" => ScenarioEvent::Compact(rest.map(parse_loose_text).transpose()?),
        "resume" => ScenarioEvent::Resume,
        "again" => ScenarioEvent::RepeatLast,
        "message" => parse_message(&mut words, rest_or("what the message says")?, setup)?,
        "normalize" => ScenarioEvent::Normalize,
        other => return Err(format!("nothing called `{other}` can happen")),
    };
    words.expect_end()?;
    Ok(happening)
}

/// `user: …`, `user pinned: …`, `user image photo.png: …`
fn parse_user(words: &mut TokenReader, rest: &str) -> Result<ScenarioEvent, String> {
    let pinned = words.accept("pinned");
    let mut content = vec![ContentBlock::Text(parse_loose_text(rest)?)];
    while words.accept("image") {
        content.push(ContentBlock::Media(build_image(&words.expect_word("an image's name")?)));
    }
    Ok(ScenarioEvent::User { content, pinned })
}

fn parse_model(
    words: &mut TokenReader,
    rest: Option<&str>,
    setup: &ScenarioSetup,
) -> Result<ScenarioEvent, String> {
    let request = parse_ordinal(words)?;
    if let Some(rest) = rest {
        let mut deltas = Vec::new();
        for mut piece in TokenReader::new(rest)?.split_at_semicolons() {
            parse_delta(&mut piece, setup, &mut deltas)?;
            piece.expect_end()?;
        }
        return Ok(ScenarioEvent::Model { request, deltas });
    }
    match words.expect_word("`ends` or `fails`")?.as_str() {
        "ends" => {
            let stop = parse_public_name(&words.expect_word("why it ends")?, "a stop reason")?;
            Ok(ScenarioEvent::ModelEnds { request, stop, usage: parse_usage(words)? })
        }
        "fails" => Ok(ScenarioEvent::ModelFails { request, failure: parse_failure(words)? }),
        other => Err(format!("a model `ends` or `fails`, not `{other}`")),
    }
}

/// `tool c1 ends: …`, `tool c1 fails: …`, `tool c1 says: …`
fn parse_tool(words: &mut TokenReader, rest: &str) -> Result<ScenarioEvent, String> {
    let call = ToolCallId::from(words.expect_word("a call's id")?.as_str());
    let verb = words.expect_word("`ends`, `fails` or `says`")?;
    let text = parse_loose_text(rest)?;
    let mut outcome = match verb.as_str() {
        "says" => return Ok(ScenarioEvent::ToolSays(call, text)),
        "ends" => ToolOutcome::from_text(text),
        "fails" => ToolOutcome::failure(text),
        other => return Err(format!("a tool `ends`, `fails` or `says`, not `{other}`")),
    };
    while let Some(word) = words.next_word() {
        match word.as_str() {
            "changed" => outcome.changed_workspace = true,
            "took" => {
                let millis = words.next_number().ok_or("how long it took")?;
                outcome.took = Millis(millis);
            }
            "spent" => outcome.spent = parse_dollars(&words.expect_word("an amount")?)?,
            "image" => {
                let media = build_image(&words.expect_word("an image's name")?);
                outcome.content.push(ToolResultPart::Media(media));
            }
            "files" => outcome.files.push(words.expect_word("a path")?.as_str().into()),
            "tasks" => {
                let update = outcome.update.get_or_insert_default();
                update.tasks = Some(words.expect_text("the task list")?.into());
            }
            "directory" => {
                let update = outcome.update.get_or_insert_default();
                update.working_directory = Some(words.expect_word("a path")?.as_str().into());
            }
            "mode" => {
                let update = outcome.update.get_or_insert_default();
                update.mode = Some(parse_mode(&words.expect_word("a mode")?)?);
            }
            other => return Err(format!("a tool outcome has no `{other}`")),
        }
    }
    Ok(ScenarioEvent::ToolEnds(call, outcome))
}

/// `answer c1 allow [{…}] [remember "Rule"]`, `answer c1 deny [interrupt] "why"`
fn parse_answer(words: &mut TokenReader) -> Result<ScenarioEvent, String> {
    let call = ToolCallId::from(words.expect_word("a call's id")?.as_str());
    match words.expect_word("`allow` or `deny`")?.as_str() {
        "allow" => {
            let updated_input = words.next_object();
            let inspection = updated_input.as_ref().map(|_| ToolInspection::EXCLUSIVE_EFFECT);
            let mut remember = Vec::new();
            while words.accept("remember") {
                remember.push(words.expect_text("a rule")?);
            }
            let answer = PermissionAnswer::Allow { updated_input, remember };
            Ok(ScenarioEvent::Answered(call, answer, inspection))
        }
        "deny" => {
            let interrupt = words.accept("interrupt");
            let message = words.next_text().unwrap_or_else(|| "no".to_owned());
            Ok(ScenarioEvent::Answered(call, PermissionAnswer::Deny { message, interrupt }, None))
        }
        other => Err(format!("an answer is `allow` or `deny`, not `{other}`")),
    }
}

/// `hook pre c1 block "why" by guard context "…" input {…}`, `hook stop pass`
fn parse_hook(words: &mut TokenReader, setup: &ScenarioSetup) -> Result<ScenarioEvent, String> {
    let (point, has_call) = match words.expect_word("when the hook ran")?.as_str() {
        "pre" => (HookPoint::PreToolUse, true),
        "post" => (HookPoint::PostToolUse, true),
        "batch" => (HookPoint::PostToolBatch, false),
        "stop" => (HookPoint::Stop, false),
        "compact" => (HookPoint::PreCompact, false),
        other => {
            let all = "`pre`, `post`, `batch`, `stop` or `compact`";
            return Err(format!("a hook runs {all}, not `{other}`"));
        }
    };
    let call = match has_call {
        true => Some(ToolCallId::from(words.expect_word("a call's id")?.as_str())),
        false => None,
    };
    let verdict = match words.expect_word("a verdict")?.as_str() {
        "pass" => HookVerdict::Pass,
        "allow" => HookVerdict::Allow,
        "ask" => HookVerdict::Ask(words.expect_text("why")?),
        "defer" => HookVerdict::Defer(words.expect_text("why")?),
        "block" => HookVerdict::Block(words.expect_text("why")?),
        "halt" => HookVerdict::Halt(words.expect_text("why")?),
        other => return Err(format!("a hook has no verdict `{other}`")),
    };
    let mut report = HookReport { verdict, name: "hook".to_owned(), ..HookReport::default() };
    while let Some(word) = words.next_word() {
        match word.as_str() {
            "by" => report.name = words.expect_word("the hook's name")?,
            "context" => report.context.push(words.expect_text("what it adds")?),
            "output" => report.output = Some(words.expect_text("what the model sees instead")?),
            "input" => {
                let input = words.next_object().ok_or("a changed input is JSON")?;
                let mut inspection = ToolInspection::EXCLUSIVE_EFFECT;
                if words.accept("as") {
                    let name = words.expect_word("a tool's name")?;
                    inspection = setup.inspect(&ToolName::from(name.as_str()));
                }
                if words.accept("invalid") {
                    inspection =
                        ToolInspection::from_problem(words.expect_text("what is wrong with it")?);
                }
                report.updated = Some((input, inspection));
            }
            other => return Err(format!("a hook's report has no `{other}`")),
        }
    }
    Ok(ScenarioEvent::Hook(point, call, report))
}

/// `…: text` or `… fails kind`
fn parse_text_or_failure(
    words: &mut TokenReader,
    rest: Option<&str>,
) -> Result<Result<String, ModelFailure>, String> {
    match rest {
        Some(rest) => Ok(Ok(parse_loose_text(rest)?)),
        None if words.accept("fails") => Ok(Err(parse_failure(words)?)),
        None => Err("it has a text after a colon, or it `fails`".to_owned()),
    }
}

/// `message user: …`, `message assistant by opus: …`, `message results: …`
fn parse_message(
    words: &mut TokenReader,
    rest: &str,
    setup: &ScenarioSetup,
) -> Result<ScenarioEvent, String> {
    let origin = match words.expect_word("where the message comes from")?.as_str() {
        "user" => MessageOrigin::User,
        "assistant" => MessageOrigin::Model,
        "results" => MessageOrigin::ToolResults,
        "display" => MessageOrigin::Display,
        "hook" => MessageOrigin::Hook,
        "summary" => MessageOrigin::Summary,
        "context" => MessageOrigin::Meta(MetaKind::Context),
        "resume" => MessageOrigin::Meta(MetaKind::Resume),
        other => MessageOrigin::Attachment(parse_attachment_kind(other)?),
    };
    let mut model = (origin == MessageOrigin::Model).then(|| setup.settings.model.name.clone());
    if words.accept("by") {
        model = Some(ModelName::from(words.expect_word("a model's name")?.as_str()));
    }
    let mut content = Vec::new();
    for mut piece in TokenReader::new(rest)?.split_at_semicolons() {
        content.push(parse_block(&mut piece)?);
        piece.expect_end()?;
    }
    Ok(ScenarioEvent::Message { origin, model, content })
}

fn parse_attachment_kind(word: &str) -> Result<AttachmentKind, String> {
    match word {
        "queued_input" => Ok(AttachmentKind::QueuedInput),
        "changed_files" => Ok(AttachmentKind::ChangedFiles),
        "memory" => Ok(AttachmentKind::Memory),
        "skills" => Ok(AttachmentKind::Skills),
        "files_in_hand" => Ok(AttachmentKind::FilesInHand),
        "hook" => Ok(AttachmentKind::Hook),
        other => Err(format!("nothing called `{other}` is attached")),
    }
}

/// A number counted from 1, as an index counted from 0.
fn parse_ordinal(words: &mut TokenReader) -> Result<Option<usize>, String> {
    match words.next_number() {
        None => Ok(None),
        Some(number) => usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .map(Some)
            .ok_or_else(|| "numbers are counted from 1".to_owned()),
    }
}
