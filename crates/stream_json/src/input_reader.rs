//! Standard input, line by line, read by a thread of its own.
//!
//! The thread blocks while its lines are not taken. Lines are parsed here and handled in the event loop.
//! A prompt that cannot be read is still a prompt: its client waits for a result.

use serde_json::Value;
use tokio::sync::mpsc;

use crate::frame::{IncomingFrame, PromptFrame};
use windlass_host::line_streams::{LINE_BYTES_MAX, StdinLine, for_each_stdin_line};

#[derive(Debug)]
pub(crate) enum InputLine {
    Frame(IncomingFrame),
    Invalid { number: u64, problem: String, prompt: Option<Box<PromptFrame>> },
    End,
}

pub(crate) fn spawn_stdin_reader() -> mpsc::Receiver<InputLine> {
    let (lines, inbox) = mpsc::channel(LINES_MAX);
    let work = move || {
        for_each_stdin_line(|number, line| {
            let input = match line {
                StdinLine::Line(line) => match parse_line(&line) {
                    Ok(incoming) => InputLine::Frame(incoming),
                    Err(problem) => {
                        let prompt = read_invalid_prompt(&line, number, &problem);
                        InputLine::Invalid { number, problem, prompt }
                    }
                },
                StdinLine::TooLong => {
                    let problem = format!("it is longer than {LINE_BYTES_MAX} bytes");
                    InputLine::Invalid { number, problem, prompt: None }
                }
            };
            lines.blocking_send(input).is_ok()
        });
        let _ = lines.blocking_send(InputLine::End);
    };
    // Without a thread the channel closes, which counts as the end of input.
    let _ = std::thread::Builder::new().name("lines".to_owned()).spawn(work);
    inbox
}

/// The input of a process that reads nothing: one prompt, and the end.
pub(crate) fn send_single_frame(prompt: IncomingFrame) -> mpsc::Receiver<InputLine> {
    let (lines, inbox) = mpsc::channel(2);
    let _ = lines.try_send(InputLine::Frame(prompt));
    let _ = lines.try_send(InputLine::End);
    inbox
}

fn parse_line(line: &[u8]) -> Result<IncomingFrame, String> {
    let mut frame = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if let IncomingFrame::User(prompt) = &mut frame {
        prompt.line_bytes = line.len();
    }
    Ok(frame)
}

/// What a client needs to know which of its prompts failed, if the line was meant as a prompt.
fn read_invalid_prompt(line: &[u8], number: u64, problem: &str) -> Option<Box<PromptFrame>> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("type").and_then(Value::as_str) != Some("user") {
        return None;
    }
    Some(Box::new(PromptFrame {
        uuid: value.get("uuid").and_then(Value::as_str).map(str::to_owned),
        origin: value.get("origin").cloned(),
        line_bytes: line.len(),
        problem: Some(format!(
            "the prompt in line {number} of the input was not sent: {problem}; correct the line \
             and send it again"
        )),
        ..PromptFrame::default()
    }))
}

const LINES_MAX: usize = 64;
