//! Asks all hooks that are meant at one moment, side by side, and waits for all of them.
//!
//! Each keeps its own deadline. A hook that panics inside us has failed like any other. Those nobody
//! waits for are left to their owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::answer::{End, Heard, Said, read};
use crate::command::{self, Asked};
use crate::ground::{Ground, Occasion};
use crate::hook::{Hook, Kind};
use crate::http;
use crate::set::{Chosen, Switches};
use crate::verdict::Joint;

impl Chosen {
    /// Asks them all. Dropping the future ends every one with everything it started, except those
    /// nobody waits for.
    pub async fn run(self, occasion: Occasion, ground: &Ground) -> Joint {
        let occasion = Arc::new(occasion);
        let one = |hook| One {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed) + 1,
            hook,
            occasion: Arc::clone(&occasion),
            ground: ground.clone(),
            switches: Arc::clone(&self.switches),
        };
        let all: Vec<Arc<One>> = self.hooks.into_iter().map(one).map(Arc::new).collect();
        let mut said: Vec<Option<Said>> = all.iter().map(|_| None).collect();
        let mut tasks = JoinSet::new();
        for (place, one) in all.iter().enumerate() {
            one.hook.has_run.store(true, Ordering::Relaxed);
            let asked = Arc::clone(one);
            if !one.hook.is_async {
                tasks.spawn(async move { (place, asked.ask().await) });
            } else if !ground.aside.leave(async move { drop(asked.ask().await) }) {
                let full = one.broken("was left out: too many hooks run beside");
                put(&mut said, place, full);
            }
        }
        while let Some(joined) = tasks.join_next().await {
            if let Ok((place, one)) = joined {
                put(&mut said, place, one);
            }
        }
        for (place, one) in all.iter().enumerate() {
            if said.get(place).is_some_and(Option::is_none) && !one.hook.is_async {
                let panicked = one.broken("ended because of a fault inside Windlass");
                put(&mut said, place, panicked);
            }
        }
        Joint::of(said.into_iter().flatten().collect())
    }
}

fn put(said: &mut [Option<Said>], place: usize, one: Said) {
    if let Some(slot) = said.get_mut(place) {
        *slot = Some(one);
    }
}

/// One hook about to be asked.
struct One {
    number: u64,
    hook: Arc<Hook>,
    occasion: Arc<Occasion>,
    ground: Ground,
    switches: Arc<Switches>,
}

impl One {
    async fn ask(&self) -> Said {
        let watcher = self.ground.watcher.clone();
        if let Some(watcher) = &watcher {
            watcher.started(self.number, &self.moment(), self.hook.event);
        }
        let begun = Instant::now();
        let limit = match (self.occasion.limit, self.hook.limit) {
            (Some(shared), None) => self.hook.limit().min(shared),
            _ => self.hook.limit(),
        };
        let heard = self.heard(limit).await;
        let said = self.said(heard, begun.elapsed());
        if let Some(watcher) = &watcher {
            watcher.ended(&said);
        }
        said
    }

    async fn heard(&self, limit: Duration) -> Heard {
        let Occasion { input, tool_use_id, env_file, cancel, .. } = &*self.occasion;
        let bytes = || input.to_string().into_bytes();
        let waited = async {
            match &self.hook.kind {
                // Keeps the deadline itself, so that its tree is asked to end before it is killed.
                Kind::Command(command) => {
                    let (env_file, cancel) = (env_file.as_deref(), cancel.clone());
                    let asked = Asked { input: bytes(), env_file, limit, cancel };
                    return command::ask(command, &self.ground, asked).await;
                }
                Kind::Http(http) => timeout(limit, http::ask(http, &self.switches, bytes())).await,
                Kind::Callback { id, callback } => {
                    let called = callback.call(id, input, tool_use_id.as_deref());
                    timeout(limit, called).await.map(|value| {
                        let end = match value {
                            Ok(value) => End::Value(value),
                            Err(problem) => End::Broken(format!("failed: {problem}")),
                        };
                        Heard { end, ..Heard::default() }
                    })
                }
                Kind::Unsupported(kind) => {
                    let end = End::Broken(format!("is of type {kind}, which is not supported"));
                    return Heard { end, ..Heard::default() };
                }
            }
            .unwrap_or_else(|_| Heard { end: End::Late, ..Heard::default() })
        };
        if matches!(self.hook.kind, Kind::Command(_)) {
            return waited.await;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => Heard { end: End::Cancelled, ..Heard::default() },
            heard = waited => heard,
        }
    }

    fn broken(&self, words: &str) -> Said {
        let end = End::Broken(words.to_owned());
        self.said(Heard { end, ..Heard::default() }, Duration::ZERO)
    }

    fn said(&self, mut heard: Heard, took: Duration) -> Said {
        let is_cancelled = matches!(heard.end, End::Cancelled);
        let value = match &heard.end {
            End::Value(value) if heard.stdout.is_empty() => Some(value.to_string()),
            _ => None,
        };
        let (answer, failure) = read(&mut heard, &self.hook, &self.ground.spill);
        Said {
            number: self.number,
            event: self.hook.event,
            moment: self.moment(),
            name: self.hook.name(),
            source: self.hook.source.to_string(),
            took,
            exit_code: heard.exit_code,
            stdout: shown(value.unwrap_or(heard.stdout)),
            stderr: shown(heard.stderr),
            failure,
            is_cancelled,
            answer,
        }
    }

    fn moment(&self) -> String {
        let event = self.hook.event.name();
        match &self.occasion.about {
            Some(about) => format!("{event}:{about}"),
            None => event.to_owned(),
        }
    }
}

/// The beginning of what is shown to people.
fn shown(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(crate::long::CHARS_MAX) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);
