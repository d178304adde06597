//! `side_question`: asked of the one who holds the conversation, and no part of it. Answered while a run
//! goes on, too.

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{OVER, Served, later, opened, text};
use crate::front::stream_json::desk::Desk;

/// Asks it.
pub(super) fn ask(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let question = text(request, "question")?.to_owned();
    if desk.aside.is_some() || desk.turn.as_ref().is_some_and(|turn| turn.is_aside) {
        return Err("another question is not answered yet; ask again then".to_owned());
    }
    opened(desk)?.session.ask_aside(question).map_err(|error| error.to_string())?;
    let (answer, answered) = oneshot::channel();
    desk.aside = Some(answer);
    Ok(later(async move {
        let said = answered.await.unwrap_or_else(|_| Err(OVER.to_owned()));
        move |_: &mut Desk| said.map(|words| json!({ "response": words, "synthetic": false }))
    }))
}
