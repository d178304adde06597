//! The last check before writing: is there still a secret?
//!
//! Checks more than the scrubber sees: the file's text, every complete body, and all of it again
//! with escapes removed layer by layer. Repairs nothing; an exchange with a match is not written at
//! all.

use percent_encoding::percent_decode_str;
use windlass_redaction::SecretFinder;

use super::json_tokenizer::decode_escape;
use super::text_view::collect_views;
use crate::cassette::exchange::RecordedExchange;

/// Is there a match in this exchange, or in the text of its file?
pub(super) fn has_leak(finder: &SecretFinder, exchange: &RecordedExchange, file: &str) -> bool {
    let request = &exchange.request;
    let body = exchange.body();
    let shows = |text: &[u8]| !finder.find(text).is_empty();
    let shows_in_views = |body: &[u8]| collect_views(body).iter().any(|view| shows(&view.text));
    shows(request.path.as_bytes())
        || shows(&percent_decode_str(&request.path).collect::<Vec<u8>>())
        || shows_in_views(&request.body)
        || shows_in_views(&body)
        || [file.as_bytes(), &request.body, &body]
            .into_iter()
            .any(|text| has_match_at_any_depth(&shows, text))
}

/// Is there a match in this text, with any number of escape layers removed?
fn has_match_at_any_depth(shows: &impl Fn(&[u8]) -> bool, text: &[u8]) -> bool {
    let mut layer = text.to_vec();
    for _ in 0..LAYERS_MAX {
        if shows(&layer) {
            return true;
        }
        let below = unescape_once(&layer);
        if below == layer {
            return false;
        }
        layer = below;
    }
    // Too deep to check.
    true
}

/// The text with one layer of escapes removed.
fn unescape_once(text: &[u8]) -> Vec<u8> {
    let mut bare = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        match decode_escape(rest) {
            Some((char, len)) => {
                bare.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                rest = rest.get(len..).unwrap_or_default();
            }
            None => {
                bare.push(*byte);
                rest = after;
            }
        }
    }
    bare
}

/// Limit on the layers of JSON in JSON: more than is ever used.
const LAYERS_MAX: usize = 16;
