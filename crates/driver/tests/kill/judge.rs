//! The outside judge: reads the bytes of a journal and a log that tools wrote, by the words of
//! `docs/wire/journal.md` alone and with none of our code, and says whether what was promised was
//! kept. How a session came to its end is not its business.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What a journal says, read so far.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    /// Bytes of whole lines that were read.
    read: usize,
    seq: u64,
    /// What users said.
    said: BTreeSet<String>,
    /// Intents: the call of a ticket.
    intents: BTreeMap<u64, String>,
    /// Calls whose end was written down, and whether it was an error.
    ended: BTreeMap<String, bool>,
    /// Lines of the log that were looked at.
    logged: BTreeSet<String>,
    log_read: usize,
    /// The messages of the last request.
    before: Vec<Value>,
    /// Calls that were told as of unknown outcome.
    pub(crate) unknown: BTreeSet<String>,
    /// How the last run ended, unless something was submitted or asked of the model since.
    pub(crate) run_end: Option<String>,
    /// Ends of the file that were torn.
    pub(crate) torn: u64,
}

impl Judge {
    /// Reads what was added to the journal. Whole lines must be as they were written, in order and
    /// without a gap; an end without its line's end was torn.
    pub(crate) fn journal(&mut self, bytes: &[u8]) {
        assert!(bytes.len() >= self.read, "what was acknowledged is gone");
        let mut rest = &bytes[self.read..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let record = unframed(&rest[..end]);
            self.record(&record);
            self.read += end + 1;
            rest = &rest[end + 1..];
        }
        self.torn += u64::from(!rest.is_empty());
    }

    fn record(&mut self, record: &Value) {
        let Some(items) = record["items"].as_array() else { return };
        let seq = record["seq"].as_u64().expect("a number");
        assert_eq!(seq, self.seq + 1, "a gap, or a record twice");
        self.seq += items.len() as u64;
        for item in items {
            let event = &item["event"];
            if let Some(terminal) = item["note"]["ended"]["terminal"].as_str() {
                self.run_end = Some(terminal.to_owned());
            } else if ["UserSubmitted", "ModelStarted"].iter().any(|name| event[name].is_object()) {
                self.run_end = None;
            }
            for block in event["UserSubmitted"]["content"].as_array().into_iter().flatten() {
                self.said.extend(block["Text"].as_str().map(str::to_owned));
            }
            let intent = &item["note"]["intended"];
            if let Some(ticket) = intent["ticket"].as_u64() {
                let call = intent["call"].as_str().expect("an id").to_owned();
                self.intents.insert(ticket, call);
            }
            let end = &event["ToolEnded"];
            if let Some(call) = end["ticket"].as_u64().and_then(|ticket| self.intents.get(&ticket))
            {
                let is_error = end["outcome"]["is_error"] == true;
                let twice = self.ended.insert(call.clone(), is_error);
                assert_eq!(twice, None, "{call}: two ends");
            }
        }
    }

    /// Reads what tools added to their log, a call a line: each once, each intended before.
    pub(crate) fn log(&mut self, text: &str) {
        for line in text[self.log_read..].lines() {
            assert!(self.logged.insert(line.to_owned()), "{line}: its effect happened twice");
            let is_intended = self.intents.values().any(|call| call == line);
            assert!(is_intended, "{line}: it happened without an intent on record");
        }
        self.log_read = text.len();
        for (call, is_error) in &self.ended {
            assert!(*is_error || self.logged.contains(call), "{call}: it ended without an effect");
        }
    }

    /// A request that was sent: what it says was on record, each call has one result, and what was
    /// said before is said again word for word.
    pub(crate) fn request(&mut self, body: &Value) {
        let mut messages = body["messages"].as_array().expect("messages").clone();
        messages.iter_mut().for_each(without_marks);
        let blocks = |kind: &str| {
            let all = messages.iter().flat_map(|message| message["content"].as_array());
            let of_kind = |block: &&Value| block["type"] == kind;
            all.flatten().filter(of_kind).cloned().collect::<Vec<Value>>()
        };
        let (calls, results) = (blocks("tool_use"), blocks("tool_result"));
        let mut told = BTreeMap::new();
        for result in &results {
            let call = result["tool_use_id"].as_str().expect("an id");
            assert!(told.insert(call, result).is_none(), "{call}: two results");
        }
        assert_eq!(calls.len(), told.len(), "calls and results differ in number");
        for call in &calls {
            let id = call["id"].as_str().expect("an id");
            let result = told.get(id).unwrap_or_else(|| panic!("{id}: no result"));
            let is_error = result["is_error"] == true;
            match self.ended.get(id) {
                Some(ended) => assert_eq!(*ended, is_error, "{id}: another result was on record"),
                None => assert!(is_error, "{id}: told as a success, and no end is on record"),
            }
            if result.to_string().contains("outcome is unknown") {
                self.unknown.insert(id.to_owned());
            }
        }
        for text in messages.iter().filter(|message| message["role"] == "user") {
            for block in text["content"].as_array().into_iter().flatten() {
                let Some(text) = block["text"].as_str().filter(|text| text.starts_with("message "))
                else {
                    continue;
                };
                assert!(self.said.contains(text), "`{text}` was sent and is not on record");
            }
        }
        self.goes_on(messages);
    }

    fn goes_on(&mut self, messages: Vec<Value>) {
        let before = std::mem::replace(&mut self.before, messages);
        for (place, (was, is)) in before.iter().zip(&self.before).enumerate() {
            if place + 1 < before.len() {
                assert_eq!(was, is, "message {place} changed");
                continue;
            }
            // More may be said in the last one.
            let [was, is] =
                [was, is].map(|message| message["content"].as_array().expect("content"));
            assert!(is.starts_with(was), "the last message changed: {was:?}, {is:?}");
        }
        assert!(self.before.len() >= before.len(), "messages are gone");
    }

    /// Nothing is lost in the end: every line of the log belongs to a call that was told.
    pub(crate) fn end(&self) -> (usize, usize) {
        (self.logged.len(), self.unknown.len())
    }
}

/// The record in a line: its length and checksum must be right.
fn unframed(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).expect("text");
    let rest = text.strip_prefix(r#"{"v":2,"len":"#).unwrap_or_else(|| panic!("no record: {text}"));
    let (length, rest) = rest.split_once(r#","crc":""#).expect("a length");
    let (sum, rest) = rest.split_once(r#"","rec":"#).expect("a checksum");
    let record = rest.strip_suffix('}').expect("an end");
    assert_eq!(length.parse(), Ok(record.len()), "the length is wrong");
    let counted = crc(format!("2,{length},").bytes().chain(record.bytes()));
    assert_eq!(sum, format!("{counted:08x}"), "the checksum is wrong");
    serde_json::from_str(record).expect("JSON")
}

/// CRC-32 as in gzip, bit by bit.
fn crc(bytes: impl Iterator<Item = u8>) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

/// Marks of the cache move on; the words do not.
fn without_marks(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("cache_control");
            object.values_mut().for_each(without_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(without_marks),
        _ => {}
    }
}
