//! Writes the transcript that other programs read, beside the journal.
//!
//! It is written after the journal, so everything in it is on record already: if the transcript
//! cannot be written, that is reported and nothing else fails. A transcript that lags behind,
//! because a process died or the file was deleted, is completed at the next write.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_engine::{Effect, Settings};
use windlass_journal::transcript::{
    TranscribedMessage, TranscriptContext, agent_transcript_path, render_transcript,
};
use windlass_journal::{JournalEntry, JournalError, JournalNote, Transcriber, TranscriptFile};
use windlass_vocabulary::{AgentId, MessageId, ToolCallId};

use crate::clock;
use crate::notices::NoticeSender;

/// The transcript that a session writes, and who is notified of its lines.
#[derive(Clone, Default)]
pub struct TranscriptConfig {
    /// The file; `None` if only the listener gets the lines.
    pub path: Option<PathBuf>,
    /// The session's data for the lines.
    pub about: TranscriptContext,
    /// The session's title.
    pub title: Option<String>,
    /// Called with every line right after it was written, before the notice of its message.
    pub listener: Option<TranscriptListener>,
    /// Metadata of the agent whose transcript it is.
    agent_metadata: Option<Map<String, Value>>,
}

/// Receives lines of the transcript.
pub type TranscriptListener = Arc<dyn Fn(&AppendedTranscriptLines<'_>) + Send + Sync>;

/// Lines that were written.
#[derive(Clone, Copy, Debug)]
pub struct AppendedTranscriptLines<'a> {
    /// The file, if they were written to one.
    pub path: Option<&'a Path>,
    /// The agent, if the lines are not the session's own.
    pub agent: Option<&'a str>,
    /// Their message; `None` for lines about the session.
    pub message: Option<MessageId>,
    /// The UUIDs of the message's blocks.
    pub uuids: &'a [String],
    /// One JSON object each.
    pub lines: &'a [String],
}

impl fmt::Debug for TranscriptConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").field("path", &self.path).field("about", &self.about).finish()
    }
}

impl TranscriptConfig {
    /// A transcript at this path, without a listener.
    #[must_use]
    pub fn new(path: Option<PathBuf>, about: TranscriptContext, title: Option<String>) -> Self {
        Self { path, about, title, listener: None, agent_metadata: None }
    }

    /// The transcript of an agent of this session.
    pub(crate) fn for_agent(&self, id: &AgentId, kind: &str, call: &ToolCallId) -> Self {
        let mut meta = Map::new();
        meta.insert("agentType".to_owned(), kind.into());
        meta.insert("toolUseId".to_owned(), call.as_str().into());
        if let Some(parent) = &self.about.agent {
            meta.insert("parentAgentId".to_owned(), parent.as_str().into());
        }
        let session = self.path.as_ref().map(|path| match &self.about.agent {
            // All agents of a session share one folder, whichever agent started them.
            Some(_) => path.parent().and_then(Path::parent).unwrap_or(path).with_extension("jsonl"),
            None => path.clone(),
        });
        Self {
            path: session.map(|session| agent_transcript_path(&session, id.as_str())),
            about: TranscriptContext { agent: Some(id.as_str().to_owned()), ..self.about.clone() },
            title: None,
            listener: self.listener.clone(),
            agent_metadata: Some(meta),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TitleSource {
    /// The user or a client.
    Person,
    Model,
}

pub(crate) struct SessionTranscriptWriter {
    config: TranscriptConfig,
    transcriber: Transcriber,
    file: Option<TranscriptFile>,
    /// The journal from which it can be rebuilt.
    journal: Option<(PathBuf, Arc<Settings>)>,
    /// It cannot be written, and that was reported.
    is_broken: bool,
}

impl SessionTranscriptWriter {
    pub(crate) fn new(transcript: Option<TranscriptConfig>) -> Self {
        let config = transcript.unwrap_or_default();
        let mut transcriber = Transcriber::new(config.about.clone());
        // Nothing is written before the session has a message.
        transcriber.set_writing(false);
        Self { config, transcriber, file: None, journal: None, is_broken: false }
    }

    pub(crate) fn clone_empty(&self) -> Self {
        Self::new(Some(self.config.clone()))
    }

    pub(crate) fn replay(&mut self, effects: &[Effect]) {
        self.transcriber.transcribe_effects(effects, 0);
    }

    /// Handles journal entries other than events.
    pub(crate) fn read_entry(&mut self, entry: &JournalEntry) {
        self.transcriber.observe_entry(entry);
    }

    pub(crate) fn begin_writing(&mut self, journal: Option<(PathBuf, Arc<Settings>)>) {
        let is_wanted = self.config.path.is_some() || self.config.listener.is_some();
        self.transcriber.set_writing(is_wanted);
        self.journal = journal;
    }

    pub(crate) fn add_note(&mut self, note: &JournalNote) {
        self.transcriber.observe_note(note);
    }

    /// The names of the messages queued for the next tool boundary.
    pub(crate) fn queued_names(&self) -> Vec<Option<String>> {
        self.transcriber.queued_names().map(|name| name.map(str::to_owned)).collect()
    }

    pub(crate) fn write(&mut self, effects: &[Effect], notice_sender: &NoticeSender) {
        let before = self.transcriber.last_uuid().map(str::to_owned);
        let done = self.transcriber.transcribe_effects(effects, clock::unix_millis());
        let is_end = effects.iter().any(|effect| matches!(effect, Effect::Finish(_)));
        if !done.is_empty()
            && let Err(error) = self.append(before.as_deref(), &done)
        {
            self.disable_with_warning(notice_sender, &error);
        }
        for TranscribedMessage { message, uuids, lines } in &done {
            self.notify_listener(Some(*message), uuids, lines);
        }
        if is_end && let Err(error) = self.append_title_if_missing() {
            self.disable_with_warning(notice_sender, &error);
        }
    }

    fn append(
        &mut self,
        before: Option<&str>,
        done: &[TranscribedMessage],
    ) -> Result<(), JournalError> {
        let Some(path) = self.config.path.clone().filter(|_| !self.is_broken) else {
            return Ok(());
        };
        if let Some(file) = &mut self.file {
            return file
                .append(&done.iter().flat_map(|done| done.lines.clone()).collect::<Vec<_>>());
        }
        let mut file = TranscriptFile::open(&path)?;
        let tail = file.read_tail()?;
        let own: Vec<String> = done.iter().flat_map(|done| done.lines.clone()).collect();
        let is_whole = before.is_none_or(|uuid| tail.contains(uuid));
        let is_ended = tail.is_empty() || tail.ends_with('\n');
        match &self.journal {
            Some((journal, settings)) if !(is_whole && is_ended) => {
                let all = render_transcript(journal, &self.config.about, settings)?;
                let mut missing = file.append_missing(&all)?;
                missing.retain(|line| !own.contains(line));
                self.notify_listener(None, &[], &missing);
            }
            _ => file.append(&own)?,
        }
        self.file = Some(file);
        self.write_agent_metadata(&path)
    }

    /// Writes a file beside an agent's transcript that describes the agent.
    fn write_agent_metadata(&self, path: &Path) -> Result<(), JournalError> {
        let Some(meta) = &self.config.agent_metadata else { return Ok(()) };
        windlass_journal::transcript::write_agent_metadata(
            path,
            &Value::from(meta.clone()).to_string(),
        )?;
        let mut entry = Map::new();
        entry.insert("type".to_owned(), "agent_metadata".into());
        entry.extend(meta.clone());
        self.notify_listener(None, &[], &[Value::from(entry).to_string()]);
        Ok(())
    }

    /// Session lists look for the title near the end of the file.
    fn append_title_if_missing(&mut self) -> Result<(), JournalError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let tail = file.read_tail()?;
        if let Some(title) = self.config.title.clone().filter(|_| !tail.contains(TITLE_FIELD)) {
            let line = [self.transcriber.render_title_line(&title)];
            file.append(&line)?;
            self.notify_listener(None, &[], &line);
        }
        Ok(())
    }

    /// Sets the title. A user's takes precedence over a model's.
    pub(crate) fn set_title(
        &mut self,
        title: &str,
        whose: TitleSource,
        notice_sender: &NoticeSender,
    ) {
        let line = match whose {
            TitleSource::Person => self.transcriber.render_title_line(title),
            TitleSource::Model if self.config.title.is_some() => return,
            TitleSource::Model => {
                let session = &self.config.about.session;
                json!({ "type": "ai-title", "aiTitle": title, "sessionId": session }).to_string()
            }
        };
        if whose == TitleSource::Person {
            self.config.title = Some(title.to_owned());
        }
        let line = [line];
        // Before the first message there is no file; the title is written with its first lines.
        let Some(file) = &mut self.file else { return };
        match file.append(&line) {
            Ok(()) => self.notify_listener(None, &[], &line),
            Err(error) => self.disable_with_warning(notice_sender, &error),
        }
    }

    fn notify_listener(&self, message: Option<MessageId>, uuids: &[String], lines: &[String]) {
        let Some(listener) =
            self.config.listener.as_ref().filter(|_| message.is_some() || !lines.is_empty())
        else {
            return;
        };
        let path = self.config.path.as_deref().filter(|_| !self.is_broken);
        let agent = self.config.about.agent.as_deref();
        listener(&AppendedTranscriptLines { path, agent, message, uuids, lines });
    }

    fn disable_with_warning(&mut self, notice_sender: &NoticeSender, error: &JournalError) {
        self.is_broken = true;
        self.file = None;
        notice_sender.warn(format!(
            "the transcript for other programs is no longer written: {error}; the session itself \
             is kept"
        ));
    }
}

const TITLE_FIELD: &str = r#""customTitle""#;
