//! What can happen in a scenario: one line each, in the words of `scenarios/README.md`.
//!
//! Names of requests, calls and errands are kept as they are written; `play.rs` knows which
//! attempt or ticket they stand for.

use windlass_engine::Interrupt;
use windlass_vocabulary::{
    Answer, AttachmentKind, Block, Delta, HookPoint, HookReport, HookVerdict, Inspection, MetaKind,
    Millis, ModelFailure, ModelName, Origin, ResultPart, Stop, ToolCallId, ToolName, ToolOutcome,
    Usage,
};

use super::piece::{block, delta, failure, image, named, usage};

use super::setup::{Setup, dollars, mode};
use super::token::{Words, loose_text, split_head};

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A message is sent.
    User {
        /// What it says.
        content: Vec<Block>,
        /// It survives every context level.
        pinned: bool,
    },
    /// Somebody wants the run to end.
    Interrupt(Interrupt),
    /// Pieces of an answer arrive.
    Model {
        /// Of which request; the last one if not said.
        request: Option<usize>,
        /// In order.
        deltas: Vec<Delta>,
    },
    /// The answer is complete.
    ModelEnds {
        /// Of which request; the last one if not said.
        request: Option<usize>,
        /// Why it ended.
        stop: Stop,
        /// What it used.
        usage: Usage,
    },
    /// The call failed.
    ModelFails {
        /// Which request; the last one if not said.
        request: Option<usize>,
        /// Why.
        failure: ModelFailure,
    },
    /// A tool says how far it is.
    ToolSays(ToolCallId, String),
    /// A tool ended.
    ToolEnds(ToolCallId, ToolOutcome),
    /// A question was answered.
    Answered(ToolCallId, Answer, Option<Inspection>),
    /// Hooks have spoken about a call, or about the end of the run.
    Hook(HookPoint, Option<ToolCallId>, HookReport),
    /// A summary came back, or failed.
    Summary {
        /// Which one; the last one if not said.
        number: Option<usize>,
        /// The text, or why there is none.
        result: Result<String, ModelFailure>,
    },
    /// A label came back, or failed.
    Label(Result<String, ModelFailure>),
    /// A timer ran out; the last one if not said which.
    Timer(Option<usize>),
    /// Somebody wants the session to go on without a word.
    Resume,
    /// Somebody wants history compacted.
    Compact(Option<String>),
    /// Something to slip in is ready.
    Attachment(AttachmentKind, String),
    /// The last event is delivered a second time.
    Again,
    /// A message of a history that is to be normalised.
    Message {
        /// Where it comes from.
        origin: Origin,
        /// The model that wrote it.
        model: Option<ModelName>,
        /// What it says.
        content: Vec<Block>,
    },
    /// The messages so far go through the four steps.
    Normalize,
}

/// Reads one line.
pub(crate) fn read(line: &str, setup: &Setup) -> Result<Happening, String> {
    let (head, rest) = split_head(line);
    let mut words = Words::new(head)?;
    let subject = words.word("what happens")?;
    let rest_or = |what: &str| rest.ok_or_else(|| format!("{what} follows a colon"));
    let happening = match subject.as_str() {
        "user" => user(&mut words, rest_or("what the user says")?)?,
        "interrupt" => Happening::Interrupt(match words.next_word().as_deref() {
            None | Some("user") => Interrupt::User,
            Some("new_message") => Interrupt::NewMessage,
            Some("shutdown") => Interrupt::Shutdown,
            Some("crashed") => Interrupt::Crashed,
            Some(other) => return Err(format!("nobody interrupts because of `{other}`")),
        }),
        "model" => model(&mut words, rest, setup)?,
        "tool" => tool(&mut words, rest_or("what the tool says")?)?,
        "answer" => answer(&mut words)?,
        "hook" => hook(&mut words, setup)?,
        "summary" => {
            let number = ordinal(&mut words)?;
            Happening::Summary { number, result: text_or_failure(&mut words, rest)? }
        }
        "label" => Happening::Label(text_or_failure(&mut words, rest)?),
        "timer" => Happening::Timer(ordinal(&mut words)?),
        "attachment" => {
            let kind = attachment_kind(&words.word("what is attached")?)?;
            Happening::Attachment(kind, loose_text(rest_or("the text")?)?)
        }
        "compact" => Happening::Compact(rest.map(loose_text).transpose()?),
        "resume" => Happening::Resume,
        "again" => Happening::Again,
        "message" => message(&mut words, rest_or("what the message says")?, setup)?,
        "normalize" => Happening::Normalize,
        other => return Err(format!("nothing called `{other}` can happen")),
    };
    words.end()?;
    Ok(happening)
}

/// `user: …`, `user pinned: …`, `user image photo.png: …`
fn user(words: &mut Words, rest: &str) -> Result<Happening, String> {
    let pinned = words.accept("pinned");
    let mut content = vec![Block::Text(loose_text(rest)?)];
    while words.accept("image") {
        content.push(Block::Media(image(&words.word("an image's name")?)));
    }
    Ok(Happening::User { content, pinned })
}

fn model(words: &mut Words, rest: Option<&str>, setup: &Setup) -> Result<Happening, String> {
    let request = ordinal(words)?;
    if let Some(rest) = rest {
        let mut deltas = Vec::new();
        for mut piece in Words::new(rest)?.pieces() {
            delta(&mut piece, setup, &mut deltas)?;
            piece.end()?;
        }
        return Ok(Happening::Model { request, deltas });
    }
    match words.word("`ends` or `fails`")?.as_str() {
        "ends" => {
            let stop = named(&words.word("why it ends")?, "a stop reason")?;
            Ok(Happening::ModelEnds { request, stop, usage: usage(words)? })
        }
        "fails" => Ok(Happening::ModelFails { request, failure: failure(words)? }),
        other => Err(format!("a model `ends` or `fails`, it does not `{other}`")),
    }
}

/// `tool c1 ends: …`, `tool c1 fails: …`, `tool c1 says: …`
fn tool(words: &mut Words, rest: &str) -> Result<Happening, String> {
    let call = ToolCallId::from(words.word("a call's id")?.as_str());
    let verb = words.word("`ends`, `fails` or `says`")?;
    let text = loose_text(rest)?;
    let mut outcome = match verb.as_str() {
        "says" => return Ok(Happening::ToolSays(call, text)),
        "ends" => ToolOutcome::text(text),
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
            "spent" => outcome.spent = dollars(&words.word("an amount")?)?,
            "image" => {
                let media = image(&words.word("an image's name")?);
                outcome.content.push(ResultPart::Media(media));
            }
            "files" => outcome.files.push(words.word("a path")?.as_str().into()),
            "tasks" => {
                let update = outcome.update.get_or_insert_default();
                update.tasks = Some(words.text("the task list")?.into());
            }
            "directory" => {
                let update = outcome.update.get_or_insert_default();
                update.working_directory = Some(words.word("a path")?.as_str().into());
            }
            "mode" => {
                let update = outcome.update.get_or_insert_default();
                update.mode = Some(mode(&words.word("a mode")?)?);
            }
            other => return Err(format!("nothing comes of a tool that is called `{other}`")),
        }
    }
    Ok(Happening::ToolEnds(call, outcome))
}

/// `answer c1 allow [{…}] [remember "Rule"]`, `answer c1 deny [interrupt] "why"`
fn answer(words: &mut Words) -> Result<Happening, String> {
    let call = ToolCallId::from(words.word("a call's id")?.as_str());
    match words.word("`allow` or `deny`")?.as_str() {
        "allow" => {
            let updated_input = words.next_object();
            let inspection = updated_input.as_ref().map(|_| Inspection::EXCLUSIVE_EFFECT);
            let mut remember = Vec::new();
            while words.accept("remember") {
                remember.push(words.text("a rule")?);
            }
            let answer = Answer::Allow { updated_input, remember };
            Ok(Happening::Answered(call, answer, inspection))
        }
        "deny" => {
            let interrupt = words.accept("interrupt");
            let message = words.next_text().unwrap_or_else(|| "no".to_owned());
            Ok(Happening::Answered(call, Answer::Deny { message, interrupt }, None))
        }
        other => Err(format!("an answer is `allow` or `deny`, not `{other}`")),
    }
}

/// `hook pre c1 block "why" by guard context "…" input {…}`, `hook stop pass`
fn hook(words: &mut Words, setup: &Setup) -> Result<Happening, String> {
    let (point, has_call) = match words.word("when the hook ran")?.as_str() {
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
        true => Some(ToolCallId::from(words.word("a call's id")?.as_str())),
        false => None,
    };
    let verdict = match words.word("a verdict")?.as_str() {
        "pass" => HookVerdict::Pass,
        "allow" => HookVerdict::Allow,
        "ask" => HookVerdict::Ask(words.text("why")?),
        "defer" => HookVerdict::Defer(words.text("why")?),
        "block" => HookVerdict::Block(words.text("why")?),
        "halt" => HookVerdict::Halt(words.text("why")?),
        other => return Err(format!("a hook does not say `{other}`")),
    };
    let mut report = HookReport { verdict, name: "hook".to_owned(), ..HookReport::default() };
    while let Some(word) = words.next_word() {
        match word.as_str() {
            "by" => report.name = words.word("the hook's name")?,
            "context" => report.context.push(words.text("what it adds")?),
            "output" => report.output = Some(words.text("what the model sees instead")?),
            "input" => {
                let input = words.next_object().ok_or("a changed input is JSON")?;
                let mut inspection = Inspection::EXCLUSIVE_EFFECT;
                if words.accept("as") {
                    let name = words.word("a tool's name")?;
                    inspection = setup.inspect(&ToolName::from(name.as_str()));
                }
                if words.accept("invalid") {
                    inspection = Inspection::refused(words.text("what is wrong with it")?);
                }
                report.updated = Some((input, inspection));
            }
            other => return Err(format!("a hook's report has no `{other}`")),
        }
    }
    Ok(Happening::Hook(point, call, report))
}

/// `…: text` or `… fails kind`
fn text_or_failure(
    words: &mut Words,
    rest: Option<&str>,
) -> Result<Result<String, ModelFailure>, String> {
    match rest {
        Some(rest) => Ok(Ok(loose_text(rest)?)),
        None if words.accept("fails") => Ok(Err(failure(words)?)),
        None => Err("it has a text after a colon, or it `fails`".to_owned()),
    }
}

/// `message user: …`, `message assistant by opus: …`, `message results: …`
fn message(words: &mut Words, rest: &str, setup: &Setup) -> Result<Happening, String> {
    let origin = match words.word("where the message comes from")?.as_str() {
        "user" => Origin::User,
        "assistant" => Origin::Model,
        "results" => Origin::ToolResults,
        "display" => Origin::Display,
        "hook" => Origin::Hook,
        "summary" => Origin::Summary,
        "context" => Origin::Meta(MetaKind::Context),
        "resume" => Origin::Meta(MetaKind::Resume),
        other => Origin::Attachment(attachment_kind(other)?),
    };
    let mut model = (origin == Origin::Model).then(|| setup.settings.model.name.clone());
    if words.accept("by") {
        model = Some(ModelName::from(words.word("a model's name")?.as_str()));
    }
    let mut content = Vec::new();
    for mut piece in Words::new(rest)?.pieces() {
        content.push(block(&mut piece)?);
        piece.end()?;
    }
    Ok(Happening::Message { origin, model, content })
}

fn attachment_kind(word: &str) -> Result<AttachmentKind, String> {
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
fn ordinal(words: &mut Words) -> Result<Option<usize>, String> {
    match words.next_number() {
        None => Ok(None),
        Some(number) => usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .map(Some)
            .ok_or_else(|| "numbers are counted from 1".to_owned()),
    }
}
