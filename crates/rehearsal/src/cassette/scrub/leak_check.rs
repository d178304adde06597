//! The last look before the disk: is there anything left that must not be written down?
//!
//! Looks at more than what the scrubber reads: at the file as it would be, at every body whole, and
//! at all of it again with escapes taken off layer by layer. Repairs nothing; what is found here is
//! not written at all.

use percent_encoding::percent_decode_str;

use super::json_tokenizer::decode_escape;
use super::secret_finder::SecretFinder;
use super::text_view::collect_views;
use crate::cassette::exchange::RecordedExchange;

/// Does anything sought show in this exchange, or in the text of its file?
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

/// Does anything show in this text, or in it without its escapes, however often it was escaped?
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
    // Too deep to tell.
    true
}

/// The text with one layer of escapes taken off, wherever they stand.
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

/// JSON in JSON in JSON …: more often than anybody packs.
const LAYERS_MAX: usize = 16;
