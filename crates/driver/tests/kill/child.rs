//! The process that is killed: a session with a real journal whose tool appends to a log. Goes on
//! where the last one stopped, and dies where it is told to.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use serde_json::json;
use windlass_driver::engine_settings::Settings;
use windlass_driver::{
    Durability, Endpoint, PermissionGrant, SessionBuilder, Tool, ToolCallContext, ToolFuture,
    ToolRegistry, ToolSessionContext,
};
use windlass_vocabulary::{
    Json, ModelFacts, PermissionMode, Prices, Tokens, ToolCall, ToolInspection, ToolOutcome,
    ToolSpec, WireFormat,
};

/// What a child is told, in its environment.
pub(crate) const FOLDER: &str = "KILL_FOLDER";
pub(crate) const URL: &str = "KILL_URL";
pub(crate) const WORDS: &str = "KILL_WORDS";
/// Files may not grow beyond this: the write that would is the last thing it does.
pub(crate) const LIMIT: &str = "KILL_LIMIT";
/// Dies in this call of its tool, counted from 1: before the effect if odd, behind it if even.
pub(crate) const CALL: &str = "KILL_CALL";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Is this process the child?
pub(crate) fn is_here() -> bool {
    variable(FOLDER).is_some()
}

pub(crate) async fn live() {
    let folder = PathBuf::from(variable(FOLDER).unwrap());
    if let Some(limit) = variable(LIMIT) {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).unwrap();
        let limit = limit.parse().ok();
        setrlimit(Resource::Fsize, Rlimit { current: limit, maximum: limit }).unwrap();
    }
    let (session, mut notices) = builder(&folder, &variable(URL).unwrap()).start().unwrap();
    session.submit(variable(WORDS).unwrap()).unwrap();
    // A message that finds a run going on is taken into it. One that finds it just ended begins
    // another, which this life leaves as it is: the next one has it before it.
    let ending = notices.wait_for_run_end().await;
    session.close().await;
    println!("ended: {ending:?}");
}

fn builder(folder: &Path, url: &str) -> SessionBuilder {
    let mut settings = Settings::new(ModelFacts {
        name: "rehearsed-model".into(),
        window: Tokens(100_000_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    });
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings.limits.turns_max = 1_000_000;
    let mut registry = ToolRegistry::empty();
    registry.insert(Arc::new(Append::new(folder.join("log"))));
    SessionBuilder::new(settings, Endpoint::new(WireFormat::AnthropicMessages, url))
        .registry(registry)
        .tool_context(ToolSessionContext::new(folder, folder.join("spill")))
        .journal(folder.join("session.jsonl"), Durability::Synced)
        .resume_run(true)
}

/// Appends the id of its call to a log.
struct Append {
    spec: ToolSpec,
    log: PathBuf,
    calls: AtomicUsize,
    dies_in: Option<usize>,
}

impl Append {
    fn new(log: PathBuf) -> Self {
        let spec = ToolSpec {
            name: "Append".into(),
            description: "Appends to a log.".into(),
            input_schema: Json::from_checked(&json!({ "type": "object" }).to_string()),
            result_bytes_max: 1_000,
        };
        let dies_in = variable(CALL).and_then(|call| call.parse().ok());
        Self { spec, log, calls: AtomicUsize::new(0), dies_in }
    }

    fn append(&self, call: &str) {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let dies_now = self.dies_in.map(|dies_in| (dies_in.div_ceil(2), dies_in % 2));
        if dies_now == Some((number, 1)) {
            die();
        }
        let mut log = OpenOptions::new().append(true).create(true).open(&self.log).unwrap();
        log.write_all(format!("{call}\n").as_bytes()).unwrap();
        if dies_now == Some((number, 0)) {
            die();
        }
    }
}

fn die() {
    let me: Pid = getpid();
    kill_process(me, Signal::KILL).unwrap();
    loop {
        std::thread::yield_now();
    }
}

impl Tool for Append {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _: &Json) -> ToolInspection {
        ToolInspection::EXCLUSIVE_EFFECT
    }

    fn run<'a>(&'a self, call: PermissionGrant<ToolCall>, _: ToolCallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let id = call.get().id.as_str();
            self.append(id);
            // Each result is another one: who does the same again and again is asked why.
            ToolOutcome::from_text(format!("appended {id}"))
        })
    }
}
