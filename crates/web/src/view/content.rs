//! The full text of a record that was cut, or an image.

use serde_json::{Value, json};
use windlass_journal::session_trace::record_content::read_record_content;
use windlass_vocabulary::MediaContent;

use crate::markdown_nodes::parse_markdown_nodes;
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_content(
    viewer: &Viewer,
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let seq: u64 =
        query.number("seq")?.ok_or_else(|| ViewFailure::bad_request("`seq` is missing"))?;
    let part: Option<usize> = query.number("part")?;
    let trace = viewer.traces.open(&session.journal)?;
    let missing = || ViewFailure::not_found("this record holds no text");
    let source = trace.read(|trace| trace.find_record(seq)).ok_or_else(missing)?;
    let content = read_record_content(&source)?.ok_or_else(missing)?;
    if let Some(part) = part {
        let media = content.media.get(part);
        return media.map(media_to_json).ok_or_else(missing);
    }
    let whole = content.text.len();
    let end = content.text.floor_char_boundary(TEXT_BYTES_MAX.min(whole));
    let text = content.text.get(..end).unwrap_or_default();
    let mut answer = json!({"text": text, "bytes": whole, "cut": end < whole});
    if let (true, Some(fields)) = (content.is_answer, answer.as_object_mut()) {
        fields.insert("nodes".to_owned(), Value::from(parse_markdown_nodes(text)));
    }
    Ok(answer)
}

/// Sends the data only of types that a browser displays without running code.
fn media_to_json(media: &MediaContent) -> Value {
    let is_shown = SHOWN_TYPES.contains(&&*media.media_type);
    json!({
        "media_type": &*media.media_type,
        "name": &*media.name,
        "data": is_shown.then_some(&*media.data),
    })
}

const SHOWN_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const TEXT_BYTES_MAX: usize = 4 << 20;
