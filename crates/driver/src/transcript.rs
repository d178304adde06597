//! The transcript that other programs read, written beside the journal.
//!
//! Behind the journal and never before it: what is written here is on record already, so that a
//! transcript that cannot be written is told and costs nothing else. One that lags behind, because a
//! process died or somebody deleted it, is completed when the session next says something.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_engine::{Effect, Settings};
use windlass_journal::transcript::{About, Transcribed, agent_path, lines};
use windlass_journal::{Entry, JournalError, Note, Transcriber, TranscriptFile};
use windlass_vocabulary::{AgentId, MessageId, ToolCallId};

use crate::clock;
use crate::notices::Teller;

/// Which transcript a session writes, and who hears of it.
#[derive(Clone, Default)]
pub struct Transcript {
    /// Where it is written; nowhere, if only somebody is to hear of it.
    pub path: Option<PathBuf>,
    /// What its lines say of the session.
    pub about: About,
    /// The session's name.
    pub title: Option<String>,
    /// Hears of every line right after it was written, and before the message it belongs to is told.
    pub heard: Option<Heard>,
    /// What is said of the agent whose transcript it is.
    meta: Option<Map<String, Value>>,
}

/// Hears of lines.
pub type Heard = Arc<dyn Fn(&Appended<'_>) + Send + Sync>;

/// Lines that were written.
#[derive(Clone, Copy, Debug)]
pub struct Appended<'a> {
    /// The file, if they were written to one.
    pub path: Option<&'a Path>,
    /// The agent whose they are, if they are not the session's own.
    pub agent: Option<&'a str>,
    /// The message they belong to; none for lines about the session.
    pub message: Option<MessageId>,
    /// What its lines are called, one for each block.
    pub uuids: &'a [String],
    /// The lines.
    pub lines: &'a [String],
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").field("path", &self.path).field("about", &self.about).finish()
    }
}

impl Transcript {
    /// At this place, of which nobody hears yet.
    #[must_use]
    pub fn new(path: Option<PathBuf>, about: About, title: Option<String>) -> Self {
        Self { path, about, title, heard: None, meta: None }
    }

    /// The transcript of an agent of this session.
    pub(crate) fn of_agent(&self, id: &AgentId, kind: &str, call: &ToolCallId) -> Self {
        let mut meta = Map::new();
        meta.insert("agentType".to_owned(), kind.into());
        meta.insert("toolUseId".to_owned(), call.as_str().into());
        if let Some(parent) = &self.about.agent {
            meta.insert("parentAgentId".to_owned(), parent.as_str().into());
        }
        let session = self.path.as_ref().map(|path| match &self.about.agent {
            // All agents of a session lie in one folder, whoever started them.
            Some(_) => path.parent().and_then(Path::parent).unwrap_or(path).with_extension("jsonl"),
            None => path.clone(),
        });
        Self {
            path: session.map(|session| agent_path(&session, id.as_str())),
            about: About { agent: Some(id.as_str().to_owned()), ..self.about.clone() },
            title: None,
            heard: self.heard.clone(),
            meta: Some(meta),
        }
    }
}

/// Who gave a session its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A person, or a program of theirs.
    Person,
    /// A model.
    Model,
}

/// Writes a transcript.
pub(crate) struct Pen {
    transcript: Transcript,
    transcriber: Transcriber,
    file: Option<TranscriptFile>,
    /// The journal it can be made anew from.
    journal: Option<(PathBuf, Arc<Settings>)>,
    /// It cannot be written, and that was told.
    is_broken: bool,
}

impl Pen {
    pub(crate) fn new(transcript: Option<Transcript>) -> Self {
        let transcript = transcript.unwrap_or_default();
        let mut transcriber = Transcriber::new(transcript.about.clone());
        // Until the session says something, it is only followed.
        transcriber.write(false);
        Self { transcript, transcriber, file: None, journal: None, is_broken: false }
    }

    /// The same before anything was said.
    pub(crate) fn anew(&self) -> Self {
        Self::new(Some(self.transcript.clone()))
    }

    /// Follows what was said before this process.
    pub(crate) fn replayed(&mut self, effects: &[Effect]) {
        self.transcriber.step(effects, 0);
    }

    /// Takes in what stands in the journal beside events.
    pub(crate) fn met(&mut self, entry: &Entry) {
        self.transcriber.meet(entry);
    }

    /// From now on something may be said.
    pub(crate) fn begin(&mut self, journal: Option<(PathBuf, Arc<Settings>)>) {
        let is_wanted = self.transcript.path.is_some() || self.transcript.heard.is_some();
        self.transcriber.write(is_wanted);
        self.journal = journal;
    }

    /// Takes in a note of this process.
    pub(crate) fn note(&mut self, note: &Note) {
        self.transcriber.note(note);
    }

    /// What messages are called that wait for the next tool boundary.
    pub(crate) fn waiting(&self) -> Vec<Option<String>> {
        self.transcriber.waiting().map(|name| name.map(str::to_owned)).collect()
    }

    /// Writes what one event led to.
    pub(crate) fn write(&mut self, effects: &[Effect], teller: &Teller) {
        let before = self.transcriber.last().map(str::to_owned);
        let done = self.transcriber.step(effects, clock::unix_millis());
        let is_end = effects.iter().any(|effect| matches!(effect, Effect::Finish(_)));
        if !done.is_empty()
            && let Err(error) = self.put(before.as_deref(), &done)
        {
            self.complain(teller, &error);
        }
        for Transcribed { message, uuids, lines } in &done {
            self.hear(Some(*message), uuids, lines);
        }
        if is_end && let Err(error) = self.put_title() {
            self.complain(teller, &error);
        }
    }

    fn put(&mut self, before: Option<&str>, done: &[Transcribed]) -> Result<(), JournalError> {
        let Some(path) = self.transcript.path.clone().filter(|_| !self.is_broken) else {
            return Ok(());
        };
        if let Some(file) = &mut self.file {
            return file
                .append(&done.iter().flat_map(|done| done.lines.clone()).collect::<Vec<_>>());
        }
        let mut file = TranscriptFile::open(&path)?;
        let tail = file.tail()?;
        let own: Vec<String> = done.iter().flat_map(|done| done.lines.clone()).collect();
        let is_whole = before.is_none_or(|uuid| tail.contains(uuid));
        let is_ended = tail.is_empty() || tail.ends_with('\n');
        match &self.journal {
            Some((journal, settings)) if !(is_whole && is_ended) => {
                let all = lines(journal, &self.transcript.about, settings)?;
                let mut missing = file.complete(&all)?;
                missing.retain(|line| !own.contains(line));
                self.hear(None, &[], &missing);
            }
            _ => file.append(&own)?,
        }
        self.file = Some(file);
        self.put_meta(&path)
    }

    /// Beside an agent's transcript lies who it is.
    fn put_meta(&self, path: &Path) -> Result<(), JournalError> {
        let Some(meta) = &self.transcript.meta else { return Ok(()) };
        windlass_journal::transcript::put_beside(path, &Value::from(meta.clone()).to_string())?;
        let mut entry = Map::new();
        entry.insert("type".to_owned(), "agent_metadata".into());
        entry.extend(meta.clone());
        self.hear(None, &[], &[Value::from(entry).to_string()]);
        Ok(())
    }

    /// Lists look for the name near the end.
    fn put_title(&mut self) -> Result<(), JournalError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let tail = file.tail()?;
        if let Some(title) = self.transcript.title.clone().filter(|_| !tail.contains(TITLE)) {
            let line = [self.transcriber.title(&title)];
            file.append(&line)?;
            self.hear(None, &[], &line);
        }
        Ok(())
    }

    /// The session has a name: a person's goes before a model's.
    pub(crate) fn title(&mut self, title: &str, whose: Whose, teller: &Teller) {
        let line = match whose {
            Whose::Person => self.transcriber.title(title),
            Whose::Model if self.transcript.title.is_some() => return,
            Whose::Model => {
                let session = &self.transcript.about.session;
                json!({ "type": "ai-title", "aiTitle": title, "sessionId": session }).to_string()
            }
        };
        if whose == Whose::Person {
            self.transcript.title = Some(title.to_owned());
        }
        let line = [line];
        // Before anything was said there is no file, and the name is written with its first lines.
        let Some(file) = &mut self.file else { return };
        match file.append(&line) {
            Ok(()) => self.hear(None, &[], &line),
            Err(error) => self.complain(teller, &error),
        }
    }

    fn hear(&self, message: Option<MessageId>, uuids: &[String], lines: &[String]) {
        let Some(heard) =
            self.transcript.heard.as_ref().filter(|_| message.is_some() || !lines.is_empty())
        else {
            return;
        };
        let path = self.transcript.path.as_deref().filter(|_| !self.is_broken);
        let agent = self.transcript.about.agent.as_deref();
        heard(&Appended { path, agent, message, uuids, lines });
    }

    fn complain(&mut self, teller: &Teller, error: &JournalError) {
        self.is_broken = true;
        self.file = None;
        teller.warn(format!(
            "the transcript for other programs is no longer written: {error}; the session itself \
             is kept"
        ));
    }
}

const TITLE: &str = r#""customTitle""#;
