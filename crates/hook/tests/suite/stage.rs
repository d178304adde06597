//! A place to run hooks in, and a short way to write them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_hook::{Ground, HookEvent, HookSet, Joint, Occasion, Said, Source, Watcher};

pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) ground: Ground,
    pub(crate) watched: Arc<Watched>,
}

/// What was told of hooks.
#[derive(Debug, Default)]
pub(crate) struct Watched(pub(crate) Mutex<Vec<String>>);

impl Watcher for Watched {
    fn started(&self, _: u64, name: &str, event: HookEvent) {
        self.0.lock().unwrap().push(format!("start {name} {}", event.name()));
    }

    fn ended(&self, said: &Said) {
        let line = format!("end {} {:?} {:?}", said.moment, said.exit_code, said.failure);
        self.0.lock().unwrap().push(line);
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let watched = Arc::new(Watched::default());
        let cwd = directory.path().canonicalize().unwrap();
        let ground = Ground {
            project: cwd.clone(),
            environment: windlass_tool::environment::child_environment(std::env::vars_os()),
            spill: cwd.join("spill"),
            cwd,
            aside: Arc::default(),
            watcher: Some(watched.clone()),
            counsel: None,
            waker: None,
        };
        Self { directory, ground, watched }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.ground.cwd
    }

    /// Asks hooks at an event about the tool `Bash`.
    pub(crate) async fn ask(&self, event: HookEvent, hooks: &[Value]) -> Joint {
        self.ask_with(event, hooks, Occasion::default()).await
    }

    pub(crate) async fn ask_with(
        &self,
        event: HookEvent,
        hooks: &[Value],
        occasion: Occasion,
    ) -> Joint {
        let set = set(event, hooks);
        let input = match occasion.input {
            Value::Null => json!({ "hook_event_name": event.name(), "tool_name": "Bash" }),
            input => input,
        };
        let about = Some("Bash".to_owned());
        let occasion = Occasion { input, about, ..occasion };
        set.chosen(event, Some("Bash"), |_| true).run(occasion, &self.ground).await
    }
}

pub(crate) fn set(event: HookEvent, hooks: &[Value]) -> HookSet {
    let value = json!({ (event.name()): [{ "hooks": hooks }] });
    let (set, problems) = HookSet::parse(&value, &Source::new("test"));
    assert_eq!(problems, Vec::<String>::new());
    set
}

pub(crate) fn command(line: &str) -> Value {
    json!({ "type": "command", "command": line })
}
