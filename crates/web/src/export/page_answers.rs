//! Collects every response the page can request about one session and its agents, by request path.

use serde_json::{Value, json};

use super::redaction::ExportRedactor;
use super::{AGENT_LEVELS_MAX, AnswersByPath};
use crate::server::query::{QueryParameters, encode_percent};
use crate::view::{ITEMS_WINDOW, REASONS_WINDOW, answer};
use crate::viewer::{FoundSession, ViewFailure, Viewer, list_agent_journals};

pub(super) fn collect_page_answers(
    viewer: &Viewer,
    session: &FoundSession,
    redactor: &mut ExportRedactor,
) -> Result<Value, ViewFailure> {
    let mut collector =
        AnswerCollector { viewer, redactor, answers: AnswersByPath::new(), content_bytes: 0 };
    let mut hello = answer(viewer, &["hello"], &QueryParameters::default())?;
    if let Some(fields) = hello.as_object_mut() {
        fields.insert("export".to_owned(), Value::from(true));
        fields.insert("home".to_owned(), Value::Null);
    }
    collector.keep("/api/hello", hello);
    collector.add_session(session, AGENT_LEVELS_MAX)?;
    let overview = collector.answers.get(&format!("/api/sessions/{}", session.id));
    let row = overview.and_then(|overview| overview.get("session")).cloned().unwrap_or_default();
    let facets = json!({"projects": [], "models": [], "tools": [], "states": {}});
    let list = json!({"total": 1, "from": 0, "sessions": [row], "version": 0, "facets": facets});
    collector.answers.insert("/api/sessions".to_owned(), list);
    let AnswerCollector { redactor, mut answers, .. } = collector;
    answers.insert("redactions".to_owned(), redactor.to_json());
    Ok(Value::Object(answers))
}

struct AnswerCollector<'a> {
    viewer: &'a Viewer,
    redactor: &'a mut ExportRedactor,
    answers: AnswersByPath,
    /// Bytes of complete texts so far.
    content_bytes: usize,
}

impl AnswerCollector<'_> {
    fn add_session(&mut self, session: &FoundSession, levels: usize) -> Result<(), ViewFailure> {
        let Some(levels) = levels.checked_sub(1) else { return Ok(()) };
        let id = session.id.as_str();
        // Waits until the whole journal is traced, so that every response covers all of it.
        self.viewer.traces.open(&session.journal)?.wait_for_end()?;
        self.add(id, "", "")?;
        for part in ["timeline", "context", "requests", "replay", "diff"] {
            self.add(id, part, "")?;
        }
        self.add_windows(id, "why", REASONS_WINDOW)?;
        for items in self.add_windows(id, "items", ITEMS_WINDOW)? {
            self.add_details(id, &items)?;
        }
        for (name, _) in list_agent_journals(&session.journal) {
            let nested = self.viewer.find(&format!("{id}~{name}"))?;
            self.add_session(&nested, levels)?;
        }
        Ok(())
    }

    /// Adds all windows of a list. Returns them before redaction.
    fn add_windows(
        &mut self,
        id: &str,
        part: &str,
        window: usize,
    ) -> Result<Vec<Value>, ViewFailure> {
        let mut windows = Vec::new();
        for from in (0..WINDOWS_MAX).map(|place| place * window) {
            let found = self.add(id, part, &format!("from={from}&to={}", from + window))?;
            let total = found.get("total").and_then(Value::as_u64).unwrap_or(0);
            windows.push(found);
            if u64::try_from(from + window).unwrap_or(u64::MAX) >= total {
                break;
            }
        }
        Ok(windows)
    }

    /// Adds changes of calls, images, and complete texts up to the limit.
    fn add_details(&mut self, id: &str, items: &Value) -> Result<(), ViewFailure> {
        for item in items.get("items").and_then(Value::as_array).into_iter().flatten() {
            if item.get("changes").is_some_and(Value::is_object)
                && let Some(call) = item.get("call").and_then(Value::as_str)
            {
                self.add(id, "diff", &format!("call={}", encode_percent(call)))?;
            }
            let holders = [Some(item), item.get("result"), item.get("input_text")];
            for holder in holders.into_iter().flatten() {
                let seq = holder.get("text_seq").or_else(|| holder.get("seq"));
                let is_cut = holder.get("cut") == Some(&Value::Bool(true));
                let bytes = holder.get("bytes").and_then(Value::as_u64).unwrap_or(0);
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                if let (true, Some(seq)) = (is_cut, seq)
                    && self.content_bytes.saturating_add(bytes) <= CONTENT_BYTES_MAX
                {
                    self.content_bytes += bytes;
                    self.add_if_there(id, &format!("seq={seq}"));
                }
                for media in holder.get("media").and_then(Value::as_array).into_iter().flatten() {
                    let (Some(seq), Some(part)) = (media.get("seq"), media.get("part")) else {
                        continue;
                    };
                    self.add_if_there(id, &format!("seq={seq}&part={part}"));
                }
            }
        }
        Ok(())
    }

    /// If a complete text is missing, the page shows the cut one.
    fn add_if_there(&mut self, id: &str, query: &str) {
        let _ = self.add(id, "content", query);
    }

    fn add(&mut self, id: &str, part: &str, query: &str) -> Result<Value, ViewFailure> {
        let path: Vec<&str> = match part {
            "" => vec!["sessions", id],
            part => vec!["sessions", id, part],
        };
        let found = answer(self.viewer, &path, &QueryParameters::parse(query))?;
        let mark = if query.is_empty() { "" } else { "?" };
        let key = format!("/api/{}{mark}{query}", path.join("/"));
        self.keep(&key, found.clone());
        Ok(found)
    }

    fn keep(&mut self, key: &str, mut value: Value) {
        let is_media = value.get("data").is_some() && value.get("media_type").is_some();
        let place = key.strip_prefix("/api/").unwrap_or(key).to_owned();
        // Pictures are not looked into.
        let data = if is_media { value.get_mut("data").map(Value::take) } else { None };
        self.redactor.redact_value(&mut value, &place);
        if let (Some(data), Some(slot)) = (data, value.get_mut("data")) {
            *slot = data;
        }
        // A path names calls with the ids that a model's server gave them.
        let key = self.redactor.redact_text(key, &place);
        self.answers.insert(key, value);
    }
}

const WINDOWS_MAX: usize = 1_000;
/// Limit on the bytes of complete texts in one file.
const CONTENT_BYTES_MAX: usize = 32 << 20;
