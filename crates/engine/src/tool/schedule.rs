//! Which calls may start now: shared ones together up to a limit, any other alone and in order.

use alloc::vec::Vec;

use super::queue::{Queue, Stage};

/// The places of the calls that may start now, in order.
pub(crate) fn startable(queue: &Queue, parallel_max: u8) -> Vec<usize> {
    let mut start = Vec::new();
    let mut running =
        queue.entries.iter().filter(|entry| matches!(entry.stage, Stage::Running(_))).count();
    let mut is_something_open = false;
    for (place, entry) in queue.entries.iter().enumerate() {
        if entry.is_done() {
            continue;
        }
        let is_ready = matches!(entry.stage, Stage::Ready(_));
        if entry.is_exclusive() {
            // It waits for everything before it and for whatever runs (a call can become exclusive
            // after later ones have started), and everything after waits for it.
            if is_ready && !is_something_open && running == 0 {
                start.push(place);
            }
            break;
        }
        if is_ready && running < usize::from(parallel_max.max(1)) {
            running += 1;
            start.push(place);
        }
        is_something_open = true;
    }
    start
}
