//! Plans the socket actions for the events of an answer and its fault.
//!
//! Decides every byte and every pause; `plan_runner` performs the actions in order.

use std::time::Duration;

use crate::fault::ScriptedFault;

/// One action on the socket after the HTTP head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SocketAction {
    /// Send these bytes as one HTTP chunk.
    Send(Vec<u8>),
    /// Send these bytes without chunked framing.
    SendUnframed(Vec<u8>),
    /// Announce a chunk of this size, but send only these bytes of it.
    SendPartialChunk {
        announced: usize,
        bytes: Vec<u8>,
    },
    /// Send these bytes as one HTTP chunk, each byte alone with a pause before it.
    Trickle(Vec<u8>, Duration),
    Pause(Duration),
    /// Send nothing more, but leave the connection open.
    Stall {
        ping: Option<(Vec<u8>, Duration)>,
    },
    /// Close without ending the answer.
    Cut {
        reset: bool,
    },
    /// End the answer correctly.
    End,
}

/// Encoded events that a fault may need.
pub(crate) struct FaultEvents {
    pub(crate) ping: Vec<u8>,
    /// The error event, if the fault is one.
    pub(crate) error: Vec<u8>,
}

/// The actions in order. Always ends with [`Act::End`], [`Act::Cut`] or [`Act::Stall`].
pub(crate) fn plan_stream(
    events: Vec<Vec<u8>>,
    fault: Option<&ScriptedFault>,
    pace: Duration,
    fault_events: FaultEvents,
) -> Vec<SocketAction> {
    match fault {
        Some(ScriptedFault::CutAfterEvent { events: whole, reset }) => {
            let bytes = events.iter().take(*whole).map(Vec::len).sum();
            cut_at_byte(events, bytes, *reset, pace)
        }
        Some(ScriptedFault::CutAfterByte { bytes, reset }) => {
            cut_at_byte(events, *bytes, *reset, pace)
        }
        Some(ScriptedFault::StallAfterEvent { events: whole, ping }) => {
            let ping = ping.map(|every| (fault_events.ping, every));
            send_first_events(events, *whole, pace, SocketAction::Stall { ping })
        }
        Some(ScriptedFault::ErrorEvent { after_event, hold_open, .. }) => {
            let last =
                if *hold_open { SocketAction::Stall { ping: None } } else { SocketAction::End };
            let mut some: Vec<_> = events.into_iter().take(*after_event).collect();
            some.push(fault_events.error);
            send_first_events(some, usize::MAX, pace, last)
        }
        Some(ScriptedFault::MalformedAtEvent { event }) => {
            let broken = events.into_iter().zip(1..).map(|(bytes, number)| {
                if number == *event { truncate_payload(bytes) } else { bytes }
            });
            send_first_events(broken.collect(), usize::MAX, pace, SocketAction::End)
        }
        Some(ScriptedFault::Slow { per_byte }) => {
            let mut acts: Vec<_> =
                events.into_iter().map(|bytes| SocketAction::Trickle(bytes, *per_byte)).collect();
            acts.push(SocketAction::End);
            acts
        }
        // The others replace the stream, so they do not get here.
        None
        | Some(
            ScriptedFault::Refuse { .. }
            | ScriptedFault::DropConnection { .. }
            | ScriptedFault::Html { .. }
            | ScriptedFault::BrokenGzip,
        ) => send_first_events(events, usize::MAX, pace, SocketAction::End),
    }
}

/// The first events, paced, and then one last thing.
fn send_first_events(
    events: Vec<Vec<u8>>,
    count: usize,
    pace: Duration,
    last: SocketAction,
) -> Vec<SocketAction> {
    let mut acts = Vec::with_capacity(events.len().saturating_add(1));
    for bytes in events.into_iter().take(count) {
        push_pause(&mut acts, pace);
        acts.push(SocketAction::Send(bytes));
    }
    acts.push(last);
    acts
}

/// Everything up to a byte, then a cut inside of an HTTP chunk, so that the client cannot mistake
/// it for the complete answer.
fn cut_at_byte(events: Vec<Vec<u8>>, at: usize, reset: bool, pace: Duration) -> Vec<SocketAction> {
    let mut acts = Vec::new();
    let mut left = at;
    for mut bytes in events {
        push_pause(&mut acts, pace);
        if left >= bytes.len() {
            left -= bytes.len();
            acts.push(SocketAction::Send(bytes));
        } else {
            let announced = bytes.len();
            bytes.truncate(left);
            acts.push(SocketAction::SendPartialChunk { announced, bytes });
            break;
        }
    }
    acts.push(SocketAction::Cut { reset });
    acts
}

fn push_pause(acts: &mut Vec<SocketAction>, pace: Duration) {
    if !acts.is_empty() && !pace.is_zero() {
        acts.push(SocketAction::Pause(pace));
    }
}

/// The event with the second half of its payload removed. Its framing stays valid, so that only its
/// JSON is wrong.
fn truncate_payload(mut bytes: Vec<u8>) -> Vec<u8> {
    let start = bytes.windows(5).position(|five| five == b"data:").map_or(0, |at| at + 5);
    let payload = bytes.len().saturating_sub(start);
    let mut keep = start + payload / 2;
    // Do not split a character: the JSON must be invalid, not the UTF-8.
    while keep > start && bytes.get(keep).is_some_and(|byte| (0x80..0xC0).contains(byte)) {
        keep -= 1;
    }
    bytes.truncate(keep);
    bytes.extend_from_slice(b"\n\n");
    bytes
}
