//! Web search by the provider: how a request enables it, and where the links are in the answer.
//!
//! Only requests that offer no tools of ours can carry it, so it is put in front of a body that is
//! otherwise written like any other. Links are read off the raw events: wherever an object names an
//! address, whatever the wire calls the object.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;
use windlass_vocabulary::{Json, MicroUsd, WireFormat};

/// The hosts a search is limited to. Providers accept one of the two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSearchDomains {
    /// Only these hosts and those below them; all when empty.
    pub allowed: Vec<String>,
    /// Not these hosts and those below them.
    pub blocked: Vec<String>,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSearchLink {
    /// The title of the page.
    pub title: String,
    /// The address of the page.
    pub url: String,
}

/// Searches of one request. Not every provider lets us set it; then the cost is estimated with it.
pub const USES_MAX: u32 = 5;
/// Links that are kept, and how deep an event is looked into.
const LINKS_MAX: usize = 50;
const DEPTH_MAX: usize = 12;
const TITLE_CHARS_MAX: usize = 200;
const URL_BYTES_MAX: usize = 2_000;

/// The body with this entry as its tools. A body that already has tools is not changed.
#[must_use]
pub fn add_search_tool(body: Vec<u8>, tool: &str) -> Vec<u8> {
    let Some((b'{', rest)) = body.split_first() else {
        return body;
    };
    let mut out = Vec::with_capacity(body.len() + tool.len() + 16);
    out.extend_from_slice(b"{\"tools\":[");
    out.extend_from_slice(tool.as_bytes());
    out.extend_from_slice(b"],");
    out.extend_from_slice(rest);
    out
}

/// Adds the links that a raw event names and that are not there yet.
pub fn collect_links(event: &Json, out: &mut Vec<WebSearchLink>) {
    if let Ok(value) = serde_json::from_str::<Value>(event.as_str()) {
        collect_links_in(&value, DEPTH_MAX, out);
    }
}

/// What a provider charges for one search, in addition to the tokens: the highest list price on this
/// wire of models that are sold today.
#[must_use]
pub fn search_fee(wire: WireFormat) -> MicroUsd {
    match wire {
        WireFormat::AnthropicMessages | WireFormat::OpenaiResponses => MicroUsd(10_000),
        WireFormat::Gemini => MicroUsd(35_000),
        WireFormat::OpenaiChat => MicroUsd(0),
    }
}

/// The number of searches that a raw event reports, beyond those known before. One wire counts them
/// in its usage, one sends each as an item, one lists the queries.
#[must_use]
pub fn count_searches(event: &Json, before: u32) -> u32 {
    let Ok(event) = serde_json::from_str::<Value>(event.as_str()) else { return before };
    let number = |pointer: &str| event.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let counted = number("/usage/server_tool_use/web_search_requests")
        .max(number("/message/usage/server_tool_use/web_search_requests"));
    let listed = event.pointer("/candidates/0/groundingMetadata/webSearchQueries");
    let listed = listed.and_then(Value::as_array).map_or(0, Vec::len) as u64;
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    let is_item = text("/type") == Some("response.output_item.done")
        && text("/item/type") == Some("web_search_call");
    let reported = u32::try_from(counted.max(listed)).unwrap_or(u32::MAX);
    before.max(reported).saturating_add(u32::from(is_item))
}

fn collect_links_in(value: &Value, depth: usize, out: &mut Vec<WebSearchLink>) {
    if depth == 0 || out.len() >= LINKS_MAX {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_links_in(item, depth - 1, out)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(url), Some(title)) = (text("url").or(text("uri")), text("title")) {
                add_link(url, title, out);
            }
            fields.values().for_each(|field| collect_links_in(field, depth - 1, out));
        }
        _ => {}
    }
}

fn add_link(url: &str, title: &str, out: &mut Vec<WebSearchLink>) {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_plain = url.len() <= URL_BYTES_MAX && !url.chars().any(|c| c.is_control() || c == ' ');
    if is_web && is_plain && !out.iter().any(|known| known.url == url) {
        let title = title.chars().filter(|c| !c.is_control()).take(TITLE_CHARS_MAX).collect();
        out.push(WebSearchLink { title, url: String::from(url) });
    }
}
