//! What a memory of the last request writes is byte for byte what is written without one, however
//! a conversation grows, breaks, is damaged or changes hands; and in a conversation that only
//! grows, nothing is written twice.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unwrap_used,
    reason = "a test may stop at what it did not expect, and a table is as long as it is"
)]

mod fixture;

use std::sync::Arc;

use fixture::all_dialects;
use fixture::transcript::{
    answer, call, failed_result, media, message, png, provider, request, result, results, text,
    thinking, tool, user,
};
use proptest::prelude::*;
use windlass_dialect::provider_rules::MediaRules;
use windlass_dialect::{Dialect, EncodedRequestCache, ProviderRules};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Effort, Message, MessageId, MessageOrigin, Messages, MetaKind,
    ModelName, ModelRequest, Role, ToolResultPart, WireFormat,
};

/// What can happen to a conversation between two requests.
#[derive(Clone, Debug)]
enum Step {
    Grow(Vec<Message>),
    /// Another form of an old message, as when a level shortens it.
    Shorten(usize),
    /// The same message from another place, as after a resume.
    Copy(usize),
    Remove(usize),
    /// The last messages are taken back.
    TakeBack(usize),
    /// The first messages become a summary.
    Compact(usize),
    SwitchModel(bool),
    Repair(bool),
    Tools(usize),
    System(bool),
    Effort(bool),
    Narrow(bool),
    Again,
}

fn id() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("t1"), Just("t2"), Just("t3"), Just(""), Just("odd id"), Just("odd_id")]
}

fn server_tools() -> impl Strategy<Value = ContentBlock> {
    let anthropic = |kind: &'static str, field: &'static str| {
        prop_oneof![Just("s1"), Just("s2")].prop_map(move |id| {
            let json = format!("{{\"type\":\"{kind}\",\"{field}\":\"{id}\"}}");
            provider(WireFormat::AnthropicMessages, kind, &json)
        })
    };
    prop_oneof![
        anthropic("server_tool_use", "id"),
        anthropic("web_search_tool_result", "tool_use_id"),
        Just(provider(
            WireFormat::AnthropicMessages,
            "redacted_thinking",
            "{\"type\":\"redacted_thinking\",\"data\":\"x\"}"
        )),
        Just(provider(
            WireFormat::OpenaiResponses,
            "reasoning",
            "{\"type\":\"reasoning\",\"id\":\"s1\",\"encrypted_content\":\"x\"}"
        )),
        Just(provider(
            WireFormat::Gemini,
            "sealed_part",
            "{\"text\":\"\",\"thoughtSignature\":\"x\"}"
        )),
        Just(provider(WireFormat::Gemini, "part", "{\"executableCode\":{}}")),
    ]
}

fn picture() -> impl Strategy<Value = ContentBlock> {
    (1_u32..30, 0_usize..60, any::<bool>()).prop_map(|(edge, padding, in_result)| {
        let image = media("m", "image/png", &png(edge, 2, padding));
        match in_result {
            false => ContentBlock::Media(image),
            true => failed_result("t1", vec![ToolResultPart::Media(image)]),
        }
    })
}

fn block() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![
        4 => "[a-z \"\n]{0,6}".prop_map(|words| text(&words)),
        2 => any::<bool>().prop_map(|sealed| thinking("hm", sealed.then_some("seal"))),
        4 => (id(), prop_oneof![Just("{}"), Just("{\"a\":"), Just("7")])
            .prop_map(|(id, input)| call(id, "Read", input)),
        4 => (id(), "[a-z ]{0,4}").prop_map(|(id, words)| result(id, &words)),
        3 => picture(),
        3 => server_tools(),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let author = prop_oneof![
        4 => Just(Some("model-a")), 1 => Just(Some("model-b")), 1 => Just(None),
    ];
    let kind = prop_oneof![
        4 => Just((Role::User, MessageOrigin::User)),
        6 => Just((Role::Assistant, MessageOrigin::Model)),
        3 => Just((Role::User, MessageOrigin::ToolResults)),
        2 => Just((Role::User, MessageOrigin::Attachment(AttachmentKind::Memory))),
        1 => Just((Role::User, MessageOrigin::Meta(MetaKind::Context))),
        1 => Just((Role::User, MessageOrigin::Summary)),
        1 => Just((Role::User, MessageOrigin::Display)),
        1 => Just((Role::Assistant, MessageOrigin::Display)),
    ];
    (kind, proptest::collection::vec(block(), 0..4), author).prop_map(
        |((role, origin), content, model)| Message {
            model: model.map(ModelName::from),
            ..message(role, origin, content)
        },
    )
}

/// What a healthy loop adds: an answer, and what is said in reply to it.
fn healthy() -> impl Strategy<Value = Vec<Message>> {
    (0_usize..3, any::<bool>(), any::<bool>(), "[a-z]{1,3}").prop_map(
        |(calls, attaches, shows, words)| {
            let mut content = vec![thinking("hm", Some("seal")), text(&words)];
            content.extend((0..calls).map(|n| call(&format!("{words}{n}"), "Read", "{}")));
            let mut turn = vec![answer(content)];
            if calls > 0 {
                let blocks = (0..calls).map(|n| result(&format!("{words}{n}"), "x"));
                turn.push(results(blocks.collect()));
            } else {
                turn.push(user(vec![text("next")]));
            }
            if attaches {
                let origin = MessageOrigin::Attachment(AttachmentKind::Memory);
                turn.push(message(Role::User, origin, vec![text("memory")]));
            }
            if shows {
                turn.push(message(Role::User, MessageOrigin::Display, vec![text("for people")]));
            }
            turn
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<usize>;
    prop_oneof![
        8 => proptest::collection::vec(any_message(), 1..4).prop_map(Step::Grow),
        8 => healthy().prop_map(Step::Grow),
        2 => at().prop_map(Step::Shorten),
        1 => at().prop_map(Step::Copy),
        1 => at().prop_map(Step::Remove),
        1 => (0_usize..4).prop_map(Step::TakeBack),
        1 => at().prop_map(Step::Compact),
        1 => any::<bool>().prop_map(Step::SwitchModel),
        1 => any::<bool>().prop_map(Step::Repair),
        1 => (0_usize..3).prop_map(Step::Tools),
        1 => any::<bool>().prop_map(Step::System),
        1 => any::<bool>().prop_map(Step::Effort),
        1 => any::<bool>().prop_map(Step::Narrow),
        1 => Just(Step::Again),
    ]
}

struct Conversation {
    request: ModelRequest,
    narrow: bool,
    next: u64,
}

impl Conversation {
    fn take(&mut self, step: &Step) {
        let mut messages: Vec<Arc<Message>> = self.request.messages.iter().cloned().collect();
        let count = messages.len();
        match step {
            Step::Grow(more) => {
                for one in more {
                    self.next += 1;
                    let message = Message { id: MessageId(self.next), ..one.clone() };
                    self.request.messages.push(Arc::new(message));
                }
                return;
            }
            Step::Shorten(at) if count > 0 => {
                let old = &messages[at % count];
                let content = old.content.iter().skip(1).cloned().collect();
                let short = Message { content, ..Message::clone(old) };
                messages[at % count] = Arc::new(short);
            }
            Step::Copy(at) if count > 0 => {
                messages[at % count] = Arc::new(Message::clone(&messages[at % count]));
            }
            Step::Remove(at) if count > 0 => drop(messages.remove(at % count)),
            Step::TakeBack(many) => messages.truncate(count.saturating_sub(*many)),
            Step::Compact(at) => {
                let summary = message(Role::User, MessageOrigin::Summary, vec![text("so far")]);
                messages.splice(..at % (count + 1), [Arc::new(summary)]);
            }
            Step::SwitchModel(is_other) => {
                let name = if *is_other { "gemini-2-b" } else { "model-a" };
                self.request.model = ModelName::from(name);
            }
            Step::Repair(reasoning) => self.request.without_reasoning = *reasoning,
            Step::Tools(many) => {
                let names = ["Read", "bad name", "Bash"];
                self.request.tools = names.iter().take(*many).map(|name| tool(name)).collect();
            }
            Step::System(is_there) => {
                self.request.system = if *is_there { vec![Arc::from("be kind")] } else { vec![] };
            }
            Step::Effort(is_low) => {
                self.request.effort = if *is_low { Some(Effort::Low) } else { None };
            }
            Step::Narrow(narrow) => self.narrow = *narrow,
            _ => return,
        }
        self.request.messages = messages.into_iter().collect();
    }

    fn rules(&self, dialect: &dyn Dialect) -> ProviderRules {
        let mut rules = dialect.rules().clone();
        if self.narrow {
            rules.media = MediaRules {
                count_max: 5,
                count_batch: 2,
                total_bytes_max: 400,
                many_images_threshold: 2,
                many_images_edge_max: 20,
                ..rules.media
            };
        }
        rules
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_request_cache_does_not_change_the_bytes(
        narrow in any::<bool>(),
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        for (wire, dialect) in all_dialects() {
            let request = request(Vec::new());
            let mut conversation = Conversation { request, narrow, next: 0 };
            let mut memory = EncodedRequestCache::new();
            for (number, step) in steps.iter().enumerate() {
                conversation.take(step);
                let rules = conversation.rules(dialect);
                let fresh = dialect.encode(&conversation.request, &rules);
                let remembered = dialect.encode_cached(&conversation.request, &rules, &mut memory);
                let shown = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
                prop_assert_eq!(
                    shown(&remembered.body), shown(&fresh.body), "{:?} at {}", wire, number
                );
                prop_assert_eq!(remembered, fresh, "{:?} at {}", wire, number);
            }
        }
    }

    #[test]
    fn a_growing_conversation_is_encoded_once(turns in proptest::collection::vec(healthy(), 1..12)) {
        for (wire, dialect) in all_dialects() {
            let request = request(vec![user(vec![text("do it")])]);
            let mut conversation = Conversation { request, narrow: false, next: 0 };
            let mut memory = EncodedRequestCache::new();
            let mut before = 0;
            for turn in &turns {
                let body = dialect.encode_cached(&conversation.request, dialect.rules(), &mut memory).body;
                prop_assert_eq!(memory.reused_bytes(), before, "{:?}", wire);
                let head = dialect
                    .encode(&ModelRequest { messages: Messages::default(), ..conversation.request.clone() }, dialect.rules());
                before = body.len() - (head.body.len() - opening_bytes(wire, "Go on."));
                before -= marks(&body) - marks(&head.body);
                conversation.take(&Step::Grow(turn.clone()));
                prop_assert!(memory.retained_bytes() <= 2 * body.len(), "{:?}", wire);
            }
        }
    }
}

/// Things after which an older message comes out differently. Each list of messages is a request;
/// the next one goes on from it, but for the messages it takes back.
#[test]
fn a_change_of_earlier_messages_encodes_them_again() {
    let ask = || user(vec![text("ask")]);
    let reply = || results(vec![result("t1", "x")]);
    let asks = |id: &str| answer(vec![text("a"), call(id, "Read", "{}")]);
    let server = |kind: &str, field: &str| {
        let json = format!("{{\"type\":\"{kind}\",\"{field}\":\"s1\"}}");
        provider(WireFormat::AnthropicMessages, kind, &json)
    };
    let search = || answer(vec![text("s"), server("server_tool_use", "id")]);
    let only_search = || answer(vec![server("server_tool_use", "id")]);
    let found = || answer(vec![server("web_search_tool_result", "tool_use_id"), text("f")]);
    let pictures = |edges: &[u32]| {
        let image = |edge: &u32| ContentBlock::Media(media("m", "image/png", &png(*edge, 2, 0)));
        user(edges.iter().map(image).collect())
    };
    let attachment =
        || message(Role::User, MessageOrigin::Attachment(AttachmentKind::Memory), vec![text("m")]);
    let table: Vec<(&str, Vec<(usize, Vec<Message>)>)> = vec![
        (
            "a word after the results",
            vec![
                (0, vec![ask(), asks("t1"), reply()]),
                (0, vec![ask(), asks("t1"), reply()]),
                (0, vec![answer(vec![text("b")]), ask()]),
            ],
        ),
        (
            "an attachment that moves up",
            vec![
                (0, vec![ask(), asks("t1"), reply(), ask()]),
                (0, vec![attachment()]),
                (0, vec![answer(vec![text("b")]), attachment(), ask()]),
            ],
        ),
        (
            "reasoning that leads to something after all",
            vec![
                (0, vec![ask(), asks("t1"), reply(), answer(vec![thinking("hm", Some("seal"))])]),
                (0, vec![answer(vec![text("b")]), ask()]),
            ],
        ),
        (
            "an answer without a reply",
            vec![
                (0, vec![ask(), answer(vec![text("a")])]),
                (0, vec![answer(vec![text("b")]), ask()]),
                (1, vec![reply()]),
                (0, vec![answer(vec![text("c")]), ask()]),
            ],
        ),
        (
            "nothing at all, and then something",
            vec![
                (0, vec![]),
                (0, vec![answer(vec![text("a")]), ask()]),
                (2, vec![]),
                (0, vec![ask()]),
                (1, vec![answer(vec![text("a")]), ask(), answer(vec![text("b")]), ask()]),
            ],
        ),
        (
            "a result nobody asked for, alone",
            vec![
                (0, vec![results(vec![result("t9", "orphan")])]),
                (0, vec![answer(vec![text("a")]), ask()]),
            ],
        ),
        (
            "a call of the provider's own that is never answered",
            vec![(0, vec![ask(), search(), ask()]), (0, vec![answer(vec![text("b")]), ask()])],
        ),
        (
            "one that is answered late",
            vec![
                (0, vec![ask(), search(), ask(), answer(vec![text("b")]), ask()]),
                (0, vec![found(), ask()]),
                (2, vec![answer(vec![text("c")]), ask()]),
            ],
        ),
        (
            "one of which nothing is left",
            vec![
                (0, vec![ask(), asks("t1"), reply(), only_search(), ask()]),
                (0, vec![answer(vec![text("b")]), ask()]),
            ],
        ),
        (
            "a result whose call comes later",
            vec![(0, vec![ask(), found(), ask()]), (0, vec![search(), ask()])],
        ),
        (
            "the same id again, and back",
            vec![
                (0, vec![ask(), asks("t1"), reply()]),
                (0, vec![asks("t1"), reply()]),
                (0, vec![asks("t1"), reply(), asks("t1_2"), results(vec![result("t1_2", "y")])]),
                (4, vec![asks("t1_2"), results(vec![result("t1_2", "y")]), asks("t1"), reply()]),
            ],
        ),
        (
            "a crowd in which one is too big",
            vec![
                (0, vec![pictures(&[30]), asks("t1"), reply()]),
                (0, vec![answer(vec![text("b")]), pictures(&[2, 2])]),
                (0, vec![answer(vec![text("c")]), pictures(&[2])]),
            ],
        ),
        (
            "too big first, then too old",
            vec![
                (0, vec![pictures(&[30]), answer(vec![text("a")]), pictures(&[2])]),
                (0, vec![answer(vec![text("b")]), pictures(&[2, 2])]),
                (0, vec![answer(vec![text("c")]), pictures(&[2, 2])]),
            ],
        ),
        (
            "notes of what is gone",
            vec![
                (0, vec![ask(), asks("t1"), results(vec![result("t9", "orphan")])]),
                (1, vec![reply(), answer(vec![text("b")]), reply()]),
                (1, vec![ask()]),
            ],
        ),
    ];
    for (name, requests) in table {
        for (wire, dialect) in all_dialects() {
            let request = request(Vec::new());
            let mut conversation = Conversation { request, narrow: true, next: 0 };
            let mut memory = EncodedRequestCache::new();
            for (number, (taken_back, more)) in requests.iter().enumerate() {
                conversation.take(&Step::TakeBack(*taken_back));
                conversation.take(&Step::Grow(more.clone()));
                let rules = conversation.rules(dialect);
                let fresh = dialect.encode(&conversation.request, &rules);
                let remembered = dialect.encode_cached(&conversation.request, &rules, &mut memory);
                assert_eq!(
                    String::from_utf8_lossy(&remembered.body),
                    String::from_utf8_lossy(&fresh.body),
                    "{name}: {wire:?} at {number}"
                );
                assert_eq!(remembered, fresh, "{name}: {wire:?} at {number}");
            }
        }
    }
}

/// Bytes of a first message on each wire.
fn opening_bytes(wire: WireFormat, text: &str) -> usize {
    text.len()
        + match wire {
            WireFormat::AnthropicMessages => {
                "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}]}".len()
            }
            WireFormat::OpenaiChat => "{\"role\":\"user\",\"content\":\"\"}".len(),
            WireFormat::OpenaiResponses => "{\"type\":\"message\",\"role\":\"user\",\
                 \"content\":[{\"type\":\"input_text\",\"text\":\"\"}]}"
                .len(),
            WireFormat::Gemini => "{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}".len(),
        }
}

/// Bytes of cache marks.
fn marks(body: &[u8]) -> usize {
    let mark = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    String::from_utf8_lossy(body).matches(mark).count() * mark.len()
}
