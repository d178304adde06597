//! Prompts that look at a session or take it back: nothing is asked of a model and nothing is said.

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::Session;

use super::window;
use crate::command::Order;
use crate::refusal::Refusal;
use crate::subcommand::journal::why;
use crate::subcommand::sessions::resume_words;
use crate::subcommand::{cost, rewind};

/// What was seen.
#[derive(Debug)]
pub(crate) struct View {
    /// What it is called in a result.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) text: String,
    /// For programs.
    pub(crate) object: Value,
}

impl View {
    /// Looks.
    pub(crate) async fn of(
        order: &Order,
        session: &Session,
        (id, journal): (&str, Option<&Path>),
    ) -> Result<Self, String> {
        let view = |name, text, object| Ok(Self { name, text, object });
        match (order, journal) {
            (Order::Cost, Some(journal)) => {
                let (text, object) = cost::of_session(journal).map_err(|refusal| told(&refusal))?;
                view("cost", text, object)
            }
            (Order::Why, Some(journal)) => {
                let text = why::lately(journal).map_err(|refusal| told(&refusal))?;
                view("why", text.clone(), json!(text))
            }
            (Order::Cost | Order::Why, None) => Err("this session is not written down".to_owned()),
            // Nobody gets here with it: it is refused where prompts are read.
            (Order::Act(_), _) => Err("that is for a person at a terminal".to_owned()),
            (Order::Show { topic, text }, _) => view(topic.name(), text.clone(), json!(text)),
            (Order::Resume(wanted), _) => {
                let lookup = |name: &str| std::env::var_os(name);
                let text = resume_words(wanted.as_deref(), &lookup);
                let text = text.map_err(|refusal| told(&refusal))?;
                view("resume", text.clone(), json!(text))
            }
            (Order::Rewind(wanted), Some(journal)) => {
                let gone = rewind::go_open(session, journal, id, wanted).await;
                let (text, object) = gone.map_err(|refusal| told(&refusal))?;
                view("rewind", text, object)
            }
            _ => {
                let found = session.inventory().await.ok_or("the session is over")?;
                view("context", window::drawn(&found), window::object(id, &found))
            }
        }
    }
}

fn told(refusal: &Refusal) -> String {
    refusal.to_string()
}
