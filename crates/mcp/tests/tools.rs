//! Remote tools as ours: found, named, run, cut, and never in the way.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod server_fixture;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use server_fixture::{LONG, ServerFixture};
use windlass_mcp::{
    ElicitationFuture, ElicitationPrompter, ElicitationReply, ElicitationRequest, McpHost,
    McpServerConfig, McpServerContext, McpServerStatus, McpServerTransport, McpServers,
    McpTimeouts, PrompterSlot, ServerListCache,
};
use windlass_permission::{
    PermissionDecision, PermissionGrant, Policy, PriorDecision, Rule, Rules, decide,
};
use windlass_tool::{ToolCallContext, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{
    Concurrency, Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName, ToolOutcome,
    ToolResultPart,
};

struct NoUser;

impl McpHost for NoUser {}

fn common(fixture: &ServerFixture) -> McpServerContext {
    let tool_context = ToolSessionContext::new(fixture.folder(), fixture.folder().join("spill"));
    McpServerContext::new(
        tool_context,
        McpTimeouts { connect: LONG, ..McpTimeouts::default() },
        Arc::new(NoUser),
    )
}

fn order(fixture: &ServerFixture, name: &str, mode: &str) -> McpServerConfig {
    McpServerConfig::new(name, McpServerTransport::Process(fixture.order(mode)))
}

fn granted(name: &str, input: &Value) -> PermissionGrant<ToolCall> {
    let call = ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from(name),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let policy = Policy { mode: PermissionMode::BypassPermissions, ..Policy::default() };
    match decide(&policy, call, &ToolInspection::EXCLUSIVE_EFFECT, PriorDecision::None) {
        PermissionDecision::Allow(granted) => granted,
        other => panic!("not allowed: {other:?}"),
    }
}

/// A registry with the servers behind it, and a place to run calls in.
struct ToolFixture {
    registry: ToolRegistry,
    context: ToolCallContext,
    servers: McpServers,
    _fixture: ServerFixture,
}

impl ToolFixture {
    fn new(fixture: ServerFixture, orders: Vec<McpServerConfig>, common: McpServerContext) -> Self {
        let servers = McpServers::start(orders, common, None);
        let mut registry = ToolRegistry::with_builtin_tools();
        servers.attach(&mut registry);
        let tool_context =
            ToolSessionContext::new(fixture.folder(), fixture.folder().join("spill"));
        Self {
            registry,
            context: ToolCallContext::new(Arc::new(tool_context)),
            servers,
            _fixture: fixture,
        }
    }

    async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let tool = self.registry.get(name).unwrap_or_else(|| panic!("no {name}"));
        tool.run(granted(name, &input), self.context.clone()).await
    }
}

fn text(outcome: &ToolOutcome) -> String {
    let text = |part: &ToolResultPart| match part {
        ToolResultPart::Text(text) => text.clone(),
        ToolResultPart::Media(media) => format!("<{} {}>", media.media_type, media.data),
    };
    outcome.content.iter().map(text).collect::<Vec<_>>().join("|")
}

fn good() -> ToolFixture {
    let fixture = ServerFixture::new();
    let (orders, common) = (vec![order(&fixture, "my box", "good")], common(&fixture));
    ToolFixture::new(fixture, orders, common)
}

#[tokio::test]
async fn a_tool_is_called_before_its_server_is_there() {
    let tools = good();
    let outcome = tools.call("mcp__my_box__echo", json!({"text": "hello"})).await;
    assert_eq!((text(&outcome).as_str(), outcome.is_error), ("hello", false));
    // Now that it is there, what it does not have is unknown.
    assert!(tools.registry.get("mcp__my_box__nothing").is_none());
}

#[tokio::test]
async fn a_tool_that_turns_out_not_to_be_there_is_told() {
    let tools = good();
    let missing = tools.call("mcp__my_box__nothing", json!({})).await;
    assert!(missing.is_error && text(&missing).contains("mcp__my_box__echo"), "{missing:?}");
}

#[tokio::test]
async fn every_kind_of_result_becomes_an_outcome() {
    let tools = good();
    let cases = [
        ("structured", r#"{"sum":3}"#, false),
        ("link", "[one: memo:one can be read with ReadMcpResourceTool]|inside", false),
        ("fail", "it broke", true),
        ("refuse", "The MCP server `my box`: it answered: not like this (-32602).", true),
    ];
    for (tool, wanted, is_error) in cases {
        let outcome = tools.call(&format!("mcp__my_box__{tool}"), json!({})).await;
        assert_eq!((text(&outcome).as_str(), outcome.is_error), (wanted, is_error), "{tool}");
    }
    let crash = tools.call("mcp__my_box__crash", json!({})).await;
    let words = text(&crash);
    assert!(crash.is_error && words.contains("was lost") && words.contains("not known"), "{words}");
}

#[tokio::test]
async fn a_long_result_is_a_file_with_a_preview() {
    let tools = good();
    let outcome = tools.call("mcp__my_box__long", json!({})).await;
    let shown = text(&outcome);
    assert!(shown.len() < 5_000 && shown.starts_with("The result has 600001 bytes."), "{shown}");
    let path = shown.split(" is in ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 40_000 + 1);
}

#[tokio::test]
async fn a_search_waits_for_servers_and_offers_their_tools() {
    let tools = good();
    let before = tools.registry.specs();
    let outcome = tools.call("ToolSearch", json!({"query": "select:mcp__my_box__echo"})).await;
    let offered = outcome.update.unwrap().tools;
    assert_eq!(offered.len(), 1);
    assert_eq!(offered[0].name.as_str(), "mcp__my_box__echo");
    assert_eq!(before, tools.registry.specs(), "nothing changes by itself");
    let inspect = |tool: &str| {
        tools.registry.inspect(&format!("mcp__my_box__{tool}"), &Json::empty_object()).concurrency
    };
    assert_eq!((inspect("echo"), inspect("fail")), (Concurrency::Shared, Concurrency::Exclusive));
}

#[tokio::test]
async fn resources_and_prompts_are_reached() {
    let tools = good();
    tools.servers.wait_until_settled(LONG).await;
    let listed = tools.call("ListMcpResourcesTool", json!({})).await;
    assert!(text(&listed).contains(r#""server":"my box""#), "{}", text(&listed));
    let read =
        tools.call("ReadMcpResourceTool", json!({"server": "my box", "uri": "memo:one"})).await;
    assert_eq!(text(&read), "the first memo");
    let prompts = tools.servers.prompt_commands();
    assert_eq!(prompts[0].name, "mcp__my_box__greet");
    assert_eq!(prompts[0].argument_hint(), "<whom>");
    let said = |prompt: &'static str| tools.servers.expand_prompt(prompt);
    let block = said(" /mcp__my_box__greet all of you").await.unwrap().unwrap();
    assert_eq!(format!("{block:?}"), r#"[Text("Greet \"all of you\".")]"#);
    for (prompt, why) in [
        ("/mcp__my_box__greet", "`whom` is missing"),
        ("/mcp__my_box__grump x", "there are: mcp__my_box__greet"),
    ] {
        let problem = said(prompt).await.unwrap().unwrap_err();
        assert!(problem.contains(why), "{prompt}: {problem}");
    }
    assert!(said("/mcp__other__greet x").await.is_none());
    assert!(said("mcp__my_box__greet x").await.is_none());
    assert_eq!(
        tools.servers.read_mentioned_resource("my box:memo:one").await,
        Some(Ok("the first memo".into()))
    );
    assert_eq!(tools.servers.read_mentioned_resource("other:memo:one").await, None);
}

#[tokio::test]
async fn whoever_sits_in_front_is_asked_and_nobody_says_no() {
    struct Friendly;
    impl ElicitationPrompter for Friendly {
        fn prompt(&self, question: ElicitationRequest) -> ElicitationFuture {
            assert_eq!((question.server.as_str(), question.url), ("my box", None));
            let reply = ElicitationReply::Accept(Some(json!({"colour": question.message})));
            Box::pin(std::future::ready(reply))
        }
    }
    for (seat, is_taken, wanted) in [
        (
            PrompterSlot::reserve(),
            true,
            r#"{"action":"accept","content":{"colour":"Which colour?"}}"#,
        ),
        (PrompterSlot::reserve(), false, r#"{"action":"decline"}"#),
        (PrompterSlot::none(), true, r#"{"action":"decline"}"#),
    ] {
        let fixture = ServerFixture::new();
        let orders = vec![order(&fixture, "my box", "good")];
        let mut common = common(&fixture);
        common.prompter = seat;
        let tools = ToolFixture::new(fixture, orders, common);
        if is_taken {
            tools.servers.set_prompter(Arc::new(Friendly));
        }
        let outcome = tools.call("mcp__my_box__ask", json!({})).await;
        assert_eq!(text(&outcome), wanted);
    }
}

#[tokio::test]
async fn s5_what_was_allowed_for_a_tool_is_asked_again_when_it_has_changed() {
    let tools = good();
    let echo = "mcp__my_box__echo";
    let policy = Policy {
        can_ask: true,
        rules: Rules { allow: vec![Rule::parse("mcp__my_box").unwrap()], ..Rules::default() },
        ..Policy::default()
    };
    let ruling = || {
        let input = Json::from_checked("{}");
        let inspection = tools.registry.inspect(echo, &input);
        let (id, name) = (ToolCallId::from("call"), ToolName::from(echo));
        decide(
            &policy,
            ToolCall { id, name, input, signature: None },
            &inspection,
            PriorDecision::None,
        )
    };
    tools.call(echo, json!({"text": "first"})).await;
    assert!(matches!(ruling(), PermissionDecision::Allow(_)));
    tools.call("mcp__my_box__change", json!({})).await;
    let has_newcomer =
        || tools.servers.server_reports()[0].tools.iter().any(|tool| tool.ends_with("newcomer"));
    while !has_newcomer() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let PermissionDecision::Ask(question) = ruling() else { panic!("not asked: {:?}", ruling()) };
    assert!(question.view().why.contains("has changed what its tool `echo`"));
    // A yes counts for the tool as it is now.
    tools.call(echo, json!({"text": "second"})).await;
    assert!(matches!(ruling(), PermissionDecision::Allow(_)));
}

#[tokio::test]
async fn a_server_that_hangs_delays_nobody_else() {
    let fixture = ServerFixture::new();
    let orders = vec![order(&fixture, "stuck", "hang"), order(&fixture, "fine", "good")];
    let common = common(&fixture);
    let tools = ToolFixture::new(fixture, orders, common);
    let outcome = tools.call("mcp__fine__echo", json!({"text": "at once"})).await;
    assert_eq!(text(&outcome), "at once");
    let status: Vec<&str> =
        tools.servers.server_reports().iter().map(|server| server.status.as_str()).collect();
    assert_eq!(status, ["pending", "connected"]);
}

#[tokio::test]
async fn one_that_is_switched_off_is_gone_until_switched_on() {
    let tools = good();
    tools.servers.wait_until_settled(LONG).await;
    tools.servers.set_enabled("my box", false).await.unwrap();
    let is = |status: McpServerStatus| tools.servers.server_reports()[0].status == status;
    while !is(McpServerStatus::Disabled) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(tools.registry.get("mcp__my_box__echo").is_none());
    tools.servers.set_enabled("my box", true).await.unwrap();
    while !is(McpServerStatus::Connected) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(tools.registry.get("mcp__my_box__echo").is_some());
    assert!(tools.servers.reconnect("nobody").await.is_err());
}

#[tokio::test]
async fn a_cut_of_offered_tools_keeps_or_leaves_a_server_whole() {
    let fixture = ServerFixture::new();
    let memory = ServerListCache::new(fixture.folder().join("cache"));
    let mut orders: Vec<McpServerConfig> = [("a", "wide"), ("b", "wide"), ("c", "good")]
        .map(|(name, mode)| order(&fixture, name, mode))
        .to_vec();
    let mut always = order(&fixture, "always", "wide");
    always.is_always_loaded = true;
    orders.push(always);
    let mut first = common(&fixture);
    first.list_cache = Some(memory.clone());
    let tools = ToolFixture::new(fixture, orders.clone(), first);
    tools.servers.wait_until_settled(LONG).await;
    // The next session knows their tools, and there is room for some of them only.
    let mut second = common(&tools._fixture);
    second.list_cache = Some(memory);
    let servers = McpServers::start(orders, second, None);
    let mut registry = ToolRegistry::with_builtin_tools();
    servers.attach(&mut registry);
    let specs = registry.specs();
    let offered = servers.server_reports().into_iter().map(|server| {
        let is_offered = |tool: &String| specs.iter().any(|spec| spec.name.as_str() == *tool);
        let count = server.tools.iter().filter(|tool| is_offered(tool)).count();
        (server.name, count, server.tools.len())
    });
    let offered: Vec<(String, usize, usize)> = offered.collect();
    let is_kept = |name: &str| {
        let (_, count, all) = offered.iter().find(|(server, ..)| server == name).unwrap();
        assert!(*count == 0 || count == all, "{name} is offered in part: {offered:?}");
        *count > 0
    };
    assert!(is_kept("a") && is_kept("b"), "there is room for two: {offered:?}");
    assert!(!is_kept("c"), "there is none left for all of its tools: {offered:?}");
    assert!(is_kept("always"), "it is offered whatever there is room for: {offered:?}");
}

#[tokio::test]
async fn five_hundred_tools_cost_little_and_are_remembered() {
    let fixture = ServerFixture::new();
    let memory = ServerListCache::new(fixture.folder().join("cache"));
    let orders: Vec<McpServerConfig> =
        (0..20).map(|number| order(&fixture, &format!("server_number_{number}"), "wide")).collect();
    let mut first = common(&fixture);
    first.list_cache = Some(memory.clone());
    let tools = ToolFixture::new(fixture, orders.clone(), first);
    let told = |registry: &ToolRegistry| -> usize {
        let specs = registry.specs();
        let bytes = |spec: &windlass_vocabulary::ToolSpec| {
            spec.name.as_str().len() + spec.description.len() + spec.input_schema.as_str().len()
        };
        specs.iter().map(bytes).sum()
    };
    let bare = told(&ToolRegistry::with_builtin_tools());
    let early = told(&tools.registry) - bare;
    tools.servers.wait_until_settled(LONG).await;
    let status = tools.servers.server_reports();
    assert_eq!(status.iter().map(|server| server.tools.len()).sum::<usize>(), 500);
    assert_eq!(told(&tools.registry) - bare, early, "what is told does not change");
    // A token is about four bytes.
    assert!(early / 4 < 2_000, "{early} bytes");
    // The next session knows them without starting anybody.
    let mut second = common(&tools._fixture);
    second.list_cache = Some(memory);
    let servers = McpServers::start(orders, second, None);
    assert!(
        servers
            .server_reports()
            .iter()
            .all(|one| one.status == McpServerStatus::Idle && one.tools.len() == 25)
    );
    let mut registry = ToolRegistry::with_builtin_tools();
    servers.attach(&mut registry);
    assert!((told(&registry) - bare) / 4 < 2_000, "{} bytes", told(&registry) - bare);
    let name = "mcp__server_number_7__tool_number_3";
    let tool = registry.get(name).unwrap();
    let outcome = tool.run(granted(name, &json!({})), tools.context.clone()).await;
    assert!(text(&outcome).contains("no tool tool_number_3"), "{}", text(&outcome));
    let status = servers.server_reports();
    let started: Vec<&str> = status
        .iter()
        .filter(|one| one.status == McpServerStatus::Connected)
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(started, ["server_number_7"]);
}
