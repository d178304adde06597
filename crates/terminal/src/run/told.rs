//! What takes its time is done beside the conversation; what came of it is told here.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;
use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::{Block, Ticket};

use super::{Conversation, Earlier, Order, Ordering};
use crate::app::{App, Purpose};
use crate::entry::Entry;
use crate::line::{Line, Role};
use crate::{tool, view};

/// What came of something.
pub(super) enum Told {
    /// What a prompt asks for.
    Order(Result<Order, String>),
    /// Something that waited was taken back.
    TakenBack(String),
    /// What a file holds.
    Looked(Ticket, Option<String>),
    /// What fills the window.
    Counted(Box<Inventory>),
    /// The line of the user's own.
    Status(Option<String>),
    /// Where rules are kept now.
    Kept(Result<String, String>),
    /// What an image is called and where it is, or why there is none.
    Image(Result<(String, PathBuf), String>),
}

impl Conversation {
    pub(super) fn submit(&mut self, prompt: String) {
        let (host, tell) = (Arc::clone(&self.host), self.tell.clone());
        self.session_side.spawn(async move {
            let (keeper, said) = (Arc::clone(&host), prompt.clone());
            tokio::task::spawn_blocking(move || keeper.said(&said));
            // Nobody waits for it any more when the conversation is over.
            let _ = tell.send(Told::Order(host.order(prompt).await)).await;
        });
    }

    /// Carries out what was chosen. It was not said, so it is not remembered.
    pub(super) fn choose(&self, prompt: String) {
        let host = Arc::clone(&self.host);
        self.await_order(host.order(prompt));
    }

    fn await_order(&self, ordering: Ordering) {
        let tell = self.tell.clone();
        self.session_side.spawn(async move {
            let _ = tell.send(Told::Order(ordering.await)).await;
        });
    }

    pub(super) fn keep(&self, rules: Vec<String>) {
        let (host, tell) = (Arc::clone(&self.host), self.tell.clone());
        self.session_side.spawn_blocking(move || {
            let _ = tell.blocking_send(Told::Kept(host.keep(&rules)));
        });
    }

    pub(super) fn look(&self, ticket: Ticket, path: String) {
        let tell = self.tell.clone();
        self.session_side.spawn_blocking(move || {
            let _ = tell.blocking_send(Told::Looked(ticket, held(&path)));
        });
    }

    pub(super) fn count(&self) {
        let (session, tell) = (self.session.clone(), self.tell.clone());
        self.session_side.spawn(async move {
            if let Some(counted) = session.inventory().await {
                let _ = tell.send(Told::Counted(Box::new(counted))).await;
            }
        });
    }

    pub(super) fn take_back(&self) {
        let (session, tell) = (self.session.clone(), self.tell.clone());
        self.session_side.spawn(async move {
            let Some(last) = session.queued().await.and_then(|mut all| all.pop()) else { return };
            let [Block::Text(text)] = last.content.as_slice() else { return };
            let text = text.clone();
            if session.change_queued(last, None).await {
                let _ = tell.send(Told::TakenBack(text)).await;
            }
        });
    }

    pub(super) fn told(&mut self, told: Told) {
        match told {
            Told::Order(order) => self.carry_out(order),
            Told::TakenBack(text) => {
                if let Some(at) = self.app.queued.iter().rposition(|said| *said == text) {
                    self.app.queued.remove(at);
                }
                self.app.composer.set(text);
            }
            Told::Looked(ticket, before) => self.app.looked(ticket, before),
            Told::Counted(inventory) => {
                self.app.tokens = inventory.total.0;
                self.app.inventory = Some(*inventory);
            }
            Told::Status(line) => {
                self.app.status_line = line;
                self.status.answered();
            }
            Told::Kept(Ok(place)) => self.app.quiet(&place),
            Told::Kept(Err(problem)) => self.app.say(&problem, Role::Bad),
            Told::Image(Ok((name, path))) => {
                self.app.composer.mention_as(&name, &path.to_string_lossy());
            }
            Told::Image(Err(why)) => self.app.quiet(&why),
        }
    }

    fn carry_out(&mut self, order: Result<Order, String>) {
        match order {
            Ok(Order::Say(submission)) => self.sent(self.session.submit(submission)),
            Ok(Order::Compact(focus)) => self.sent(self.session.compact(focus)),
            Ok(Order::Show(words)) => self.app.say(&words, Role::Plain),
            Ok(Order::Fit(all)) => {
                let fits =
                    |words: &&String| words.lines().all(|line| line.width() <= self.app.width);
                if let Some(words) = all.iter().find(fits).or(all.last()) {
                    self.app.say(words, Role::Plain);
                }
            }
            Ok(Order::Context(inventory)) => {
                let lines = view::context::picture(&inventory, self.app.width);
                self.app.finish(lines);
                self.app.inventory = Some(*inventory);
            }
            Ok(Order::Pick(picker)) => self.app.picker = Some((Purpose::Command, picker)),
            Ok(Order::Fill(field)) => self.app.field = Some(field),
            Ok(Order::Done(words, more)) => {
                self.app.quiet(&words);
                self.app.picker = more.map(|picker| (Purpose::Command, picker));
            }
            Ok(Order::Wait(words, rest)) => {
                self.app.quiet(&words);
                self.await_order(rest);
            }
            Ok(Order::Open(path)) => {
                let opened = self.edit_file(path, true);
                self.sent(opened);
            }
            Ok(Order::Aside(question)) => {
                self.app.quiet(&format!("asked beside: {question}"));
                self.sent(self.session.ask_aside(question));
            }
            Ok(Order::Model(name, window)) => {
                self.app.quiet(&format!("{name} is asked from now on"));
                self.app.about.model = name;
                self.app.about.window = window;
                self.status.stir();
            }
            Ok(Order::Mode(mode)) => {
                self.app.mode = mode;
                self.wish(crate::app::Wish::Mode(mode));
            }
            Ok(Order::Vim) => {
                self.app.vim = match self.app.vim {
                    Some(_) => None,
                    None => Some(Default::default()),
                };
                let on = self.app.vim.is_some();
                self.app.quiet(if on { "keys are as in vim" } else { "keys are as everywhere" });
            }
            Ok(Order::Theme(Some(theme))) => self.canvas.theme(theme),
            Ok(Order::Theme(None)) => {
                let asked = self.canvas.fit_ground();
                self.sent(asked);
            }
            Ok(Order::Back { words, prompt }) => {
                self.app.say(&words, Role::Quiet);
                self.app.composer.set(prompt);
                self.count();
            }
            Ok(Order::Quit) => self.is_over = true,
            Err(problem) => self.app.say(&problem, Role::Warning),
        }
    }
}

impl App {
    /// Shows again what was said before.
    pub(super) fn earlier(&mut self, earlier: &Earlier) {
        let Earlier { is_prompt, words } = earlier;
        match is_prompt {
            true => {
                self.finish(tool::said(words, self.width, EARLIER_LINES_MAX));
                self.finish([Line::new()]);
            }
            false => self.finish_text(words),
        }
        self.entries.push(match is_prompt {
            true => Entry::Said(words.clone()),
            false => Entry::Answer(words.clone()),
        });
    }
}

/// What a file holds, if it is text of a size that can be compared.
fn held(path: &str) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut text = String::new();
    file.take(HELD_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

const HELD_MAX: u64 = 512 * 1024;
const EARLIER_LINES_MAX: usize = 30;
