//! Fetches a page and shows it as Markdown.
//!
//! `fetch` gets it, `address` says from where it may come, `html`, `markdown` and `writer` make text
//! of it.
//! Whether the host may be asked at all was decided before. What the page says is material for the
//! model, not words of the user; that is for the prompt to say.

mod address;
mod fetch;
mod html;
mod markdown;
mod writer;

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::file::Encoding;
use crate::input::{self, Wrong};
use crate::tool::Job;
pub use address::Network;
use fetch::{Fetched, Page, TIME_MAX};

/// The tool.
#[derive(Debug)]
pub(crate) struct WebFetch;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The address, http or https.
    url: String,
    /// What you want to know from it.
    #[expect(dead_code, reason = "shown by front ends, which read it from the call")]
    prompt: String,
    /// Show from this byte on, for a page that was cut.
    #[serde(default, deserialize_with = "input::whole_number")]
    offset: Option<u64>,
}

const DESCRIPTION: &str = "Fetches a web page and shows it as Markdown. Does not follow redirects \
to another host: fetch the address it names instead. No logins, no scripts.";

/// Bytes of a page shown at a time.
const SHOWN_BYTES_MAX: usize = 60_000;
const RESULT_BYTES_MAX: usize = 70_000;

impl Action for WebFetch {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("WebFetch", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        fetch::address(&input.url)
            .map(|_| Inspection::SHARED_READ)
            .map_err(|why| Wrong::field("url", why))
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(perform(input, job))
    }
}

async fn perform(input: Input, job: Job) -> Done {
    let began = Instant::now();
    let url = fetch::address(&input.url)?;
    let fetched = tokio::select! {
        biased;
        () = job.cancel.cancelled() => return Err("Interrupted before it ended.".to_owned()),
        fetched = tokio::time::timeout(TIME_MAX, fetch::fetch(url, job.surroundings.network)) => {
            fetched.map_err(|_| format!("No answer within {} s.", TIME_MAX.as_secs()))??
        }
    };
    let (status, bytes, url, result, is_error) = match fetched {
        Fetched::Elsewhere { from, to, status } => {
            let text = format!("{from} redirects to another host. To follow it, fetch {to}");
            (status, 0, from, text, false)
        }
        Fetched::Page(page) => {
            let text = shown(&page, input.offset.unwrap_or(0))?;
            (page.status, page.body.len(), page.url, text, !page.status.is_success())
        }
    };
    let structured = json!({
        "bytes": bytes,
        "code": status.as_u16(),
        "codeText": status.canonical_reason().unwrap_or(""),
        "result": result,
        "durationMs": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "url": url.as_str(),
    });
    let structured = Some(Json::from_checked(&structured.to_string()));
    Ok(ToolOutcome { is_error, structured, ..ToolOutcome::text(result) })
}

fn shown(page: &Page, offset: u64) -> Result<String, String> {
    let (text, title) = text(page)?;
    let mut shown = String::new();
    if !page.status.is_success() {
        shown.push_str(&format!("The server answered {}.\n", page.status));
    }
    if let Some(title) = title.filter(|_| offset == 0) {
        shown.push_str(&format!("Title: {title}\n\n"));
    }
    let start = text.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX));
    let end = text.floor_char_boundary(start.saturating_add(SHOWN_BYTES_MAX));
    shown.push_str(text.get(start..end).unwrap_or_default());
    if end < text.len() {
        shown.push_str(&format!("\n[{} bytes in all; the next is offset {end}]", text.len()));
    }
    if page.is_cut {
        shown.push_str("\n[The page is longer; only its first part was fetched]");
    }
    if text.is_empty() {
        shown.push_str("[The page holds no text]");
    }
    Ok(shown)
}

/// The page as text, and its title.
fn text(page: &Page) -> Result<(String, Option<String>), String> {
    let kind = page.content_type.to_ascii_lowercase();
    let (kind, parameters) = kind.split_once(';').unwrap_or((&kind, ""));
    let kind = kind.trim();
    let is_html = kind.contains("html") || kind.is_empty() && looks_like_html(&page.body);
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh", "sql"]
            .iter()
            .any(|word| kind.contains(word));
    if !is_html && (!is_text || page.body.contains(&0)) {
        let url = &page.url;
        return Err(format!(
            "{url} is of type `{kind}`, which is not text. Download it with a command instead."
        ));
    }
    let charset = parameters.split(';').find_map(|it| it.trim().strip_prefix("charset="));
    let charset = charset.map(|label| label.trim_matches('"'));
    let encoding = charset.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
    let decoded = match encoding {
        Some(known) => known.decode(&page.body).0,
        None => Encoding::of(&page.body).decode(&page.body),
    };
    Ok(match is_html {
        true => markdown::markdown(&decoded, &page.url),
        false => (decoded.into_owned(), None),
    })
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = body.get(..1_024).unwrap_or(body).to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html", b"<body", b"<head"]
        .iter()
        .any(|mark| memchr::memmem::find(&start, mark).is_some())
}
