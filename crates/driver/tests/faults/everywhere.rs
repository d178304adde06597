//! Rows 14 to 19 again, at every byte: wherever a stream is cut, the conversation stays valid, no
//! call runs twice, no half-received call runs, and the run ends well.

use std::sync::Arc;

use crate::cut::complete;
use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, SessionFixture, added, assert_completed, assert_lawful, facts, retractions,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{Delta, MessageOrigin, Notice, Tokens, Usage, WireFormat};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_everywhere_on_the_messages_wire() {
    cut_everywhere(WireFormat::AnthropicMessages).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_everywhere_on_the_responses_wire() {
    cut_everywhere(WireFormat::OpenaiResponses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_everywhere_on_the_chat_wire() {
    cut_everywhere(WireFormat::OpenaiChat).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_everywhere_on_the_gemini_wire() {
    cut_everywhere(WireFormat::Gemini).await;
}

/// Reasoning, text, a call that reads, a call with effects, and a last word; different each time,
/// so that what ran is told apart.
fn rich(at: usize) -> Says {
    Says::text("I begin.")
        .thinking("Let me see.")
        .tool_text("Look", at_of(at))
        .tool_text("Act", at_of(at))
        .text_after("And now?")
        .usage(Usage { input: Tokens(9), output: Tokens(9), ..Usage::default() })
}

fn at_of(at: usize) -> String {
    format!("{{\"at\":\"{at:04}\"}}")
}

/// Cuts around every end of an event, once with a reset, and at bytes in between: every one of
/// them when `WINDLASS_EVERY_BYTE` is set, which takes minutes, and else as many as take seconds.
async fn cut_everywhere(wire: WireFormat) {
    let events = rich(0).encode_events(wire, 1);
    let length: usize = events.iter().map(Vec::len).sum();
    let is_thorough = std::env::var_os("WINDLASS_EVERY_BYTE").is_some();
    let stride = if is_thorough { 1 } else { length / BYTES_TRIED + 1 };
    let mut cuts = Vec::new();
    let mut end = 0;
    for event in events {
        cuts.push(Cut { bytes: end, reset: true });
        let is_tried = |bytes: &usize| {
            *bytes < end + 2 || *bytes + 2 >= end + event.len() || bytes.is_multiple_of(stride)
        };
        let tried = (end..end + event.len()).filter(is_tried);
        cuts.extend(tried.map(|bytes| Cut { bytes, reset: false }));
        end += event.len();
    }
    // Ids grow with the number of answers given, so the last stream is a little longer.
    cuts.extend((end..end + 20).map(|bytes| Cut { bytes, reset: false }));
    let places = Arc::new(Semaphore::new(SESSIONS));
    let mut running = JoinSet::new();
    for some in cuts.chunks(CUTS_PER_SESSION) {
        let place = Arc::clone(&places).acquire_owned().await.unwrap();
        let some = some.to_vec();
        running.spawn(async move {
            cut_some(wire, &some).await;
            drop(place);
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    bytes: usize,
    reset: bool,
}

/// One session, cut again and again.
async fn cut_some(wire: WireFormat, cuts: &[Cut]) {
    let (recorder, registry) = Recorder::new();
    // The model's name stands in the stream; with this one it is as long as planned.
    let options = FixtureOptions::on(wire).tools(registry).with(|settings| {
        settings.model = facts("rehearsal");
        settings.limits.retries_max = 1;
    });
    let done = Says::text("Done.").when_result("did").repeat(0);
    let answers = cuts.iter().enumerate().flat_map(|(number, cut)| {
        let Cut { bytes, reset } = *cut;
        let says = rich(number).when(format!("cut {number}."));
        [says.clone().fault(ScriptedFault::CutAfterByte { bytes, reset }), says]
    });
    let mut fixture = options.play([done].into_iter().chain(answers)).await;
    for (at, cut) in cuts.iter().enumerate() {
        let requests = fixture.rehearsal.request_count();
        let before = recorder.ran().len();
        let number = u64::try_from(requests).unwrap() + 1;
        let received = run(&mut fixture, at).await;
        let ran = recorder.ran().split_off(before);
        let requests = fixture.rehearsal.request_count() - requests;
        let mut received_bytes = rich(at).encode_events(wire, number).concat();
        received_bytes.truncate(cut.bytes);
        let ran: Vec<&str> = ran.iter().filter_map(|ran| ran.strip_suffix(&at_of(at))).collect();
        judge(&received, &ran, requests, complete(wire, &received_bytes), (wire, *cut));
    }
    assert_lawful(wire, &fixture.rehearsal);
}

/// Runs to the end without a pause before the next try.
async fn run(fixture: &mut SessionFixture, at: usize) -> Vec<Notice> {
    fixture.session.submit(format!("cut {at}.")).unwrap();
    let mut received = Vec::new();
    loop {
        let is_stop = |n: &Notice| matches!(n, Notice::RetryScheduled { .. } | Notice::RunEnded(_));
        received.extend(fixture.until(is_stop).await);
        if let Some(Notice::RunEnded(ending)) = received.last() {
            assert_completed(ending);
            return received;
        }
        fixture.session.retry_now().unwrap();
    }
}

/// What must hold, given how many calls were complete before the cut and whether the answer was.
fn judge(
    received: &[Notice],
    ran: &[&str],
    requests: usize,
    (calls, is_whole): (usize, bool),
    (wire, cut): (WireFormat, Cut),
) {
    let context = format!("{wire:?}, {cut:?}, {calls} calls complete");
    assert!(["Look ", "Act "].starts_with(ran) && !ran.is_empty(), "{context}\n{ran:?}");
    let results: usize = added(received)
        .iter()
        .filter(|message| message.origin == MessageOrigin::ToolResults)
        .map(|message| message.tool_results().count())
        .sum();
    assert_eq!(results, ran.len(), "{context}");
    if cut.reset {
        // A reset may destroy what was sent before it, so the rest is not certain.
        return;
    }
    let is_sealed = received.iter().any(|notice| matches!(notice, Notice::Sealed { .. }));
    assert_eq!(is_sealed, calls > 0 && !is_whole, "{context}");
    assert_eq!(ran.len(), if is_sealed { calls } else { 2 }, "{context}");
    let is_again = calls == 0 && !is_whole;
    assert_eq!(requests, if is_again { 3 } else { 2 }, "{context}");
    let first = received.iter().find_map(|notice| match notice {
        Notice::RequestStarted { attempt, .. } => Some(*attempt),
        _ => None,
    });
    let is_shown = received.iter().any(|notice| match notice {
        Notice::Streamed { attempt, delta } => {
            Some(*attempt) == first && !matches!(delta, Delta::Usage(_))
        }
        _ => false,
    });
    assert_eq!(retractions(received), usize::from(is_shown && is_again), "{context}");
}

/// Bytes tried on each wire, beside those around the end of an event.
const BYTES_TRIED: usize = 250;
/// Sessions at once, and cuts in each.
const SESSIONS: usize = 4;
const CUTS_PER_SESSION: usize = 4;
