//! One session of a file store: its row, its messages and questions, and where its events are.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_host::random;

use super::file_question::{FileQuestion, UNKNOWN, WITHDRAWN};
use super::session_folder::FileSessionFolder;
use crate::postgres_journal_store::LOCAL_TENANT;
use crate::store::{
    AnsweredQuestion, BranchOutcome, ClaimEnd, HeldClaim, InboxMessage, NewAnswer, NewQuestion,
    NewSession, PATCH_BLOB, RETRY_MESSAGE, SessionChanges, SessionInbox, SessionMoney, SessionRow,
    SessionTimes, SessionTries, StoreError, to_i64,
};

/// What is in `session.json`, and an index of the events.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileSession {
    #[serde(skip, default = "no_folder")]
    pub(super) folder: FileSessionFolder,
    #[serde(skip)]
    events: Vec<EventPlace>,
    pub(super) state: String,
    pub(super) priority: i32,
    pub(super) spec: String,
    pub(super) provider: String,
    pub(super) batch: Option<String>,
    pub(super) base_commit: Option<String>,
    pub(super) is_cancelled: bool,
    pub(super) seq: u64,
    pub(super) cost_micro: u64,
    pub(super) claim: ClaimState,
    pub(super) about: SessionAbout,
    messages: Vec<FileMessage>,
    questions: Vec<FileQuestion>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ClaimState {
    pub(super) epoch: u64,
    pub(super) worker: Option<String>,
    pub(super) attempts: i32,
    #[serde(default)]
    retries: u32,
    /// In milliseconds since 1970.
    pub(super) wake_at: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionAbout {
    pub(super) created: u64,
    updated: u64,
    title: Option<String>,
    batch_row: Option<i32>,
    budget_micro: Option<u64>,
    reason: Option<String>,
    result: Option<String>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    branch_problem: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileMessage {
    uuid: String,
    content: String,
    sender: String,
    is_taken: bool,
}

/// A line of `events.jsonl`.
#[derive(Debug)]
struct EventPlace {
    uuid: Option<String>,
    start: u64,
    length: u64,
}

#[derive(Serialize, Deserialize)]
struct EventLine<'a> {
    uuid: Option<String>,
    #[serde(borrow)]
    frame: &'a RawValue,
}

fn no_folder() -> FileSessionFolder {
    FileSessionFolder::new(PathBuf::new())
}

impl FileSession {
    pub(super) fn new(new: &NewSession, provider: &str, folder: FileSessionFolder) -> Self {
        let (batch, batch_row) = new.batch.clone().unzip();
        let now = unix_millis();
        Self {
            folder,
            events: Vec::new(),
            state: "idle".to_owned(),
            priority: new.priority,
            spec: new.spec.clone(),
            provider: provider.to_owned(),
            batch,
            base_commit: None,
            is_cancelled: false,
            seq: 0,
            cost_micro: 0,
            claim: ClaimState::default(),
            about: SessionAbout {
                created: now,
                updated: now,
                title: new.title.clone(),
                batch_row,
                budget_micro: new.budget_micro,
                ..SessionAbout::default()
            },
            messages: Vec::new(),
            questions: Vec::new(),
        }
    }

    /// `None` if the folder has no session.
    pub(super) fn load(folder: FileSessionFolder) -> Result<Option<Self>, String> {
        let bytes = match folder.read_row() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let session: Self = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let mut session = Self { folder, ..session };
        let lines = session.folder.read_event_lines();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let uuid =
                serde_json::from_slice::<EventLine<'_>>(line).ok().and_then(|line| line.uuid);
            session.add_place(uuid, line.len());
        }
        Ok(Some(session))
    }

    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        self.about.updated = unix_millis();
        let bytes = serde_json::to_vec(&self)
            .map_err(|error| StoreError::Database(sqlx::Error::Io(std::io::Error::other(error))))?;
        self.folder.write_row(&bytes)
    }

    pub(super) fn is_held(&self, claim: HeldClaim<'_>) -> bool {
        self.claim.epoch == claim.epoch && self.claim.worker.as_deref() == Some(claim.worker)
    }

    pub(super) fn begin_claim(&mut self, worker: &str) {
        self.state = "running".to_owned();
        self.claim.epoch += 1;
        self.claim.attempts += 1;
        self.claim.worker = Some(worker.to_owned());
        self.about.reason = None;
    }

    /// The worker is gone: back into the queue.
    pub(super) fn take_back(&mut self) {
        if self.state != "running" {
            return;
        }
        self.claim.worker = None;
        self.claim.epoch += 1;
        self.state = if self.is_cancelled { "cancelled" } else { "queued" }.to_owned();
    }

    pub(super) fn end_claim(&mut self, end: &ClaimEnd) {
        // A message that came while the session ended is not forgotten.
        let is_wanted = self.messages.iter().any(|message| !message.is_taken);
        self.state = match end.state {
            "done" | "failed" if is_wanted => "queued",
            state => state,
        }
        .to_owned();
        self.claim.worker = None;
        self.about.reason = end.reason.clone();
        if end.result.is_some() {
            self.about.result = end.result.clone();
        }
        if end.is_orderly {
            self.claim.attempts = 0;
        }
        let wake_after = u64::try_from(end.wake_after.as_millis()).unwrap_or(0);
        self.claim.wake_at = unix_millis() + wake_after;
        if let Some(sent) = &end.asks {
            let is_new = |one: &FileMessage| !one.is_taken && !sent.contains(&one.uuid);
            let own = || self.questions.iter().filter(|one| one.epoch == self.claim.epoch);
            let is_due = self.is_cancelled
                || own().any(FileQuestion::has_pending_answer)
                || !own().any(FileQuestion::is_open)
                || self.messages.iter().any(is_new);
            self.claim.wake_at = if is_due { 0 } else { NEVER };
        }
        // In the queue, the next claim asks again.
        if self.state != "queued" {
            self.questions.retain(FileQuestion::has_answer);
            self.questions.iter_mut().for_each(|question| question.close(UNKNOWN));
        }
    }

    /// Ends a claim after a failure of the provider: the session goes on later with a message of
    /// ours, unless that was tried often enough.
    pub(super) fn retry(&mut self, end: &ClaimEnd, retries_max: u32) {
        if self.is_cancelled || self.claim.retries >= retries_max {
            return self.end_claim(&ClaimEnd { wake_after: Duration::ZERO, ..end.clone() });
        }
        let wake_after = (end.wake_after * 2u32.saturating_pow(self.claim.retries)).min(RETRY_MAX);
        self.claim.retries += 1;
        if self.messages.iter().all(|message| message.is_taken) {
            self.add_message(&random::generate_uuid(), RETRY_MESSAGE, "windlass");
        }
        let words = end.reason.as_deref().unwrap_or_default();
        let (retries, seconds) = (self.claim.retries, wake_after.as_secs());
        let reason = Some(format!(
            "{words}: its provider failed; retry {retries} of {retries_max} in {seconds} seconds"
        ));
        self.end_claim(&ClaimEnd {
            state: "queued",
            reason,
            result: None,
            wake_after,
            ..end.clone()
        });
    }

    pub(super) fn cancel(&mut self) {
        self.is_cancelled = true;
        if matches!(self.state.as_str(), "queued" | "idle" | "parked") {
            self.state = "cancelled".to_owned();
            self.about.reason = Some("cancelled".to_owned());
        }
    }

    /// Adds a message, and queues a session that has ended. The same message again is no other one.
    pub(super) fn add_message(&mut self, uuid: &str, content: &str, sender: &str) -> i64 {
        let known = self.messages.iter().position(|message| message.uuid == uuid);
        let place = known.unwrap_or(self.messages.len());
        if known.is_none() {
            self.messages.push(FileMessage {
                uuid: uuid.to_owned(),
                content: content.to_owned(),
                sender: sender.to_owned(),
                is_taken: false,
            });
            if !matches!(self.state.as_str(), "queued" | "running") {
                self.state = "queued".to_owned();
                self.is_cancelled = false;
                self.claim.attempts = 0;
                self.claim.retries = 0;
                self.claim.wake_at = 0;
                self.about.reason = None;
            }
            self.wake();
        }
        i64::try_from(place + 1).unwrap_or(i64::MAX)
    }

    pub(super) fn take_messages(&mut self, uuids: &[String]) {
        for message in &mut self.messages {
            message.is_taken |= uuids.contains(&message.uuid);
        }
    }

    pub(super) fn read_inbox(&self, epoch: u64) -> SessionInbox {
        let pending = self.messages.iter().filter(|message| !message.is_taken);
        let messages = pending.map(|message| InboxMessage {
            uuid: message.uuid.clone(),
            content: message.content.clone(),
        });
        let answers = self.questions.iter().filter_map(|question| question.to_pending(epoch));
        SessionInbox {
            messages: messages.collect(),
            answers: answers.collect(),
            is_cancelled: self.is_cancelled,
        }
    }

    /// Adds a question, or takes over the one that an earlier claim asked about the same call.
    pub(super) fn add_question(&mut self, epoch: u64, new: NewQuestion<'_>) {
        let is_same = |one: &&mut FileQuestion| one.is_about(new.call) && one.epoch < epoch;
        match self.questions.iter_mut().find(is_same) {
            Some(same) => same.take_over(epoch, new),
            None => self.questions.push(FileQuestion::new(epoch, new)),
        }
    }

    pub(super) fn close_question(&mut self, request: &str, outcome: Option<&str>) {
        if outcome.is_none() {
            self.questions.retain(|one| one.request != request || one.has_answer());
        }
        for question in self.questions.iter_mut().filter(|one| one.request == request) {
            question.close(outcome.unwrap_or(WITHDRAWN));
        }
    }

    pub(super) fn list_questions(&self) -> Vec<(String, String)> {
        let open = self.questions.iter().filter(|one| self.is_answerable(one));
        open.map(|one| (one.request.clone(), one.body.clone())).collect()
    }

    pub(super) fn list_answers(&self) -> Vec<AnsweredQuestion> {
        self.questions.iter().filter_map(FileQuestion::to_answered).collect()
    }

    /// Answers an open question. Returns whether there is one.
    pub(super) fn answer_question(&mut self, answer: NewAnswer<'_>) -> bool {
        let open = self.questions.iter().position(|one| one.request == answer.request);
        let open = open
            .filter(|place| self.questions.get(*place).is_some_and(|it| self.is_answerable(it)));
        let Some(question) = open.and_then(|place| self.questions.get_mut(place)) else {
            return false;
        };
        question.set_answer(answer, unix_millis());
        self.wake();
        true
    }

    /// Whether the question is open, and of the claim that holds the session if one does.
    fn is_answerable(&self, question: &FileQuestion) -> bool {
        let is_current = match self.state.as_str() {
            "queued" => true,
            "running" => question.epoch == self.claim.epoch,
            _ => false,
        };
        is_current && question.is_open()
    }

    pub(super) fn set_branch(&mut self, outcome: &BranchOutcome) {
        match outcome {
            BranchOutcome::Pushed { branch, .. } => {
                self.about.branch = Some(branch.clone());
                self.about.branch_problem = None;
            }
            BranchOutcome::Refused(problem) => self.about.branch_problem = Some(problem.clone()),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "running")
    }

    /// Something came that a session in the queue waited for.
    fn wake(&mut self) {
        if self.state == "queued" && self.claim.wake_at == NEVER {
            self.claim.wake_at = 0;
            self.about.reason = None;
        }
    }

    /// Adds a frame, unless one with its id is there.
    /// Returns the event's number.
    pub(super) fn add_event(&mut self, uuid: Option<&str>, frame: &str) -> Result<u64, StoreError> {
        let known = self.events.iter().position(|event| event.uuid.as_deref() == uuid);
        if let Some(known) = known.filter(|_| uuid.is_some()) {
            return Ok(known as u64 + 1);
        }
        let invalid = |error: serde_json::Error| StoreError::Invalid(error.to_string());
        let frame: &RawValue = serde_json::from_str(frame).map_err(invalid)?;
        let line = EventLine { uuid: uuid.map(str::to_owned), frame };
        let mut bytes = serde_json::to_vec(&line).map_err(invalid)?;
        bytes.push(b'\n');
        self.folder.append_event(&bytes)?;
        self.add_place(uuid.map(str::to_owned), bytes.len());
        Ok(self.events.len() as u64)
    }

    fn add_place(&mut self, uuid: Option<String>, length: usize) {
        let start = self.events.last().map_or(0, |last| last.start + last.length);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.events.push(EventPlace { uuid, start, length });
    }

    /// Frames after number `after`, oldest first; numbers begin at 1.
    pub(super) fn read_events(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        let wanted = self.events.iter().skip(skipped).take(usize::try_from(limit).unwrap_or(0));
        let wanted: Vec<&EventPlace> = wanted.collect();
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
            return Ok(Vec::new());
        };
        let length = last.start + last.length - first.start;
        let bytes = self.folder.read_event_part(first.start, length)?;
        let mut found = Vec::new();
        for (number, line) in (after + 1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if let Ok(line) = serde_json::from_slice::<EventLine<'_>>(line) {
                found.push((number, line.frame.get().to_owned()));
            }
        }
        Ok(found)
    }

    pub(super) fn list_event_ids(&self) -> Vec<String> {
        self.events.iter().filter_map(|event| event.uuid.clone()).collect()
    }

    pub(super) fn to_row(&self, id: &str) -> SessionRow {
        let Self { claim, about, .. } = self;
        SessionRow {
            id: id.to_owned(),
            tenant: LOCAL_TENANT.to_owned(),
            state: self.state.clone(),
            title: about.title.clone(),
            batch: self.batch.clone(),
            batch_row: about.batch_row,
            worker: claim.worker.clone(),
            tries: SessionTries {
                attempts: claim.attempts,
                retries: i32::try_from(claim.retries).unwrap_or(i32::MAX),
            },
            epoch: to_i64(claim.epoch),
            seq: to_i64(self.seq),
            money: SessionMoney {
                cost_micro: to_i64(self.cost_micro),
                budget_micro: about.budget_micro.map(to_i64),
            },
            reason: about.reason.clone(),
            result: about.result.clone(),
            changes: SessionChanges {
                has_patch: self.folder.has_blob(PATCH_BLOB),
                branch: about.branch.clone(),
                branch_problem: about.branch_problem.clone(),
            },
            times: SessionTimes {
                created_millis: to_i64(about.created),
                updated_millis: to_i64(about.updated),
            },
        }
    }
}

pub(super) fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

const RETRY_MAX: Duration = Duration::from_secs(3600);
/// The wake time of a session that waits for an answer.
const NEVER: u64 = u64::MAX;
