//! Takes out what must not be written down, before anything reaches the disk.
//!
//! Three kinds of things go: credentials seen in headers, addresses and telling fields, wherever
//! else they show up; whatever is shaped like a key; and who asks. Each becomes a placeholder such
//! as `<secret-1>`, the same for the same value. Besides, values that differ from machine to machine
//! may have a stand-in, such as `<home>`; a replay puts the local value back. JSON stays JSON.
//!
//! A request that comes to a replay goes through the same, so that what is compared was scrubbed
//! alike. What is not found: secrets that are encoded (base64, compressed), ones with no telling
//! shape or place, and ones shorter than eight bytes.

mod edit;
mod find;
mod known;
mod leak;
mod options;
mod placeholder;
mod shape;
mod strings;
mod view;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exchange::{Exchange, Head, Request};
use edit::{Edit, apply, edit_answer, replace};
use find::{Found, Kind, Literal, Sought};
use known::{Known, field_kind, header_kind, is_secret_field, is_secret_parameter};
use placeholder::is_placeholder;
use view::{Form, View, views};

pub use options::ScrubOptions;

pub(crate) use placeholder::unnumbered;

/// Scrubs the exchanges of one recording, or the requests of one replay.
pub(crate) struct Scrubber {
    emails: bool,
    /// Placeholder and value.
    stand_ins: Vec<(String, String)>,
    known: Mutex<Known>,
}

/// Why an exchange is not fit to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Something is left in it.
    Leaks,
    /// More secrets were seen than can be looked for.
    TooManySecrets,
}

impl Scrubber {
    pub(crate) fn new(options: &ScrubOptions) -> Self {
        let mut known = Known::default();
        for secret in &options.secrets {
            known.learn(Kind::Secret, secret);
        }
        let named = options.stand_ins.iter().map(|(name, value)| {
            let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            (format!("<{}>", name.chars().filter(is_plain).collect::<String>()), value.clone())
        });
        let stand_ins = named.filter(|(_, value)| value.len() >= STAND_IN_MIN).collect();
        Self { emails: options.emails, stand_ins, known: Mutex::new(known) }
    }

    /// Learns what is secret about a request.
    pub(crate) fn learn(&self, headers: &[(String, String)], path: &str, body: &[u8]) {
        let mut known = self.known();
        known.learn_headers(headers);
        known.learn_path(path);
        known.learn_body(body);
    }

    /// Learns what is secret about the headers of an answer.
    pub(crate) fn learn_headers(&self, headers: &[(String, String)]) {
        self.known().learn_headers(headers);
    }

    /// The exchange without what must not be written down, and how much was replaced.
    pub(crate) fn scrub(&self, exchange: Exchange) -> (Exchange, usize) {
        let sought = self.sought();
        let (request, mut replaced) = self.scrub_request(exchange.request);
        let head = exchange.head.map(|head| {
            let headers = self.clean_headers(&sought, head.headers, &mut replaced);
            Head { headers, ..head }
        });
        let exchange = edit_answer(Exchange { request, head, ..exchange }, |body| {
            self.edits(&sought, body, &mut replaced)
        });
        (exchange, replaced)
    }

    /// The request without what must not be written down, and how much was replaced.
    pub(crate) fn scrub_request(&self, request: Request) -> (Request, usize) {
        let sought = self.sought();
        let mut replaced = 0;
        let path = self.clean_path(&sought, &request.path, &mut replaced);
        let headers = self.clean_headers(&sought, request.headers, &mut replaced);
        let edits = self.edits(&sought, &request.body, &mut replaced);
        let (body, _) = apply(&request.body, &[], edits);
        (Request { method: request.method, path, headers, body }, replaced)
    }

    /// Is the exchange, and the text of its file, fit to be written down?
    pub(crate) fn inspect(&self, exchange: &Exchange, file: &str) -> Result<(), Unfit> {
        let known = self.known();
        if known.is_overfull {
            return Err(Unfit::TooManySecrets);
        }
        let sought = Sought::new(known.literals(), false);
        drop(known);
        if leak::leaks(&sought, exchange, file) {
            return Err(Unfit::Leaks);
        }
        Ok(())
    }

    /// The exchange with the local values of the stand-ins in its answer.
    pub(crate) fn fill(&self, exchange: Exchange) -> Exchange {
        if self.stand_ins.is_empty() {
            return exchange;
        }
        edit_answer(exchange, |body| {
            let views = views(body);
            views.iter().flat_map(|view| self.filled(view)).collect()
        })
    }

    fn filled(&self, view: &View) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (name, value) in &self.stand_ins {
            let value = if view.form == Form::String { in_string(value) } else { value.clone() };
            let windows = view.text.windows(name.len()).enumerate();
            for (at, _) in windows.filter(|(_, window)| *window == name.as_bytes()) {
                edits.extend(replace(view, &(at..at + name.len()), &value));
            }
        }
        edits
    }

    fn edits(&self, sought: &Sought, body: &[u8], replaced: &mut usize) -> Vec<Edit> {
        let mut edits = Vec::new();
        for view in views(body) {
            for Found { range, kind } in all_in(sought, &view) {
                let value = view.text.get(range.clone()).unwrap_or_default();
                let is_number = value.iter().all(u8::is_ascii_digit);
                let with = if view.form == Form::Gap && is_number {
                    // A word where a number stood would not be JSON.
                    "1".repeat(value.len())
                } else {
                    self.placeholder(kind, value)
                };
                *replaced += 1;
                edits.extend(replace(&view, &range, &with));
            }
        }
        edits
    }

    fn clean_headers(
        &self,
        sought: &Sought,
        headers: Vec<(String, String)>,
        replaced: &mut usize,
    ) -> Vec<(String, String)> {
        let kept = headers.into_iter().filter(|(name, _)| header_kind(name).is_none());
        kept.map(|(name, value)| {
            let value = self.clean_text(sought, &value, replaced);
            (name, value)
        })
        .collect()
    }

    fn clean_path(&self, sought: &Sought, path: &str, replaced: &mut usize) -> String {
        let Some((path, query)) = path.split_once('?') else {
            return self.clean_text(sought, path, replaced);
        };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value))
                if is_secret_parameter(name) && !is_placeholder(value.as_bytes()) =>
            {
                *replaced += 1;
                format!("{name}={}", self.placeholder(Kind::Secret, value.as_bytes()))
            }
            _ => self.clean_text(sought, pair, replaced),
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        format!("{}?{query}", self.clean_text(sought, path, replaced))
    }

    fn clean_text(&self, sought: &Sought, text: &str, replaced: &mut usize) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for Found { range, kind } in sought.find(text.as_bytes()) {
            let value = text.get(range.clone()).unwrap_or_default();
            clean.push_str(text.get(done..range.start).unwrap_or_default());
            clean.push_str(&self.placeholder(kind, value.as_bytes()));
            done = range.end;
            *replaced += 1;
        }
        clean.push_str(text.get(done..).unwrap_or_default());
        clean
    }

    fn placeholder(&self, kind: Kind, value: &[u8]) -> String {
        let stand_in = match kind {
            Kind::StandIn(index) => self.stand_ins.get(index),
            _ => None,
        };
        match stand_in {
            Some((name, _)) => name.clone(),
            None => self.known().placeholder(kind, value),
        }
    }

    fn sought(&self) -> Sought {
        let mut literals = self.known().literals();
        literals.extend(self.stand_ins.iter().enumerate().map(|(index, (_, value))| Literal {
            value: value.clone().into_bytes(),
            kind: Kind::StandIn(index),
        }));
        Sought::new(literals, self.emails)
    }

    /// What is known is consistent after every statement, so a panic elsewhere cannot have spoilt
    /// it.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Secrets stay out of test output and logs.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber").field("stand_ins", &self.stand_ins).finish_non_exhaustive()
    }
}

/// Everything in a view that must go, in order and without overlaps: all of it, if its field says
/// so; the fields of JSON that it holds as text, as the arguments of a call are; and what is found.
fn all_in(sought: &Sought, view: &View) -> Vec<Found> {
    if let Some(kind) = field_kind(view).filter(|_| !is_placeholder(&view.text)) {
        return vec![Found { range: 0..view.text.len(), kind }];
    }
    let mut all = Vec::new();
    if view.form == Form::String && view.text.starts_with(b"{") {
        for inner in views(&view.text).iter().filter(|inner| is_secret_field(inner)) {
            let ranges = inner.raw_ranges(&(0..inner.text.len())).into_iter();
            all.extend(ranges.map(|range| Found { range, kind: Kind::Secret }));
        }
    }
    let overlaps = |one: &Found, other: &Found| {
        one.range.start < other.range.end && other.range.start < one.range.end
    };
    let found = sought.find(&view.text).into_iter();
    let found: Vec<Found> =
        found.filter(|one| !all.iter().any(|other| overlaps(one, other))).collect();
    all.extend(found);
    all.sort_by_key(|found| found.range.start);
    all
}

/// A text as it stands inside a JSON string.
fn in_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Shorter values are ordinary words or parts of every path.
const STAND_IN_MIN: usize = 4;
