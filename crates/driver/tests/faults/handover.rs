//! A conversation that changes its wire where the model changes: a fallback or the small model may
//! be another provider's.

use crate::fixture::recorder::Recorder;
use crate::fixture::{
    FixtureOptions, WIRES, added, assert_completed, assert_lawful, ended, facts, rehearse,
    retractions, shown,
};
use crate::waiting::switches;
use crate::words::{overload, refusals, too_long};
use serde_json::json;
use windlass_driver::{
    Credential, Endpoint, Notices, ProviderRules, Session, SessionBuilder, SessionStartError,
    provider_rules,
};
use windlass_rehearsal::{Rehearsal, ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{
    ContentBlock, MediaContent, Notice, RequestSource, ThinkingMode, WireFormat,
};

/// What the first model thinks, and nobody else may see.
const SECRET: &str = "a thought of the first model";

/// A session between two servers, on two wires.
struct Pair {
    from: WireFormat,
    to: WireFormat,
    first: Rehearsal,
    second: Rehearsal,
    session: Session,
    notices: Notices,
    recorder: Recorder,
}

fn pairs() -> impl Iterator<Item = (WireFormat, WireFormat)> {
    let all = WIRES.into_iter().flat_map(|from| WIRES.into_iter().map(move |to| (from, to)));
    all.filter(|(from, to)| from != to)
}

impl Pair {
    /// The other model is the fallback and the small model at once.
    async fn new(
        (from, to): (WireFormat, WireFormat),
        first: impl IntoIterator<Item = Says>,
        second: impl IntoIterator<Item = Says>,
    ) -> Self {
        let (first, second) = (rehearse(first).await, rehearse(second).await);
        let (recorder, registry) = Recorder::new();
        let credential = Credential::Key("first key".to_owned());
        let options = FixtureOptions { credential, ..FixtureOptions::on(from).tools(registry) }
            .with(|settings| {
                settings.reasoning.thinking = ThinkingMode::Adaptive;
                settings.fallbacks = vec![facts("second-model")];
                settings.small_model = Some(facts("second-model"));
            });
        let there =
            Endpoint::new(to, second.url()).credential(Credential::Key("second key".to_owned()));
        let builder = options.builder(&first.url()).endpoint_for("second-model".into(), there);
        let (session, notices) = builder.start().unwrap();
        Self { from, to, first, second, session, notices, recorder }
    }

    /// One run that completes; both servers got only what they may get.
    async fn run(&mut self, message: &str) -> Vec<Notice> {
        self.session.submit(message).unwrap();
        let (ending, received) = ended(&mut self.notices).await;
        assert_completed(&ending);
        assert_lawful(self.from, &self.first);
        assert_lawful(self.to, &self.second);
        let servers =
            [(&self.first, "first key", "second key"), (&self.second, "second key", "first key")];
        for (server, own, other) in servers {
            for request in server.requests() {
                let headers: Vec<&str> =
                    request.headers.iter().map(|(_, value)| value.as_str()).collect();
                let headers = headers.join("\n");
                assert!(headers.contains(own) && !headers.contains(other), "{self}: {headers}");
            }
        }
        received
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} to {:?}", self.from, self.to)
    }
}

#[track_caller]
fn assert_holds(body: &str, kept: &[&str], foreign: &[&str]) {
    for words in kept {
        assert!(body.contains(words), "no {words:?} in {body}");
    }
    for words in foreign {
        assert!(!body.contains(words), "{words:?} in {body}");
    }
}

#[tokio::test]
async fn m04_overload_hands_over_from_every_wire_to_every_other() {
    for (from, to) in pairs() {
        let first = [
            Says::text("I look.")
                .thinking(SECRET)
                .tool("Look", json!({"at": "a"}))
                .tool("Act", json!({"at": "b"})),
            refusals(529, 2),
            // The third overload comes when half an answer is already on the screen.
            Says::text("half an answer")
                .chunk(4)
                .thinking(SECRET)
                .fault(ScriptedFault::error_event(overload(from), 4)),
            Says::text("back home").when("and now"),
        ];
        let second = [
            Says::text("Here I am.").thinking("mine alone").tool("Look", json!({"at": "c"})),
            Says::text("Done by another.").when_result("did Look"),
        ];
        let mut pair = Pair::new((from, to), first, second).await;
        let received = pair.run("begin").await;
        assert_eq!(
            switches(&received),
            [("rehearsed-model".into(), "second-model".into())],
            "{pair}"
        );
        assert_eq!(retractions(&received), 1, "{pair}: {received:#?}");
        assert_eq!(shown(&received), "I look.Here I am.Done by another.", "{pair}");
        let ran = ["Look {\"at\":\"a\"}", "Act {\"at\":\"b\"}", "Look {\"at\":\"c\"}"];
        assert_eq!(pair.recorder.ran(), ran, "{pair}");

        let kept = ["begin", "I look.", "did Look", "did Act"];
        let requests = pair.second.requests();
        let foreign = [SECRET, "half an answer", "signature_1", "sealed_1", "rs_1"];
        assert_holds(&requests[0].body, &kept, &foreign);
        assert_holds(&requests[1].body, &kept, &foreign[..2]);

        // The next message begins with the first model again, which hears what the other said and
        // did, but not what it thought.
        let received = pair.run("and now").await;
        let back = pair.first.requests().pop().unwrap();
        let kept = ["Here I am.", "Done by another.", "did Look {\\\"at\\\":\\\"c\\\"}"];
        assert_holds(&back.body, &kept, &["mine alone"]);
        assert_eq!(pair.first.answers_left(), Vec::<String>::new());
        let answer = added(&received).pop().unwrap();
        assert_eq!(answer.model, Some("rehearsed-model".into()));
        assert!(matches!(&answer.content[..], [ContentBlock::Text(text)] if text == "back home"));
    }
}

#[tokio::test]
async fn m06_summary_goes_to_the_small_model_over_its_own_wire() {
    for (from, to) in pairs() {
        let first = [
            Says::text("I look.").thinking(SECRET).tool("Look", json!({"at": "a", "lines": 500})),
            Says::text("seen"),
            too_long(from).says(from),
            Says::text("on we go"),
        ];
        let second = [Says::text("the story so far").when_source(RequestSource::Compaction)];
        let mut pair = Pair::new((from, to), first, second).await;
        pair.run("begin").await;
        let received = pair.run("and now").await;
        assert_eq!(shown(&received), "on we go", "{pair}");
        let asked = pair.second.requests().pop().unwrap();
        assert_holds(&asked.body, &["begin", "did Look"], &[SECRET, "signature_1", "sealed_1"]);
        let shrunk = pair.first.requests().pop().unwrap();
        assert_holds(&shrunk.body, &["the story so far", "and now"], &["did Look"]);
        assert_eq!(pair.first.answers_left(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn an_endpoint_may_have_a_law_of_its_own() {
    let image = |name: &str| {
        let media = MediaContent {
            media_type: "image/png".into(),
            data: "iVBORw0KGgo=".into(),
            name: name.into(),
        };
        ContentBlock::Media(media)
    };
    let wire = WireFormat::AnthropicMessages;
    // Says it is of another wire, which changes nothing.
    let mut narrow =
        ProviderRules { wire: WireFormat::Gemini, ..provider_rules::ANTHROPIC_MESSAGES };
    narrow.media.count_max = 1;
    narrow.media.count_batch = 0;
    for (endpoint_law, sent) in [(None, 2), (Some(narrow), 1)] {
        let server = rehearse([Says::text("nice"), Says::text("and again")]).await;
        let mut endpoint = Endpoint::new(wire, server.url());
        endpoint.provider_rules = endpoint_law;
        let (session, mut notices) =
            SessionBuilder::new(FixtureOptions::default().settings, endpoint).start().unwrap();
        session
            .submit(vec![image("one"), image("two"), ContentBlock::Text("see".to_owned())])
            .unwrap();
        assert_completed(&ended(&mut notices).await.0);
        let body = server.requests().pop().unwrap().body;
        assert_eq!(body.matches("\"image\"").count(), sent, "{body}");
    }
}

#[tokio::test]
async fn endpoints_are_for_models_of_the_session() {
    let settings = FixtureOptions::default().settings;
    let endpoint = || Endpoint::new(WireFormat::Gemini, "http://127.0.0.1:1");
    let builder =
        SessionBuilder::new(settings, endpoint()).endpoint_for("misspelt".into(), endpoint());
    let error = builder.start().map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, SessionStartError::Model { name } if name.as_str() == "misspelt"),
        "{error}"
    );
}

#[tokio::test]
async fn endpoints_of_one_origin_share_their_connections() {
    let wires = [WireFormat::OpenaiChat, WireFormat::OpenaiResponses];
    let server = rehearse([
        refusals(529, 3).when_model("rehearsed"),
        Says::text("from the second").when_model("second"),
        Says::text("from the first").when_model("rehearsed"),
    ])
    .await;
    let (url, accepted) = crate::fixture::counting_proxy(server.address()).await;
    let options = FixtureOptions::on(wires[0])
        .with(|settings| settings.fallbacks = vec![facts("second-model")]);
    let builder = options.builder(&url);
    let builder = builder.endpoint_for("second-model".into(), Endpoint::new(wires[1], &url));
    let (session, mut notices) = builder.start().unwrap();
    for message in ["one", "two"] {
        session.submit(message).unwrap();
        assert_completed(&ended(&mut notices).await.0);
    }
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    let (chat, responses) = ("/v1/chat/completions", "/v1/responses");
    assert_eq!(paths, [chat, chat, chat, responses, chat]);
    assert_eq!(*accepted.borrow(), 1);
}
