//! Many sessions in one process, each a run of turns with three calls a turn: one that changes the
//! world, two that look. Against a rehearsed server over real sockets, with real journals. Counts
//! what it costs; judging is left to the caller.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use windlass_driver::engine_settings::Settings;
use windlass_driver::{
    Durability, Endpoint, LatencyHistogram, PermissionGrant, SessionBuilder, Tool, ToolCallContext,
    ToolFuture, ToolRegistry, ToolSessionContext,
};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer};
use windlass_vocabulary::{
    Json, ModelFacts, Notice, PermissionMode, Prices, Terminal, Tokens, ToolCall, ToolInspection,
    ToolOutcome, ToolSpec, WireFormat,
};

/// Sessions at one server, which takes so many connections and lets others wait.
const SERVED_MAX: usize = 250;
/// Events of an answer with three calls.
const EVENTS_OF_A_TURN: u32 = 15;
/// The longest all of it may take.
const PATIENCE: Duration = Duration::from_secs(1_200);

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Sessions that did not end as they should, in words.
    pub(crate) errors: Vec<String>,
    /// Each turn's time, in order within its session.
    pub(crate) turns: Vec<Vec<Duration>>,
    /// Waits for the disk.
    pub(crate) waits: Arc<LatencyHistogram>,
    pub(crate) took: Duration,
    /// The most this process held at any time: memory in KiB, and open files.
    pub(crate) memory_kib: u64,
    pub(crate) files: usize,
}

impl Report {
    /// So many of a hundred turns took at most this long.
    pub(crate) fn turn(&self, percent: usize) -> Duration {
        let mut all: Vec<Duration> = self.turns.iter().flatten().copied().collect();
        all.sort();
        all.get((all.len() * percent / 100).min(all.len().saturating_sub(1))).copied().unwrap()
    }
}

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) sessions: usize,
    pub(crate) turns: usize,
    /// Without it nothing is written down.
    pub(crate) durability: Option<Durability>,
    /// Between two events of an answer. A model that takes its time: the sessions then begin one after
    /// the other within the time of about a turn. Without it every answer is there at once, and so is
    /// every session.
    pub(crate) pace: Duration,
    pub(crate) directory: &'a Path,
}

/// Runs these sessions.
pub(crate) async fn run(load: Load<'_>) -> Report {
    let Load { sessions, turns, durability, pace, directory } = load;
    let mut servers = Vec::new();
    for _ in 0..sessions.div_ceil(SERVED_MAX) {
        let script = script(turns).pace(pace);
        servers.push(Rehearsal::start(script, RehearsalOptions::default()).await.unwrap());
    }
    let waits = Arc::new(LatencyHistogram::default());
    let start = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..sessions {
        let server = &servers[number / SERVED_MAX];
        let builder = builder(&server.url(), directory, number, turns);
        let part = u32::try_from(number).unwrap() * pace / u32::try_from(sessions).unwrap();
        let begins = tokio::time::Instant::now() + part * EVENTS_OF_A_TURN;
        let builder = match durability {
            None => builder,
            Some(durability) => builder
                .journal(directory.join(format!("{number}.jsonl")), durability)
                .disk_latency(Arc::clone(&waits)),
        };
        running.spawn(async move {
            tokio::time::sleep_until(begins).await;
            session(builder, turns).await
        });
    }
    let mut report = Report { waits, ..Report::default() };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut look = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            ended = running.join_next() => match ended {
                Some(Ok(Ok(turns))) => report.turns.push(turns),
                Some(Ok(Err(words))) => report.errors.push(words),
                Some(Err(error)) => report.errors.push(error.to_string()),
                None => break,
            },
            _ = look.tick() => report.look(),
            () = tokio::time::sleep_until(deadline) => {
                report.errors.push(format!("{} sessions did not end", running.len()));
                break;
            }
        }
    }
    report.took = start.elapsed();
    report
}

impl Report {
    /// Linux says what a process holds; elsewhere it stays unknown.
    fn look(&mut self) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        self.memory_kib = self.memory_kib.max(memory.unwrap_or(0));
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.files = self.files.max(files);
    }
}

async fn session(builder: SessionBuilder, turns: usize) -> Result<Vec<Duration>, String> {
    let (session, mut notices) = builder.start().map_err(|error| error.to_string())?;
    let mut begun = Instant::now();
    session.submit("go").map_err(|error| error.to_string())?;
    let mut times = Vec::with_capacity(turns);
    let mut warnings = Vec::new();
    let ending = loop {
        match notices.next().await {
            Some(Notice::Continued { .. }) => {
                times.push(begun.elapsed());
                begun = Instant::now();
            }
            Some(Notice::RunEnded(ending)) => break ending,
            Some(Notice::Warning(words)) => warnings.push(words),
            Some(_) => {}
            None => return Err(format!("it closed early: {warnings:?}")),
        }
    };
    times.push(begun.elapsed());
    session.close().await;
    match ending.terminal {
        Terminal::Completed if times.len() == turns && warnings.is_empty() => Ok(times),
        _ => Err(format!("{ending:?} after {} turns: {warnings:?}", times.len())),
    }
}

fn script(turns: usize) -> Script {
    let call = |step: usize| {
        let work = json!({ "step": step });
        ScriptedAnswer::text(format!("I take step {step} now."))
            .tool("Work", work.clone())
            .tool("Look", work.clone())
            .tool("Look", work)
            .repeat(0)
    };
    let steps = (1..turns).map(|step| match step {
        1 => call(1).when("go"),
        _ => call(step).when_result(format!("step {}.", step - 1)),
    });
    let last = ScriptedAnswer::text("Done.").when_result(format!("step {}.", turns - 1)).repeat(0);
    steps.chain([last]).collect()
}

fn builder(url: &str, directory: &Path, number: usize, turns: usize) -> SessionBuilder {
    let mut settings = Settings::new(ModelFacts {
        name: "rehearsed-model".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    });
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings.limits.turns_max = u32::try_from(turns + 1).unwrap();
    let mut registry = ToolRegistry::empty();
    registry.insert(Arc::new(Step::new("Work", ToolInspection::EXCLUSIVE_EFFECT)));
    registry.insert(Arc::new(Step::new("Look", ToolInspection::SHARED_READ)));
    let spill = directory.join(format!("{number}.spill"));
    SessionBuilder::new(settings, Endpoint::new(WireFormat::AnthropicMessages, url))
        .registry(registry)
        .tool_context(ToolSessionContext::new(directory, spill))
}

/// A tool that says what it was told and does nothing: what is measured is the rest.
struct Step {
    spec: ToolSpec,
    inspection: ToolInspection,
}

impl Step {
    fn new(name: &str, inspection: ToolInspection) -> Self {
        let schema = json!({ "type": "object", "properties": { "step": { "type": "integer" } } });
        let spec = ToolSpec {
            name: name.into(),
            description: "Takes a step.".into(),
            input_schema: Json::from_checked(&schema.to_string()),
            result_bytes_max: 10_000,
        };
        Self { spec, inspection }
    }
}

impl Tool for Step {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _: &Json) -> ToolInspection {
        self.inspection.clone()
    }

    fn run<'a>(&'a self, call: PermissionGrant<ToolCall>, _: ToolCallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let input: serde_json::Value =
                serde_json::from_str(call.get().input.as_str()).unwrap_or_default();
            ToolOutcome::from_text(format!("step {}. {}", input["step"], "A result. ".repeat(20)))
        })
    }
}
