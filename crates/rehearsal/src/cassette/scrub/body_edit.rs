//! Replaces parts of a body and keeps the places where it was cut.

use std::ops::Range;

use super::text_view::TextView;
use crate::cassette::exchange::{RecordedChunk, RecordedExchange, RecordedResponseHead};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BodyEdit {
    range: Range<usize>,
    with: Vec<u8>,
}

/// Replaces a range of a view. What comes in pieces is replaced in the first and taken out of the
/// others, so that who puts the pieces together reads the replacement once.
pub(super) fn replace_in_view(view: &TextView, range: &Range<usize>, with: &str) -> Vec<BodyEdit> {
    let mut with = with.as_bytes().to_vec();
    let ranges = view.raw_ranges(range).into_iter();
    ranges.map(|range| BodyEdit { range, with: std::mem::take(&mut with) }).collect()
}

/// The exchange with its answer edited: the pieces stay pieces, and what was announced about the
/// length but never came is still owed.
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
        // An answer without a body may announce the length of one all the same.
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
    // A piece without bytes would be the sign for the end.
    let chunks = pieces.filter(|chunk| !chunk.bytes.is_empty()).collect();
    RecordedExchange { request, head, chunks, end, end_millis }
}

/// The body with all replacements made, and its cuts moved along. A cut inside of something
/// replaced comes after what replaces it.
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
        // Views do not overlap and neither do the finds in one, so this is never true; if it were,
        // the first replacement has already taken the text away.
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
