//! A piece of text costs a small, bounded number of allocations, on every wire.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may stop at what it did not expect, and uses its own part of what is shared"
)]

#[path = "fixture/recorded.rs"]
mod recorded;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use windlass_dialect::{DecodedEvent, dialect};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread asks for, and passes it on.
struct Counting;

#[allow(unsafe_code, reason = "there is no other way to count allocations")]
// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_text_delta_needs_few_allocations() {
    for recording in recorded::all(20) {
        let events = recording.chunks(None);
        let mut decoder = dialect(recording.wire).expect("spoken").new_decoder();
        let mut out = Vec::with_capacity(events.len() * 3);
        // The first and the last events are more than pieces of text.
        let (first, rest) = events.split_at(10);
        let (pieces, _) = rest.split_at(rest.len() - 4);
        first.iter().for_each(|event| decoder.push(event, &mut out));
        let before = out.len();
        let counted = COUNT.get();
        pieces.iter().for_each(|event| decoder.push(event, &mut out));
        let allocations = COUNT.get() - counted;
        let texts =
            out[before..].iter().filter(|item| matches!(item, DecodedEvent::Text(_))).count();
        assert_eq!(texts, pieces.len(), "{:?}", recording.wire);
        let texts = u64::try_from(texts).expect("small");
        assert!(texts > 1_000);
        assert!(
            allocations < texts * PER_PIECE_MAX,
            "{:?}: {allocations} allocations for {texts} pieces",
            recording.wire
        );
    }
}

/// One for the text itself and the rest for parsing. Messages and Responses need 1.2, Chat 5.2,
/// Gemini 7.2: their chunks repeat lists, ids and model names.
const PER_PIECE_MAX: u64 = 8;
