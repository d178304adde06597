//! The simulated user: messages, answers to questions, interrupts, changed minds.

use windlass_engine::{Event, Interrupt};
use windlass_vocabulary::{ContentBlock, Json, PermissionAnswer, Ticket, ToolInspection};

use super::seeded_random::SeededRandom;
use super::simulated_model::draw_inspection;
use super::simulated_tool::build_image;

/// A message with a name of its own, so that it can be followed.
pub fn draw_message(random: &mut SeededRandom, number: u64) -> Event {
    let times = random.choose([0, 0, 1, 10, 60, 400]);
    let please = random.choose(["please ", "please ", "bitte schön 🙏 "]);
    let text = format!("message#{number}# {}", please.repeat(times));
    let mut content = vec![ContentBlock::Text(text)];
    if random.draw_percent(8) {
        content.push(ContentBlock::Media(build_image()));
    }
    Event::UserSubmitted { content, pinned: random.draw_percent(10) }
}

pub fn draw_permission_answer(random: &mut SeededRandom, ticket: Ticket) -> Event {
    let mut inspection: Option<ToolInspection> = None;
    let answer = match random.draw_below(10) {
        0..5 => PermissionAnswer::Allow { updated_input: None, remember: Vec::new() },
        5 => PermissionAnswer::Allow {
            updated_input: None,
            remember: vec![random.choose(["Bash", "Task", "Nonsense("]).to_owned()],
        },
        6 => {
            inspection = random.draw_percent(80).then(|| draw_inspection(random, "Bash"));
            let updated_input = Some(Json::from_checked("{\"command\":\"mine\"}"));
            PermissionAnswer::Allow { updated_input, remember: Vec::new() }
        }
        7 => PermissionAnswer::Deny { message: "no, and stop".to_owned(), interrupt: true },
        _ => PermissionAnswer::Deny { message: "no".to_owned(), interrupt: false },
    };
    Event::PermissionAnswered { ticket, answer, inspection }
}

pub fn build_allow_answer(ticket: Ticket) -> Event {
    let answer = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
    Event::PermissionAnswered { ticket, answer, inspection: None }
}

pub fn draw_interrupt(random: &mut SeededRandom) -> Interrupt {
    random.choose([Interrupt::User, Interrupt::NewMessage, Interrupt::Shutdown, Interrupt::Crashed])
}
