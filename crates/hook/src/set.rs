//! The hooks of a session, and those of them that are meant at one moment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::callback::Callback;
use crate::config::{Reader, Source};
use crate::event::HookEvent;
use crate::hook::{Hook, OnFailure};

/// The hooks of a session. Clones share what is remembered: a hook that runs once runs once.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    hooks: Vec<Arc<Hook>>,
    pub(crate) switches: Arc<Switches>,
}

/// What settings say of all hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Addresses that may be asked, a star standing for anything; `None` means all.
    pub urls: Option<Vec<String>>,
    /// Variables that may be sent to a server; `None` means those each hook names.
    pub variables: Option<Vec<String>>,
}

/// The hooks that are meant at one moment.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub(crate) hooks: Vec<Arc<Hook>>,
    pub(crate) switches: Arc<Switches>,
}

/// A hook, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// When it runs.
    pub event: HookEvent,
    /// For what; empty means everything.
    pub matcher: String,
    /// What must be true besides.
    pub condition: Option<String>,
    /// command, http, callback, prompt, agent or mcp_tool.
    pub kind: &'static str,
    /// What is asked.
    pub name: String,
    /// How long it may take, in milliseconds.
    pub limit_millis: u128,
    /// What its failure means, if it says.
    pub on_failure: Option<OnFailure>,
    /// Where it is written.
    pub source: String,
    /// It runs; nobody switched it off for this session.
    pub is_on: bool,
}

impl HookSet {
    /// Reads the `hooks` value of one settings layer. The second half is what is wrong with it, one
    /// line each; everything else is read.
    #[must_use]
    pub fn parse(value: &Value, source: &Source) -> (Self, Vec<String>) {
        Self::read(value, source, None)
    }

    /// Reads the `hooks` of a client that is called back.
    #[must_use]
    pub fn callbacks(value: &Value, callback: Arc<dyn Callback>) -> (Self, Vec<String>) {
        Self::read(value, &Source::new("initialize"), Some(callback))
    }

    fn read(
        value: &Value,
        source: &Source,
        callback: Option<Arc<dyn Callback>>,
    ) -> (Self, Vec<String>) {
        let mut reader = Reader { source, callback, problems: Vec::new() };
        let hooks = reader.read(value);
        (Self { hooks, switches: Arc::default() }, reader.problems)
    }

    /// These and those, these first.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.hooks.extend(other.hooks);
        // Whoever says something of all hooks says it of those that are joined too.
        if *self.switches == Switches::default() {
            self.switches = other.switches;
        }
        self
    }

    /// The same hooks, where those that are in both are the old ones: one that runs once has run.
    #[must_use]
    pub fn after(mut self, old: &Self) -> Self {
        for hook in &mut self.hooks {
            let is_it = |known: &&Arc<Hook>| known.is_unchanged(hook);
            if let Some(known) = old.hooks.iter().find(is_it) {
                *hook = Arc::clone(known);
            }
        }
        self
    }

    /// With what settings say of all hooks.
    #[must_use]
    pub fn switched(mut self, switches: Switches) -> Self {
        self.switches = Arc::new(switches);
        self
    }

    /// Is there no hook at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Is anybody to be asked at this moment?
    #[must_use]
    pub fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Those that are meant: by the matcher's target (a tool's name, a source, a reason) and by the
    /// permission rule of `if`, about which `speaks` is asked. Each that does the same is taken once.
    pub fn chosen(
        &self,
        event: HookEvent,
        target: Option<&str>,
        speaks: impl Fn(&str) -> bool,
    ) -> Chosen {
        let mut hooks: Vec<Arc<Hook>> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.event == event) {
            let is_meant = !event.has_target() || hook.matcher.means(target.unwrap_or_default());
            let is_so = match &hook.condition {
                None => true,
                Some(rule) => event.is_about_a_call() && speaks(rule),
            };
            let is_new = !hooks.iter().any(|other| other.is_same(hook));
            let is_over = hook.once && hook.has_run.load(Ordering::Relaxed);
            let is_off = hook.is_off.load(Ordering::Relaxed);
            if is_meant && is_so && is_new && !is_over && !is_off {
                hooks.push(Arc::clone(hook));
            }
        }
        Chosen { hooks, switches: Arc::clone(&self.switches) }
    }

    /// Switches one of those listed on or off, by its place, for as long as the session lasts and in
    /// all clones. Says whether there is one.
    pub fn switch(&self, place: usize, is_on: bool) -> bool {
        let hook = self.hooks.get(place);
        hook.inspect(|hook| hook.is_off.store(!is_on, Ordering::Relaxed)).is_some()
    }

    /// All of them, for people.
    #[must_use]
    pub fn listing(&self) -> Vec<Listed> {
        self.hooks.iter().map(|hook| listed(hook)).collect()
    }
}

impl Chosen {
    /// Is nobody asked?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The longest any of them may take.
    #[must_use]
    pub fn limit(&self) -> std::time::Duration {
        self.hooks.iter().map(|hook| hook.limit()).max().unwrap_or_default()
    }
}

fn listed(hook: &Hook) -> Listed {
    Listed {
        event: hook.event,
        matcher: hook.written.clone(),
        condition: hook.condition.clone(),
        kind: hook.kind.name(),
        name: hook.name(),
        limit_millis: hook.limit().as_millis(),
        on_failure: hook.on_failure,
        source: hook.source.to_string(),
        is_on: !hook.is_off.load(Ordering::Relaxed),
    }
}
