//! Whoever sits in front: messages, answers to questions, interrupts, changed minds.

use windlass_engine::{Event, Interrupt};
use windlass_vocabulary::{Answer, Block, Inspection, Json, Ticket};

use super::model::inspect;
use super::random::Random;
use super::tool::media;

/// A message with a name of its own, so that it can be followed.
pub fn message(random: &mut Random, number: u64) -> Event {
    let times = random.one_of([0, 0, 1, 10, 60, 400]);
    let please = random.one_of(["please ", "please ", "bitte schön 🙏 "]);
    let text = format!("message#{number}# {}", please.repeat(times));
    let mut content = vec![Block::Text(text)];
    if random.percent(8) {
        content.push(Block::Media(media()));
    }
    Event::UserSubmitted { content, pinned: random.percent(10) }
}

/// An answer to a question.
pub fn answer(random: &mut Random, ticket: Ticket) -> Event {
    let mut inspection: Option<Inspection> = None;
    let answer = match random.below(10) {
        0..5 => Answer::Allow { updated_input: None, remember: Vec::new() },
        5 => Answer::Allow {
            updated_input: None,
            remember: vec![random.one_of(["Bash", "Task", "Nonsense("]).to_owned()],
        },
        6 => {
            inspection = random.percent(80).then(|| inspect(random, "Bash"));
            let updated_input = Some(Json::from_checked("{\"command\":\"mine\"}"));
            Answer::Allow { updated_input, remember: Vec::new() }
        }
        7 => Answer::Deny { message: "no, and stop".to_owned(), interrupt: true },
        _ => Answer::Deny { message: "no".to_owned(), interrupt: false },
    };
    Event::PermissionAnswered { ticket, answer, inspection }
}

/// Yes, as it is.
pub fn yes(ticket: Ticket) -> Event {
    let answer = Answer::Allow { updated_input: None, remember: Vec::new() };
    Event::PermissionAnswered { ticket, answer, inspection: None }
}

/// Why somebody interrupts.
pub fn interrupt(random: &mut Random) -> Interrupt {
    random.one_of([Interrupt::User, Interrupt::NewMessage, Interrupt::Shutdown, Interrupt::Crashed])
}
