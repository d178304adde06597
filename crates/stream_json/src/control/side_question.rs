//! `side_question`: asked of the one who holds the conversation, and no part of it. Answered while a run
//! goes on, too.

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{ControlOutcome, SESSION_OVER, answer_later, require_session, require_text};
use crate::event_loop::EventLoop;

/// Asks it.
pub(super) fn ask(desk: &mut EventLoop, request: &Value) -> Result<ControlOutcome, String> {
    let question = require_text(request, "question")?.to_owned();
    if desk.side_question.is_some() || desk.turn.as_ref().is_some_and(|turn| turn.is_side_question)
    {
        return Err("another question is not answered yet; ask again then".to_owned());
    }
    require_session(desk)?
        .session
        .ask_side_question(question)
        .map_err(|error| error.to_string())?;
    let (answer, answered) = oneshot::channel();
    desk.side_question = Some(answer);
    Ok(answer_later(async move {
        let said = answered.await.unwrap_or_else(|_| Err(SESSION_OVER.to_owned()));
        move |_: &mut EventLoop| said.map(|words| json!({ "response": words, "synthetic": false }))
    }))
}
