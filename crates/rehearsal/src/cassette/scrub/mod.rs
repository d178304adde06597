//! Scrubs exchanges before anything is written to disk.
//!
//! Three kinds of data are removed: credentials seen in headers, URLs and known fields, wherever
//! else they occur; everything that looks like a key; and what identifies the user. Each value gets
//! a placeholder such as `<secret-1>`. In addition, values that differ between machines may have a
//! stand-in such as `<home>`; a replay inserts the local value. JSON stays valid.
//!
//! Requests to a replay are scrubbed in the same way, so that they can be compared. Not found are:
//! encoded secrets (base64, compressed), secrets without a recognizable form or position, and those
//! shorter than eight bytes.

mod body_edit;
mod json_tokenizer;
mod known_secrets;
mod leak_check;
mod options;
mod placeholder;
mod text_view;

use std::fmt;
use std::sync::Mutex;

use windlass_redaction::{SecretFinder, SecretKind, SecretLiteral, SecretMatch};

use super::exchange::{RecordedExchange, RecordedRequest, RecordedResponseHead};
use crate::lock::lock;
use body_edit::{BodyEdit, apply_edits, edit_response_body, replace_in_view};
use known_secrets::{
    KnownSecrets, classify_field, classify_header, is_secret_field, is_secret_parameter,
};
use placeholder::is_placeholder;
use text_view::{TextForm, TextView, collect_views};

pub use options::ScrubOptions;

pub(crate) use placeholder::strip_placeholder_numbers;

/// Scrubs the exchanges of one recording, or the requests of one replay.
pub(crate) struct CassetteScrubber {
    emails: bool,
    stand_ins: Vec<(String, String)>,
    known: Mutex<KnownSecrets>,
}

/// Why an exchange must not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrubFailure {
    /// It still contains a secret.
    Leaks,
    /// There were more secrets than can be searched.
    TooManySecrets,
}

impl CassetteScrubber {
    pub(crate) fn new(options: &ScrubOptions) -> Self {
        let mut known = KnownSecrets::default();
        for secret in &options.secrets {
            known.learn(SecretKind::Secret, secret);
        }
        let named = options.stand_ins.iter().map(|(name, value)| {
            let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            (format!("<{}>", name.chars().filter(is_plain).collect::<String>()), value.clone())
        });
        let stand_ins = named.filter(|(_, value)| value.len() >= STAND_IN_MIN).collect();
        Self { emails: options.emails, stand_ins, known: Mutex::new(known) }
    }

    /// Learns the secrets of a request.
    pub(crate) fn learn(&self, headers: &[(String, String)], path: &str, body: &[u8]) {
        let mut known = lock(&self.known);
        known.learn_headers(headers);
        known.learn_path(path);
        known.learn_body(body);
    }

    /// Learns the secrets in the headers of an answer.
    pub(crate) fn learn_headers(&self, headers: &[(String, String)]) {
        lock(&self.known).learn_headers(headers);
    }

    /// The scrubbed exchange, and the number of replacements.
    pub(crate) fn scrub(&self, exchange: RecordedExchange) -> (RecordedExchange, usize) {
        let finder = self.build_finder();
        let (request, mut replaced) = self.scrub_request(exchange.request);
        let head = exchange.head.map(|head| {
            let headers = self.clean_headers(&finder, head.headers, &mut replaced);
            RecordedResponseHead { headers, ..head }
        });
        let exchange = edit_response_body(RecordedExchange { request, head, ..exchange }, |body| {
            self.find_edits(&finder, body, &mut replaced)
        });
        (exchange, replaced)
    }

    /// The scrubbed request, and the number of replacements.
    pub(crate) fn scrub_request(&self, request: RecordedRequest) -> (RecordedRequest, usize) {
        let finder = self.build_finder();
        let mut replaced = 0;
        let path = self.clean_path(&finder, &request.path, &mut replaced);
        let headers = self.clean_headers(&finder, request.headers, &mut replaced);
        let edits = self.find_edits(&finder, &request.body, &mut replaced);
        let (body, _) = apply_edits(&request.body, &[], edits);
        (RecordedRequest { method: request.method, path, headers, body }, replaced)
    }

    /// May the exchange, with the text of its file, be written?
    pub(crate) fn check_clean(
        &self,
        exchange: &RecordedExchange,
        file: &str,
    ) -> Result<(), ScrubFailure> {
        let known = lock(&self.known);
        if known.is_overfull {
            return Err(ScrubFailure::TooManySecrets);
        }
        let finder = SecretFinder::new(known.literals(), false);
        drop(known);
        if leak_check::has_leak(&finder, exchange, file) {
            return Err(ScrubFailure::Leaks);
        }
        Ok(())
    }

    /// The exchange with the local values of stand-ins in its answer.
    pub(crate) fn fill_stand_ins(&self, exchange: RecordedExchange) -> RecordedExchange {
        if self.stand_ins.is_empty() {
            return exchange;
        }
        edit_response_body(exchange, |body| {
            let views = collect_views(body);
            views.iter().flat_map(|view| self.stand_in_edits(view)).collect()
        })
    }

    fn stand_in_edits(&self, view: &TextView) -> Vec<BodyEdit> {
        let mut edits = Vec::new();
        for (name, value) in &self.stand_ins {
            let value = if view.form == TextForm::String {
                escape_json_string(value)
            } else {
                value.clone()
            };
            let windows = view.text.windows(name.len()).enumerate();
            for (at, _) in windows.filter(|(_, window)| *window == name.as_bytes()) {
                edits.extend(replace_in_view(view, &(at..at + name.len()), &value));
            }
        }
        edits
    }

    fn find_edits(
        &self,
        finder: &SecretFinder,
        body: &[u8],
        replaced: &mut usize,
    ) -> Vec<BodyEdit> {
        let mut edits = Vec::new();
        for view in collect_views(body) {
            for SecretMatch { range, kind } in find_all_in_view(finder, &view) {
                let value = view.text.get(range.clone()).unwrap_or_default();
                let is_number = value.iter().all(u8::is_ascii_digit);
                let with = if view.form == TextForm::BetweenStrings && is_number {
                    // A word in place of a number would not be valid JSON.
                    "1".repeat(value.len())
                } else {
                    self.placeholder_for(kind, value)
                };
                *replaced += 1;
                edits.extend(replace_in_view(&view, &range, &with));
            }
        }
        edits
    }

    fn clean_headers(
        &self,
        finder: &SecretFinder,
        headers: Vec<(String, String)>,
        replaced: &mut usize,
    ) -> Vec<(String, String)> {
        let passed = headers.into_iter().filter(|(name, _)| classify_header(name).is_none());
        passed
            .map(|(name, value)| {
                let value = self.clean_text(finder, &value, replaced);
                (name, value)
            })
            .collect()
    }

    fn clean_path(&self, finder: &SecretFinder, path: &str, replaced: &mut usize) -> String {
        let Some((path, query)) = path.split_once('?') else {
            return self.clean_text(finder, path, replaced);
        };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value))
                if is_secret_parameter(name) && !is_placeholder(value.as_bytes()) =>
            {
                *replaced += 1;
                format!("{name}={}", self.placeholder_for(SecretKind::Secret, value.as_bytes()))
            }
            _ => self.clean_text(finder, pair, replaced),
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        format!("{}?{query}", self.clean_text(finder, path, replaced))
    }

    fn clean_text(&self, finder: &SecretFinder, text: &str, replaced: &mut usize) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for SecretMatch { range, kind } in finder.find(text.as_bytes()) {
            let value = text.get(range.clone()).unwrap_or_default();
            clean.push_str(text.get(done..range.start).unwrap_or_default());
            clean.push_str(&self.placeholder_for(kind, value.as_bytes()));
            done = range.end;
            *replaced += 1;
        }
        clean.push_str(text.get(done..).unwrap_or_default());
        clean
    }

    fn placeholder_for(&self, kind: SecretKind, value: &[u8]) -> String {
        let stand_in = match kind {
            SecretKind::StandIn(index) => self.stand_ins.get(index),
            SecretKind::Secret | SecretKind::Identity | SecretKind::Email => None,
        };
        match stand_in {
            Some((name, _)) => name.clone(),
            None => lock(&self.known).placeholder_for(kind, value),
        }
    }

    fn build_finder(&self) -> SecretFinder {
        let mut literals = lock(&self.known).literals();
        literals.extend(self.stand_ins.iter().enumerate().map(|(index, (_, value))| {
            SecretLiteral { value: value.clone().into_bytes(), kind: SecretKind::StandIn(index) }
        }));
        SecretFinder::new(literals, self.emails)
    }
}

/// Secrets stay out of test output and logs.
impl fmt::Debug for CassetteScrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassetteScrubber")
            .field("stand_ins", &self.stand_ins)
            .finish_non_exhaustive()
    }
}

/// All ranges of a view to replace, in order and without overlaps: all of it, if its field requires
/// that; fields of JSON inside of a text, such as the arguments of a call; and matches.
fn find_all_in_view(finder: &SecretFinder, view: &TextView) -> Vec<SecretMatch> {
    if let Some(kind) = classify_field(view).filter(|_| !is_placeholder(&view.text)) {
        return vec![SecretMatch { range: 0..view.text.len(), kind }];
    }
    let mut all = Vec::new();
    if view.form == TextForm::String && view.text.starts_with(b"{") {
        for inner in collect_views(&view.text).iter().filter(|inner| is_secret_field(inner)) {
            let ranges = inner.raw_ranges(&(0..inner.text.len())).into_iter();
            all.extend(ranges.map(|range| SecretMatch { range, kind: SecretKind::Secret }));
        }
    }
    let overlaps = |one: &SecretMatch, other: &SecretMatch| {
        one.range.start < other.range.end && other.range.start < one.range.end
    };
    let found = finder.find(&view.text).into_iter();
    let found: Vec<SecretMatch> =
        found.filter(|one| !all.iter().any(|other| overlaps(one, other))).collect();
    all.extend(found);
    all.sort_by_key(|found| found.range.start);
    all
}

/// A text as it stands inside a JSON string.
fn escape_json_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Shorter values are ordinary words or parts of every path.
const STAND_IN_MIN: usize = 4;
