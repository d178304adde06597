//! Other sessions to go on with, and earlier prompts to go back to.

use serde_json::Value;
use windlass_journal::transcript::Traced;
use windlass_terminal::{Item, Order as Meant, Picker};

use super::Next;
use super::desk::{Desk, unwritten};
use crate::front::call::shortened;
use crate::front::table::ago;
use crate::refusal::{Refusal, one_line};
use crate::session::{self, cut, unusable};
use crate::subcommand::rewind::{self, Wanted};

impl Desk {
    pub(super) fn sessions(&self) -> Result<Meant, Refusal> {
        let own = &self.expander.names.session_id;
        let items = listed(&self.cwd)?.into_iter().filter(|item| item.value != *own);
        let items: Vec<Item> =
            items.map(|item| Item { value: format!("/resume {}", item.value), ..item }).collect();
        match items.is_empty() {
            true => Ok(Meant::Show("There is no other session of this directory.".to_owned())),
            false => Ok(Meant::Pick(Picker::new("Go on with which session?", items))),
        }
    }

    pub(super) fn resume(&self, wanted: &str) -> Result<Meant, Refusal> {
        let catalogue = session::catalogue(&|name: &str| std::env::var_os(name))?;
        let found = session::find(&catalogue, Some(wanted), &self.cwd)?;
        match found.card.id == self.expander.names.session_id {
            true => Ok(Meant::Show("That is this session.".to_owned())),
            false => Ok(self.go(Next::Resume(found.card.id))),
        }
    }

    /// Prompts to go back to, or back to one of them.
    pub(super) async fn rewind(&self, wanted: &Wanted) -> Result<Meant, Refusal> {
        let Some(journal) = &self.journal else { return Ok(unwritten()) };
        let id = &self.expander.names.session_id;
        let prompts: Vec<Traced> =
            cut::messages(journal, id)?.into_iter().filter(|traced| traced.is_prompt).collect();
        if wanted.to.is_some() {
            let (words, found) = rewind::go_open(&self.session, journal, id, wanted).await?;
            let number = found.get("prompt").and_then(Value::as_u64);
            let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
            let is_back = wanted.part.conversation && !wanted.wish.dry_run;
            let prompt = prompts.into_iter().nth(at.unwrap_or(usize::MAX)).filter(|_| is_back);
            return Ok(match prompt {
                Some(prompt) => Meant::Back { words, prompt: prompt.words },
                None => Meant::Show(words),
            });
        }
        let mut items: Vec<Item> = prompts
            .into_iter()
            .zip(1_usize..)
            .map(|(traced, number)| Item {
                value: format!("/rewind {number}"),
                label: shortened(&one_line(&traced.words), WORDS_MAX),
                about: format!("prompt {number}"),
            })
            .collect();
        items.reverse();
        match items.is_empty() {
            true => Ok(Meant::Show("Nothing was said yet.".to_owned())),
            false => Ok(Meant::Pick(Picker::new("Go back to before which prompt?", items))),
        }
    }
}

/// The sessions of a folder, each by its id.
pub(super) fn listed(cwd: &std::path::Path) -> Result<Vec<Item>, Refusal> {
    let catalogue = session::catalogue(&|name: &str| std::env::var_os(name))?;
    let found = catalogue.list(Some(cwd)).map_err(|error| unusable(&error))?;
    let begun = found.into_iter().filter(|listed| !listed.card.prompt.is_empty());
    Ok(begun
        .take(SESSIONS_MAX)
        .map(|listed| {
            let card = listed.card;
            let title = card.title.as_deref().unwrap_or(&card.prompt);
            let label = shortened(&one_line(title), WORDS_MAX);
            let about = format!("{}, {} messages", ago(card.updated), card.messages);
            Item { value: card.id, label, about }
        })
        .collect())
}

const WORDS_MAX: usize = 60;
const SESSIONS_MAX: usize = 500;
