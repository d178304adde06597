//! Tools that ask a model beside the conversation: for a page, or for a search of the web.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_driver::Endpoint;
use windlass_rehearsal::{ScriptedAnswer as Says, ScriptedFault};
use windlass_vocabulary::{
    MicroUsd, Notice, Prices, RequestSource, Tokens, ToolOutcome, Usage, WireFormat,
};

use crate::fixture::{FixtureOptions, SessionFixture, assert_completed, rehearse};

/// A search as each wire streams it: two pages found, one of a host that was not wanted.
fn found(wire: WireFormat) -> String {
    let (here, there) = ("https://docs.example.org/masts", "https://ads.example.com/buy");
    let events = match wire {
        WireFormat::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"id": "m", "type": "message",
                "role": "assistant", "model": "m", "content": [], "stop_reason": null,
                "usage": {"input_tokens": 4000, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {
                "type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {
                "type": "web_search_tool_result", "tool_use_id": "srv", "content": [
                    {"type": "web_search_result", "url": here, "title": "On masts",
                        "encrypted_content": "x"},
                    {"type": "web_search_result", "url": there, "title": "Buy",
                        "encrypted_content": "x"}]}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2,
                "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 2,
                "delta": {"type": "text_delta", "text": "Three masts."}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 100,
                    "server_tool_use": {"web_search_requests": 2}}}),
            json!({"type": "message_stop"}),
        ],
        WireFormat::OpenaiResponses => {
            let message = json!({"id": "msg", "type": "message", "role": "assistant",
                "status": "completed", "content": [{"type": "output_text", "text": "Three masts.",
                    "annotations": [
                        {"type": "url_citation", "url": here, "title": "On masts"},
                        {"type": "url_citation", "url": there, "title": "Buy"}]}]});
            vec![
                json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": {
                    "id": "ws", "type": "web_search_call", "status": "completed",
                    "action": {"type": "search", "query": "masts"}}}),
                json!({"type": "response.output_item.done", "output_index": 1, "item": {
                    "id": "wt", "type": "web_search_call", "status": "completed",
                    "action": {"type": "search", "query": "barks"}}}),
                json!({"type": "response.output_item.added", "output_index": 2,
                    "item": {"id": "msg", "type": "message", "role": "assistant", "content": []}}),
                json!({"type": "response.output_text.delta", "output_index": 2,
                    "item_id": "msg", "content_index": 0, "delta": "Three masts."}),
                json!({"type": "response.output_item.done", "output_index": 2, "item": message}),
                json!({"type": "response.completed", "response": {"id": "r", "model": "m",
                    "status": "completed", "output": [message],
                    "usage": {"input_tokens": 4000, "output_tokens": 100}}}),
            ]
        }
        WireFormat::Gemini => vec![json!({"candidates": [{
            "content": {"role": "model", "parts": [{"text": "Three masts."}]},
            "finishReason": "STOP",
            "groundingMetadata": {"webSearchQueries": ["masts", "barks"], "groundingChunks": [
                {"web": {"uri": here, "title": "On masts"}},
                {"web": {"uri": there, "title": "Buy"}}]}}],
            "usageMetadata": {"promptTokenCount": 4000, "candidatesTokenCount": 100}})],
        WireFormat::OpenaiChat => Vec::new(),
    };
    let lines = events.iter().map(|event| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    });
    lines.collect()
}

async fn play(options: FixtureOptions, answers: Vec<Says>) -> SessionFixture {
    let rehearsal = rehearse(answers).await;
    let endpoint = Endpoint::new(options.wire, rehearsal.url()).with_web_search(true);
    let builder = windlass_driver::SessionBuilder::new(options.settings.clone(), endpoint)
        .registry(options.registry.clone())
        .tool_context(crate::fixture::tool_context(options.directory.path()))
        .web_search(true);
    let (session, notices) = builder.start().unwrap();
    let (directory, wire) = (options.directory, options.wire);
    SessionFixture { rehearsal, session, notices, directory, wire }
}

fn priced(wire: WireFormat) -> FixtureOptions {
    FixtureOptions::on(wire).with(|settings| {
        settings.model.prices = Prices { input: 1_000_000, output: 1_000_000, ..Prices::default() };
    })
}

fn outcome(received: &[Notice]) -> ToolOutcome {
    let ended = received.iter().find_map(|notice| match notice {
        Notice::ToolEnded { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    ended.unwrap()
}

#[tokio::test]
async fn the_provider_searches_over_every_wire_that_has_a_word_for_it() {
    for wire in [WireFormat::AnthropicMessages, WireFormat::OpenaiResponses, WireFormat::Gemini] {
        let input = json!({ "query": "masts of a bark", "blocked_domains": ["example.com"] });
        let bill = Usage { input: Tokens(9_000), output: Tokens(10), ..Usage::default() };
        let answers = vec![
            Says::raw(found(wire)).when_source(RequestSource::Aside),
            Says::call("WebSearch", input).usage(bill),
            Says::text("three").usage(bill),
        ];
        let mut fixture = play(priced(wire), answers).await;
        let (ending, received) = fixture.run("how many masts?").await;
        assert_completed(&ending);
        let outcome = outcome(&received);
        let text = format!("{:?}", outcome.content);
        assert!(!outcome.is_error, "{wire:?}: {text}");
        assert!(text.contains("Three masts."), "{wire:?}: {text}");
        assert!(text.contains("[On masts](https://docs.example.org/masts)"), "{wire:?}: {text}");
        assert!(!text.contains("ads.example.com"), "{wire:?}: {text}");
        // Two requests of the conversation, and one beside it, which searched twice.
        let fees = 2 * if wire == WireFormat::Gemini { 35_000 } else { 10_000 };
        assert_eq!(ending.cost, MicroUsd(2 * 9_010 + 4_100 + fees), "{wire:?}");
        let requests = fixture.rehearsal.requests();
        let aside = requests.iter().find(|one| one.body.contains("Search the web for")).unwrap();
        let body: Value = aside.json().unwrap();
        let tool = body["tools"][0].to_string();
        match wire {
            WireFormat::Gemini => assert!(tool.contains("google_search"), "{tool}"),
            _ => assert!(tool.contains("web_search") && tool.contains("example.com"), "{tool}"),
        }
        assert_eq!(body["tools"].as_array().unwrap().len(), 1, "{wire:?}");
        assert!(!aside.body.contains("how many masts?"), "nothing of the conversation goes along");
    }
}

/// A search costs a fee besides, and is not begun when the rest of the budget could not pay for it.
#[tokio::test]
async fn a_search_that_could_not_be_paid_for_is_not_begun() {
    for (budget, is_begun) in [(60_000, false), (200_000, true)] {
        let answers = vec![
            Says::raw(found(WireFormat::AnthropicMessages)).when_source(RequestSource::Aside),
            Says::call("WebSearch", json!({ "query": "masts of a bark" })),
            Says::text("done"),
        ];
        let options = priced(WireFormat::AnthropicMessages)
            .with(|settings| settings.budget.budget_max = Some(MicroUsd(budget)));
        let mut fixture = play(options, answers).await;
        let (ending, received) = fixture.run("how many masts?").await;
        assert!(ending.cost <= MicroUsd(budget), "{ending:?}");
        let text = format!("{:?}", outcome(&received).content);
        assert_eq!(text.contains("too little money"), !is_begun, "{budget}: {text}");
        let requests = fixture.rehearsal.requests();
        let is_asked = requests.iter().any(|one| one.body.contains("Search the web for"));
        assert_eq!(is_asked, is_begun, "{budget}");
    }
}

#[tokio::test]
async fn where_nobody_searches_the_tool_does_not_exist() {
    let answers = vec![
        Says::call("WebSearch", json!({ "query": "masts" })),
        Says::text("then not").when_result("There is no tool `WebSearch`"),
    ];
    let mut fixture = play(FixtureOptions::on(WireFormat::OpenaiChat), answers).await;
    assert_completed(&fixture.run("go").await.0);
}

/// A page on loopback, served as often as it is asked for.
async fn page(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).await;
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn a_long_page_is_read_by_a_model_and_shown_when_that_fails() {
    let long = format!("<h1>Log</h1><p>{}</p>", "calm sea, light wind. ".repeat(400));
    let short = "<p>calm sea</p>".to_owned();
    let refused = || Says::from_fault(ScriptedFault::refuse(400)).when_source(RequestSource::Aside);
    let answers = || Says::text("It was calm.").when_source(RequestSource::Aside);
    let cases = [
        ("a model answers", &long, None, answers(), true),
        ("it fails", &long, None, refused(), false),
        ("a short page", &short, None, answers(), false),
        ("the page itself is wanted", &long, Some(0), answers(), false),
    ];
    for (name, body, offset, aside, is_digest) in cases {
        let mut input = json!({ "url": page(body.clone()).await, "prompt": "How was the sea?" });
        if let Some(offset) = offset {
            input["offset"] = json!(offset);
        }
        let answers = vec![aside, Says::call("WebFetch", input), Says::text("done")];
        let mut options = priced(WireFormat::AnthropicMessages);
        options.settings.model.prices = Prices::default();
        let rehearsal = rehearse(answers).await;
        let mut tool_context = crate::fixture::tool_context(options.directory.path());
        tool_context.network.loopback = true;
        let builder = options.builder(&rehearsal.url()).tool_context(tool_context);
        let (session, notices) = builder.start().unwrap();
        let (directory, wire) = (options.directory, options.wire);
        let mut fixture = SessionFixture { rehearsal, session, notices, directory, wire };
        let (ending, received) = fixture.run("go").await;
        assert_completed(&ending);
        let text = format!("{:?}", outcome(&received).content);
        assert_eq!(text.contains("It was calm."), is_digest, "{name}: {text}");
        assert_eq!(text.contains("calm sea"), !is_digest, "{name}: {text}");
    }
}
