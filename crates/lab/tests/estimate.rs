//! What the estimate of tokens is worth, with a real tokenizer as judge.
//!
//! Sessions are made of words as they really come up. After every answer the judge's count of the
//! whole request is billed, with a constant for framing as providers have, and the ledger holds what
//! was foreseen beside it. The judge is one provider's; others count otherwise, which is what the
//! calibration is for.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop")]

mod corpus;

use std::collections::HashMap;
use std::sync::Arc;

use corpus::{Corpus, Matter};
use windlass_engine::Settings;
use windlass_lab::manual_session::{ManualSession, build_settings};
use windlass_vocabulary::{
    ContentBlock, Json, Message, ModelRequest, RequestSource, ToolName, ToolResultPart, ToolSpec,
};

/// Promised, in percent: the median over all requests.
const MEDIAN_MAX: f64 = 5.0;

/// What providers add around each.
const PER_MESSAGE: u64 = 4;
const PER_TOOL: u64 = 12;
const PER_CALL: u64 = 8;

/// Counts requests. A message is counted once; the same one is sent again and again.
#[derive(Default)]
struct Judge {
    counted: HashMap<*const Message, (Arc<Message>, u64)>,
}

impl Judge {
    fn text(text: &str) -> u64 {
        tiktoken_rs::o200k_base_singleton().count_ordinary(text) as u64
    }

    fn request(&mut self, request: &ModelRequest) -> u64 {
        let system: u64 = request.system.iter().map(|piece| Self::text(piece)).sum();
        let tools = request.tools.iter().map(|tool| {
            let words = [tool.name.as_str(), &tool.description, tool.input_schema.as_str()];
            PER_TOOL + words.map(Self::text).iter().sum::<u64>()
        });
        let tools: u64 = tools.sum();
        let messages = request.messages.iter().map(|message| {
            let entry = self.counted.entry(Arc::as_ptr(message));
            entry.or_insert_with(|| (message.clone(), Self::message(message))).1
        });
        system + tools + messages.sum::<u64>()
    }

    fn message(message: &Message) -> u64 {
        let block = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Self::text(text),
            ContentBlock::ToolUse(call) => {
                PER_CALL + Self::text(call.name.as_str()) + Self::text(call.input.as_str())
            }
            ContentBlock::ToolResult(result) => {
                let parts = result.content.iter().map(|part| match part {
                    ToolResultPart::Text(text) => Self::text(text),
                    ToolResultPart::Media(_) => 0,
                });
                PER_CALL + parts.sum::<u64>()
            }
            _ => 0,
        };
        PER_MESSAGE + message.content.iter().map(block).sum::<u64>()
    }
}

/// One kind of session: what its results are made of, and how large its window is.
struct Kind {
    name: &'static str,
    matters: &'static [Matter],
    window: u64,
    /// What the judge's count is multiplied by, in percent: other providers count otherwise.
    scale: u64,
}

const TURNS: usize = 50;

const KINDS: &[Kind] = {
    use Matter::{
        Base64, Chinese, Difference, German, Log, NarrowJson, Page, Source, Traffic, WideJson,
    };
    &[
        Kind {
            name: "code",
            matters: &[Source, Source, Difference, Log],
            window: 400_000,
            scale: 100,
        },
        Kind { name: "pages", matters: &[Page, Source, Page], window: 400_000, scale: 100 },
        Kind { name: "tests", matters: &[Log, Log, Source], window: 400_000, scale: 100 },
        Kind {
            name: "json",
            matters: &[WideJson, NarrowJson, Traffic],
            window: 400_000,
            scale: 100,
        },
        Kind {
            name: "german",
            matters: &[German, Source, German, Page],
            window: 400_000,
            scale: 100,
        },
        Kind {
            name: "chinese",
            matters: &[Chinese, Source, Chinese, Page],
            window: 400_000,
            scale: 100,
        },
        Kind {
            name: "bytes",
            matters: &[Source, Source, Base64, Log],
            window: 400_000,
            scale: 100,
        },
        Kind {
            name: "everything",
            matters: &[
                Source, Log, NarrowJson, Page, Difference, Base64, German, Traffic, Chinese,
                WideJson,
            ],
            window: 400_000,
            scale: 100,
        },
        Kind {
            name: "code, small window",
            matters: &[Source, Difference, Log],
            window: 40_000,
            scale: 100,
        },
        Kind {
            name: "everything, small window",
            matters: &[Source, Log, NarrowJson, Page, German, Traffic, Chinese, WideJson],
            window: 40_000,
            scale: 100,
        },
        Kind { name: "code, other tokens", matters: &[Source, Log], window: 400_000, scale: 135 },
    ]
};

fn started(corpus: &Corpus, kind: &Kind) -> Settings {
    let mut settings = build_settings(kind.window, 4_000);
    settings.context.summary_tokens = windlass_vocabulary::Tokens(2_000);
    settings.prompt.system_prompt =
        (0..3).map(|n| corpus.piece(Matter::Page, n)).collect::<String>().into();
    let schema = r#"{"type":"object","properties":{"file_path":{"type":"string","description":"The absolute path of the file"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1}},"required":["file_path"],"additionalProperties":false}"#;
    let tools = ["Read", "Bash", "Edit", "Search", "Glob", "Write"].into_iter().enumerate();
    let tools = tools.map(|(number, name)| ToolSpec {
        name: ToolName::from(name),
        description: corpus.piece(Matter::Page, 10 + number).into(),
        input_schema: Json::from_checked(schema),
        result_bytes_max: 30_000,
    });
    settings.tools = tools.collect();
    settings
}

/// Plays a session and gives back, request by request, how far off we were, in percent.
fn errors(corpus: &Corpus, kind: &Kind) -> Vec<f64> {
    let mut judge = Judge::default();
    let mut session = ManualSession::new(started(corpus, kind));
    session.submit(corpus.piece(Matter::Page, 77));
    for turn in 0..TURNS {
        let billed =
            session.request.as_deref().map(|request| judge.request(request) * kind.scale / 100);
        let matter = kind.matters[turn % kind.matters.len()];
        let says =
            session.text_event(corpus.piece(Matter::Page, turn * 3).chars().take(200).collect());
        let input = serde_json::json!({"file_path": format!("/w/src/{turn}/mod.rs"), "limit": 200});
        let call = session.call_event("Read", &input.to_string());
        let end = session.end_event(billed.expect("a request is out"));
        for event in [says, call, end] {
            session.apply_event(event);
        }
        let result = session.result_event(corpus.piece(matter, turn).to_owned());
        session.apply_event(result);
        let summary = corpus.piece(Matter::Page, turn).chars().take(1_500).collect::<String>();
        if let Some(summary) = session.summary_event(&summary) {
            session.apply_event(summary);
        }
        if turn % 15 == 14 {
            let billed =
                session.request.as_deref().map(|request| judge.request(request) * kind.scale / 100);
            let done = session.text_event("That is what I found.".to_owned());
            let end = session.end_event(billed.expect("a request is out"));
            session.apply_event(done);
            session.apply_event(end);
            let matter = if kind.name == "german" { Matter::German } else { Matter::Page };
            session.submit(corpus.piece(matter, turn));
            if let Some(summary) = session.summary_event(&summary) {
                session.apply_event(summary);
            }
        }
    }
    let rows = session.state().ledger.rows().iter().filter(|row| row.source == RequestSource::Main);
    rows.map(|row| {
        let billed = row.billed.input_total().0 as f64;
        (row.predicted.0 as f64 - billed).abs() / billed * 100.0
    })
    .collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_estimate_is_right_and_gets_better() {
    let corpus = Corpus::read();
    let mut all = Vec::new();
    let (mut early, mut late) = (Vec::new(), Vec::new());
    println!(
        "{:<26} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "", "requests", "first", "median", "p95", "early", "late"
    );
    for kind in KINDS {
        let errors = errors(&corpus, kind);
        let quarter = errors.len() / 4;
        let (first, last) = (&errors[..quarter], &errors[errors.len() - quarter..]);
        let mut sorted = errors.clone();
        sorted.sort_by(f64::total_cmp);
        println!(
            "{:<26} {:>8} {:>6.2}% {:>6.2}% {:>6.2}% {:>6.2}% {:>6.2}%",
            kind.name,
            errors.len(),
            errors[0],
            median(&errors),
            sorted[sorted.len() * 95 / 100],
            mean(first),
            mean(last)
        );
        assert!(median(&errors) < MEDIAN_MAX, "{}: {errors:.1?}", kind.name);
        early.extend_from_slice(first);
        late.extend_from_slice(last);
        all.extend(errors);
    }
    println!(
        "{:<26} {:>8} {:>15.2}% {:>15.2}% {:>6.2}%",
        "all",
        all.len(),
        median(&all),
        mean(&early),
        mean(&late)
    );
    assert!(median(&all) < MEDIAN_MAX);
    assert!(
        mean(&late) < mean(&early),
        "it does not get better: {} -> {}",
        mean(&early),
        mean(&late)
    );
}
