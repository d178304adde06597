//! `side_question`: a question to the model about the conversation, without becoming part of it.
//! Answered during a run, too.

use serde_json::json;
use tokio::sync::oneshot;

use super::{ControlOutcome, answer_later, require_session};
use crate::event_loop::EventLoop;
use crate::session_phase::SESSION_OVER;

pub(super) fn ask(event_loop: &mut EventLoop, question: String) -> Result<ControlOutcome, String> {
    if event_loop.control.side_question.is_some()
        || event_loop.turn.as_ref().is_some_and(|turn| turn.is_side_question)
    {
        return Err("another side question is still being answered; ask again after it".to_owned());
    }
    require_session(event_loop)?
        .session
        .ask_side_question(question)
        .map_err(|error| error.to_string())?;
    let (answer, answered) = oneshot::channel();
    event_loop.control.side_question = Some(answer);
    Ok(answer_later(async move {
        let answer = answered.await.unwrap_or_else(|_| Err(SESSION_OVER.to_owned()));
        move |_: &mut EventLoop| answer.map(|text| json!({ "response": text, "synthetic": false }))
    }))
}
