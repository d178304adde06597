//! Replaces parts of a body, and preserves its chunk boundaries.

use std::ops::Range;

use super::text_view::TextView;
use crate::cassette::exchange::{RecordedChunk, RecordedExchange, RecordedResponseHead};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BodyEdit {
    range: Range<usize>,
    with: Vec<u8>,
}

/// Replaces a range of a view. If it is in several parts, the first one gets the replacement and
/// the others lose their piece, so that a reader that joins the parts sees it once.
pub(super) fn replace_in_view(view: &TextView, range: &Range<usize>, with: &str) -> Vec<BodyEdit> {
    let mut with = with.as_bytes().to_vec();
    let ranges = view.raw_ranges(range).into_iter();
    ranges.map(|range| BodyEdit { range, with: std::mem::take(&mut with) }).collect()
}

/// The exchange with an edited answer: the number of chunks is kept, and a length that was
/// announced but not sent is still missing.
pub(super) fn edit_response_body(
    exchange: RecordedExchange,
    edits: impl FnOnce(&[u8]) -> Vec<BodyEdit>,
) -> RecordedExchange {
    let RecordedExchange { request, head, chunks, end, end_millis } = exchange;
    let mut body = Vec::with_capacity(chunks.iter().map(|chunk| chunk.bytes.len()).sum());
    let mut cuts = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        body.extend_from_slice(&chunk.bytes);
        cuts.push(body.len());
    }
    let (new, cuts) = apply_edits(&body, &cuts, edits(&body));
    let count = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let head = head.map(|head| {
        let moved = |length: u64| length.saturating_sub(count(&body)).saturating_add(count(&new));
        // An answer without a body may still announce a length.
        let length =
            head.length.map(|length| if chunks.is_empty() { length } else { moved(length) });
        RecordedResponseHead { length, ..head }
    });
    let mut from = 0;
    let pieces = chunks.iter().zip(cuts).map(|(chunk, cut)| {
        let bytes = new.get(from..cut).unwrap_or_default().to_vec();
        from = cut;
        RecordedChunk { millis: chunk.millis, bytes }
    });
    // An empty chunk would mean the end of the body.
    let chunks = pieces.filter(|chunk| !chunk.bytes.is_empty()).collect();
    RecordedExchange { request, head, chunks, end, end_millis }
}

/// The body with all replacements, and its boundaries moved accordingly. A boundary inside of a
/// replaced range moves after the replacement.
pub(super) fn apply_edits(
    body: &[u8],
    cuts: &[usize],
    mut edits: Vec<BodyEdit>,
) -> (Vec<u8>, Vec<usize>) {
    edits.sort_by_key(|edit| edit.range.start);
    let mut new = Vec::with_capacity(body.len());
    let mut moved = Vec::with_capacity(cuts.len());
    let mut waiting = cuts.iter().copied().peekable();
    let mut done = 0;
    for BodyEdit { range, with } in edits {
        // Views do not overlap, and neither do matches in one, so this should never happen; if it
        // does, the first replacement has already removed the text.
        if range.start < done {
            continue;
        }
        while let Some(cut) = waiting.next_if(|cut| *cut <= range.start) {
            moved.push(new.len() + (cut - done));
        }
        new.extend_from_slice(body.get(done..range.start).unwrap_or_default());
        new.extend_from_slice(&with);
        done = range.end;
        while waiting.next_if(|cut| *cut <= done).is_some() {
            moved.push(new.len());
        }
    }
    moved.extend(waiting.map(|cut| new.len() + cut.saturating_sub(done)));
    new.extend_from_slice(body.get(done..).unwrap_or_default());
    (new, moved)
}

#[cfg(test)]
mod tests {
    use super::{BodyEdit, apply_edits};

    #[test]
    fn cuts_move_with_what_is_replaced() {
        let edit = |range, with: &str| BodyEdit { range, with: with.into() };
        let edits = vec![edit(6..8, ""), edit(2..4, "WXYZ")];
        let (body, cuts) = apply_edits(b"0123456789", &[1, 2, 3, 4, 5, 7, 9, 10], edits);
        assert_eq!(body, b"01WXYZ4589");
        assert_eq!(cuts, [1, 2, 6, 6, 7, 8, 9, 10]);
    }
}
