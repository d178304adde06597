//! Asks all hooks that are meant at one moment, side by side, and waits for all of them.
//!
//! Each keeps its own deadline. A hook that panics inside us has failed like any other. Those nobody
//! waits for are left to their owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

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
            } else if !ground.aside.leave(async move { asked.ask_beside().await }) {
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
    /// Asks when nobody waits. An objection may still be worth the model's while.
    async fn ask_beside(self: &Arc<Self>) {
        let said = self.ask().await;
        if self.hook.wakes
            && let (Some(2), Some(waker)) = (said.exit_code, &self.ground.waker)
        {
            let words = [said.stderr.trim(), said.stdout.trim()];
            let words = words.iter().find(|words| !words.is_empty()).unwrap_or(&"no reason given");
            waker.wake(format!("A hook that ran beside your work, `{}`, says: {words}", said.name));
        }
    }

    async fn ask(self: &Arc<Self>) -> Said {
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

    async fn heard(self: &Arc<Self>, limit: Duration) -> Heard {
        let Occasion { input, tool_use_id, cancel, .. } = &*self.occasion;
        let bytes = || input.to_string().into_bytes();
        let waited = async {
            match &self.hook.kind {
                // Keeps the deadline itself, so that its tree is asked to end before it is killed.
                Kind::Command(_) => return self.heard_program(limit).await,
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
                Kind::Judge(_) | Kind::Tool(_) => timeout(limit, self.counselled(limit)).await,
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

    /// Asks whoever holds the session to ask.
    async fn counselled(&self, limit: Duration) -> Heard {
        let Some(counsel) = self.ground.counsel.as_deref() else {
            let end = End::Broken("needs a session to ask in".to_owned());
            return Heard { end, ..Heard::default() };
        };
        let input = &self.occasion.input;
        match &self.hook.kind {
            Kind::Judge(judge) => judge.ask(counsel, (self.hook.event, input), limit).await,
            Kind::Tool(tool) => tool.ask(counsel, input).await,
            Kind::Command(_) | Kind::Http(_) | Kind::Callback { .. } => Heard::default(),
        }
    }

    /// Asks a program. One whose first line says so goes on beside everything, and has no say.
    async fn heard_program(self: &Arc<Self>, limit: Duration) -> Heard {
        let (first, line) = oneshot::channel();
        let (one, own) = (Arc::clone(self), CancellationToken::new());
        let cancel = own.clone();
        let mut running = Box::pin(async move {
            let Kind::Command(command) = &one.hook.kind else { return Heard::default() };
            let input = one.occasion.input.to_string().into_bytes();
            let env_file = one.occasion.env_file.as_deref();
            let asked = Asked { input, env_file, limit, cancel, first };
            command::ask(command, &one.ground, asked).await
        });
        let going_on = tokio::select! {
            biased;
            () = self.occasion.cancel.cancelled() => {
                own.cancel();
                return running.await;
            }
            heard = &mut running => return heard,
            line = line => line.ok().and_then(|line| command::goes_on(&line)),
        };
        let Some(patience) = going_on else {
            return tokio::select! {
                biased;
                () = self.occasion.cancel.cancelled() => {
                    own.cancel();
                    running.await
                }
                heard = &mut running => heard,
            };
        };
        let work = async move { drop(timeout(patience.unwrap_or(limit), running).await) };
        match self.ground.aside.leave(work) {
            true => Heard::default(),
            false => {
                let end = End::Broken("was ended: too many hooks run beside".to_owned());
                Heard { end, ..Heard::default() }
            }
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
            spent: heard.spent,
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
