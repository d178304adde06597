//! One prompt, one answer: the front end of `windlass -p`.
//!
//! Standard output gets the answer (or one JSON object) and nothing else, when the run is over:
//! what is shown earlier might have to be taken back. Standard error gets what `progress` tells and,
//! if the run failed, one line with the cause and what to do.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{ModelName, Notice, Tokens, ToolCall};

use super::advice;
use super::answer::FinalAnswer;
use super::call::described;
use super::output::{Output, Target};
use super::patience::{Hopeless, Patience};
use super::progress::{Level, Progress};
use super::result::{self, Facts};
use super::view::View;
use super::words::count;
use super::{Curtain, Face, Flow, close, conduct_from, harmless, unless_signalled, words};
use crate::args::OutputFormat;
use crate::command::Order;
use crate::compose::{Atlas, Plan};
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::signals::Signals;
use crate::subcommand::rewind;

/// Asks, prints, and says how it went.
pub(crate) async fn run(plan: Plan, mut signals: Signals) -> Result<Exit, Refusal> {
    let Plan { mut builder, order, agents, atlas, format, verbose, session_id, .. } = plan;
    let (journal, scratch, notes, layers) = (plan.journal, plan.scratch, plan.notes, plan.layers);
    let order = order.unwrap_or(Order::Context);
    if let Some(agents) = agents {
        builder = builder.agents(agents);
    }
    let mut printer = Printer {
        began: Instant::now(),
        format,
        session_id,
        patience: Patience::new(&atlas.first.base_url),
        model: None,
        atlas,
        answer: FinalAnswer::default(),
        progress: Progress::new(verbose),
        denials: Vec::new(),
        asking: None,
        api_duration: Duration::ZERO,
        given_up: None,
        freed: matches!(order, Order::Compact(_)).then_some(Tokens(0)),
    };
    if let (Order::Rewind(wanted), Some(journal)) = (&order, &journal) {
        let (text, object) = rewind::go(journal, &printer.session_id, wanted)?;
        let view =
            View { order: order.clone(), format, session_id: &printer.session_id, journal: None };
        return view.say("rewind", text, &object, &mut signals).await;
    }
    for warning in layers.warnings() {
        printer.progress.insist(&warning);
    }
    for note in notes {
        printer.progress.say(Level::Everything, &note);
    }
    let (session, mut notices) = builder
        .start()
        .map_err(|error| Refusal::failed(format!("{error}; correct it and try again")))?;
    let exit = match order {
        Order::Context | Order::Cost | Order::Show { .. } => {
            let view = View { order, format, session_id: &printer.session_id, journal };
            view.show(&session, &mut signals).await?
        }
        Order::Say(_) | Order::Compact(_) | Order::GoOn | Order::Rewind(_) => {
            let is_begun = order == Order::GoOn;
            let sent = match order {
                Order::Say(submission) => session.submit(submission),
                Order::Compact(focus) => session.compact(focus),
                _ => Ok(()),
            };
            sent.map_err(|error| Refusal::failed(format!("the prompt was not taken: {error}")))?;
            let curtain =
                conduct_from(&session, &mut notices, &mut signals, &mut printer, is_begun).await;
            printer.close(curtain, &mut signals).await
        }
    };
    close(&session, &mut signals).await;
    let _ = unless_signalled(&mut signals, plan.remote.close()).await;
    if let Some(scratch) = scratch {
        // Ours alone and perhaps never made.
        let _ = std::fs::remove_dir_all(scratch);
    }
    Ok(exit)
}

struct Printer {
    began: Instant,
    format: OutputFormat,
    session_id: String,
    atlas: Atlas,
    /// Who was asked last.
    model: Option<ModelName>,
    patience: Patience,
    answer: FinalAnswer,
    progress: Progress,
    denials: Vec<(ToolCall, String)>,
    asking: Option<Instant>,
    api_duration: Duration,
    given_up: Option<String>,
    /// What making history shorter freed, if that was asked for.
    freed: Option<Tokens>,
}

impl Face for Printer {
    fn notice(&mut self, notice: &Notice) -> Flow {
        self.progress.notice(notice);
        match notice {
            Notice::MessageAdded(message) => self.answer.message(message),
            Notice::Warning(text) if text.starts_with(ENDS_BECAUSE) => {
                self.given_up.get_or_insert_with(|| text.clone());
            }
            Notice::ToolDenied { call, why } => self.denials.push((call.clone(), why.clone())),
            Notice::RequestStarted { model, .. } => {
                self.asking = Some(Instant::now());
                self.is_asking(model);
            }
            Notice::ContextShrunk { freed, .. } => {
                self.freed = self.freed.map(|before| before + *freed);
            }
            Notice::Billed { .. } | Notice::Waiting { .. } => self.answered(),
            _ => {}
        }
        match self.patience.is_over(notice) {
            Some(why) => {
                self.given_up = Some(self.hopeless(&why));
                Flow::GiveUp
            }
            None => Flow::Go,
        }
    }
}

impl Printer {
    /// Another model may live at another place, with patience of its own.
    fn is_asking(&mut self, model: &ModelName) {
        if self.model.as_ref() == Some(model) {
            return;
        }
        let before = self.model.replace(model.clone());
        let is_moved = self.atlas.place(before.as_ref()) != self.atlas.place(Some(model));
        if is_moved {
            self.patience = Patience::new(&self.atlas.place(Some(model)).base_url);
        }
    }

    fn hopeless(&self, why: &Hopeless) -> String {
        let place = self.atlas.place(self.model.as_ref());
        match why {
            Hopeless::Nobody(error) => format!(
                "nothing answers at {}: {error}; start the server, or {}",
                place.base_url, place.address_advice
            ),
            Hopeless::Stranger(failure) if advice::is_plain(failure) => format!(
                "the server at {} does not speak TLS; write http:// instead of https://, or {}",
                place.base_url, place.address_advice
            ),
            Hopeless::Stranger(failure) => {
                advice::of_failure(failure, &self.atlas, self.model.as_ref())
            }
        }
    }

    fn answered(&mut self) {
        if let Some(asked) = self.asking.take() {
            self.api_duration += asked.elapsed();
        }
    }

    /// Prints what there is.
    async fn close(&mut self, curtain: Curtain, signals: &mut Signals) -> Exit {
        self.answered();
        let (ending, signal) = match curtain {
            Curtain::Ended(ending, signal) => (ending, signal),
            Curtain::Forced(signal) => return signal.exit(),
            Curtain::Unread => return Exit::DONE,
            Curtain::Broken => {
                let line = "the session ended without a result; run it again with --verbose";
                return self.fail(line, signals).await;
            }
        };
        let problem = match (self.given_up.take(), signal) {
            (Some(line), _) => Some(line),
            (None, Some(_)) => None,
            (None, None) => words::verdict(&ending, |failure| {
                advice::of_failure(failure, &self.atlas, self.model.as_ref())
            }),
        };
        let mut output = Output::new(Target::Stdout);
        // If nobody reads it, the code still tells.
        let _ = output.write(self.rendered(&ending, problem.as_deref()));
        // However slow the reader is, it gets everything, unless somebody wants us to stop.
        match unless_signalled(signals, output.finish()).await {
            Err(caught) => return caught.exit(),
            Ok(Some(error)) => {
                let line = format!("the answer could not be written to standard output: {error}");
                return self.fail(&line, signals).await;
            }
            Ok(None) => {}
        }
        self.tell_denials();
        match (signal, problem) {
            (Some(signal), _) => {
                self.progress.say(Level::Puzzling, &ending.why);
                self.progress.finish().await;
                signal.exit()
            }
            (None, Some(line)) => self.fail(&line, signals).await,
            (None, None) => {
                self.progress.finish().await;
                Exit::of(&ending)
            }
        }
    }

    async fn fail(&mut self, line: &str, signals: &mut Signals) -> Exit {
        let _ = unless_signalled(signals, self.progress.finish()).await;
        let mut output = Output::new(Target::Stderr);
        let _ = output.write(format!("{}\n", Refusal::failed(line)));
        let _ = unless_signalled(signals, output.finish()).await;
        Exit::FAILED
    }

    fn rendered(&self, ending: &Ending, problem: Option<&str>) -> String {
        let compacted = match (self.freed, problem) {
            (Some(freed), None) => {
                format!("History was made shorter, about {} tokens were freed.", count(freed.0))
            }
            _ => String::new(),
        };
        let text = if compacted.is_empty() { self.answer.text() } else { &compacted };
        match self.format {
            OutputFormat::Json | OutputFormat::StreamJson => {
                let facts = Facts {
                    text,
                    problem,
                    session_id: &self.session_id,
                    duration: self.began.elapsed(),
                    api_duration: self.api_duration,
                    denials: &self.denials,
                };
                format!("{}\n", result::object(ending, &facts))
            }
            OutputFormat::Text if text.is_empty() => String::new(),
            OutputFormat::Text => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let text = match std::io::stdout().is_terminal() {
                    true => harmless(text),
                    false => text.into(),
                };
                format!("{text}{end}")
            }
        }
    }

    /// An unattended run that was not allowed to do its work must not end without a word.
    fn tell_denials(&mut self) {
        let Some((call, why)) = self.denials.first() else {
            return;
        };
        let more = match self.denials.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let line = format!("not allowed: {}{more}: {why}", described(call, CALL_MAX));
        self.progress.insist(&line);
    }
}

/// Characters of a call in a line.
const CALL_MAX: usize = 120;

/// How a session says that it cannot be written down any more.
const ENDS_BECAUSE: &str = "the session ends, because";
