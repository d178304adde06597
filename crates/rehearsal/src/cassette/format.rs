//! Serializes exchanges to lines of JSON, and parses them to the same bytes.
//!
//! ```text
//! {"cassette":1,"request":{"method":"POST","path":"/v1/messages","headers":[],"body":{"json":{}}}}
//! {"response":{"status":200,"headers":[["content-type","text/event-stream"]],"millis":3}}
//! {"millis":3,"chunk":{"text":"event: ping\ndata: {}\n\n"}}
//! {"end":"complete","millis":9}
//! ```
//!
//! A line with `cassette` starts an exchange, so concatenated files are a cassette too. Bytes are
//! `json` if they are JSON on one line (kept unchanged), else `text`, with `before` and `after` for
//! the bytes of a character that was split, else `base64`. Does not scrub and reads no file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_vocabulary::to_hex;

use super::exchange::{
    ExchangeEnd, RecordedChunk, RecordedExchange, RecordedRequest, RecordedResponseHead,
};

/// The lines of one exchange.
pub(crate) fn serialize_exchange(exchange: &RecordedExchange) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    let mut put = |line: &CassetteLine| -> Result<(), serde_json::Error> {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
        Ok(())
    };
    let request = &exchange.request;
    put(&CassetteLine {
        cassette: Some(VERSION),
        request: Some(CassetteRequestLine {
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.clone(),
            body: (!request.body.is_empty()).then(|| CassetteBytes::from_bytes(&request.body)),
        }),
        ..CassetteLine::default()
    })?;
    if let Some(RecordedResponseHead { status, headers, length, millis }) = exchange.head.clone() {
        let response = Some(CassetteResponseLine { status, headers, length, millis });
        put(&CassetteLine { response, ..CassetteLine::default() })?;
    }
    for chunk in &exchange.chunks {
        let held = Some(CassetteBytes::from_bytes(&chunk.bytes));
        put(&CassetteLine { millis: Some(chunk.millis), chunk: held, ..CassetteLine::default() })?;
    }
    let end = Some(exchange.end.as_str().to_owned());
    put(&CassetteLine { end, millis: Some(exchange.end_millis), ..CassetteLine::default() })?;
    Ok(text)
}

/// The exchanges of a text, or the number of the first invalid line and what is wrong with it.
pub(crate) fn parse_exchanges(text: &str) -> Result<Vec<RecordedExchange>, (usize, String)> {
    let mut exchanges = Vec::new();
    let mut open: Option<RecordedExchange> = None;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        last = number;
        if line.trim().is_empty() {
            continue;
        }
        let line: CassetteLine =
            serde_json::from_str(line).map_err(|error| (number, error.to_string()))?;
        let wrong = |problem: &str| (number, problem.to_owned());
        match (line, open.as_mut()) {
            (CassetteLine { cassette: Some(VERSION), request: Some(request), .. }, None) => {
                open = Some(begin_exchange(request).map_err(|problem| wrong(&problem))?);
            }
            (CassetteLine { cassette: Some(VERSION), .. }, None) => {
                return Err(wrong("an exchange begins with its `request`"));
            }
            (CassetteLine { cassette: Some(_), .. }, None) => {
                return Err(wrong("only cassettes of version 1 can be read here"));
            }
            (CassetteLine { response: Some(head), .. }, Some(open))
                if open.head.is_none() && open.chunks.is_empty() =>
            {
                if !(200..=999).contains(&head.status) {
                    return Err(wrong("`status` must be from 200 to 999"));
                }
                open.head = Some(to_response_head(head));
            }
            (CassetteLine { chunk: Some(held), millis: Some(millis), .. }, Some(open))
                if open.head.is_some() =>
            {
                let bytes = held.into_bytes().map_err(|problem| wrong(&problem))?;
                if !bytes.is_empty() {
                    open.chunks.push(RecordedChunk { millis, bytes });
                }
            }
            (CassetteLine { end: Some(word), millis: Some(millis), .. }, Some(_)) => {
                let end = ExchangeEnd::ALL.into_iter().find(|end| end.as_str() == word);
                let end = end.ok_or_else(|| wrong("`end` is complete, cut, reset or silent"))?;
                let done =
                    open.take().map(|open| RecordedExchange { end, end_millis: millis, ..open });
                exchanges.extend(done);
            }
            _ => return Err(wrong("this line does not belong here")),
        }
    }
    match open {
        Some(_) => Err((last, "the exchange has no `end`: the file is incomplete".to_owned())),
        None => Ok(exchanges),
    }
}

fn begin_exchange(request: CassetteRequestLine) -> Result<RecordedExchange, String> {
    let CassetteRequestLine { method, path, headers, body } = request;
    let body = body.map_or(Ok(Vec::new()), CassetteBytes::into_bytes)?;
    Ok(RecordedExchange {
        request: RecordedRequest { method, path, headers, body },
        head: None,
        chunks: Vec::new(),
        end: ExchangeEnd::Unfinished,
        end_millis: 0,
    })
}

fn to_response_head(head: CassetteResponseLine) -> RecordedResponseHead {
    let CassetteResponseLine { status, mut headers, length, millis } = head;
    // The body is framed again when it is sent; a second framing would contradict that.
    headers.retain(|(name, _)| {
        !FRAMING_HEADERS.iter().any(|framing| name.eq_ignore_ascii_case(framing))
    });
    RecordedResponseHead { status, headers, length, millis }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cassette: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<CassetteRequestLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<CassetteResponseLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    millis: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunk: Option<CassetteBytes>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteRequestLine {
    method: String,
    path: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<CassetteBytes>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteResponseLine {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(default)]
    millis: u64,
}

/// Bytes in the most readable form.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteBytes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl CassetteBytes {
    fn from_bytes(bytes: &[u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return match parse_one_line_json(text) {
                Some(json) => Self { json: Some(json), ..Self::default() },
                None => Self { text: Some(text.to_owned()), ..Self::default() },
            };
        }
        let (before, rest) = split_bytes(
            bytes,
            bytes.iter().take_while(|byte| is_continuation_byte(**byte)).count(),
        );
        let whole = match std::str::from_utf8(rest) {
            Ok(_) => rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let (text, after) = split_bytes(rest, whole);
        match std::str::from_utf8(text) {
            // At most three bytes of a character can be missing at either end.
            Ok(text) if !text.is_empty() && before.len() <= 3 && after.len() <= 3 => Self {
                before: (!before.is_empty()).then(|| to_hex(before)),
                text: Some(text.to_owned()),
                after: (!after.is_empty()).then(|| to_hex(after)),
                ..Self::default()
            },
            _ => Self { base64: Some(STANDARD.encode(bytes)), ..Self::default() },
        }
    }

    fn into_bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self { json: Some(json), text: None, base64: None, before: None, after: None } => {
                Ok(json.get().as_bytes().to_vec())
            }
            Self { text: Some(text), json: None, base64: None, before, after } => {
                let mut bytes = decode_hex(before.as_deref().unwrap_or_default())?;
                bytes.extend_from_slice(text.as_bytes());
                bytes.extend_from_slice(&decode_hex(after.as_deref().unwrap_or_default())?);
                Ok(bytes)
            }
            Self { base64: Some(text), json: None, text: None, before: None, after: None } => {
                STANDARD.decode(text).map_err(|error| format!("`base64` is not: {error}"))
            }
            _ => Err("bytes are one of `json`, `text` and `base64`".to_owned()),
        }
    }
}

/// The text as JSON on one line, if that preserves every byte.
fn parse_one_line_json(text: &str) -> Option<Box<RawValue>> {
    let fits = text.starts_with(['{', '[']) && !text.contains(['\n', '\r']);
    let json = fits.then(|| RawValue::from_string(text.to_owned()).ok())??;
    (json.get() == text).then_some(json)
}

/// Is this a byte inside a character of UTF-8?
fn is_continuation_byte(byte: u8) -> bool {
    (0x80..0xC0).contains(&byte)
}

fn split_bytes(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(at).unwrap_or((bytes, &[]))
}

fn decode_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0);
    let digits = digits.ok_or("`before` and `after` are bytes in hexadecimal")?;
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte * 16 + digit)).collect())
}

const VERSION: u32 = 1;
/// Headers that say where a body ends.
pub(crate) const FRAMING_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        CassetteBytes, ExchangeEnd, RecordedChunk, RecordedExchange, RecordedRequest,
        RecordedResponseHead, parse_exchanges, serialize_exchange,
    };

    fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
        prop::collection::vec(("[a-z-]{3,12}", ".{0,12}"), 0..3)
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            ".{1,40}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 1..40),
            Just(br#"{"a":[1, 2.50,"\u00e4"]}"#.to_vec()),
            Just("{\n}".into()),
        ]
    }

    prop_compose! {
        fn exchange()(
            (method, path, head, end, end_millis) in
                ("[A-Z]{3,6}", "/.{0,20}", any::<Option<u64>>(), 0..4_usize, any::<u64>()),
            (asked, answered) in (headers(), headers()),
            body in prop::collection::vec(any::<u8>(), 0..40),
            (status, length, pieces) in
                (200..1000_u16, any::<Option<u64>>(), prop::collection::vec((0..9_u64, bytes()), 0..4)),
        ) -> RecordedExchange {
            let head = head.map(|millis| RecordedResponseHead { status, headers: answered, length, millis });
            let chunks = pieces.into_iter().map(|(millis, bytes)| RecordedChunk { millis, bytes });
            RecordedExchange {
                request: RecordedRequest { method, path, headers: asked, body },
                chunks: if head.is_some() { chunks.collect() } else { Vec::new() },
                head,
                end: ExchangeEnd::ALL[end],
                end_millis,
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_to_the_byte(exchanges in prop::collection::vec(exchange(), 1..3)) {
            let text: String = exchanges.iter().map(|one| serialize_exchange(one).expect("text")).collect();
            prop_assert_eq!(parse_exchanges(&text), Ok(exchanges));
        }
    }

    #[test]
    fn bytes_are_as_readable_as_they_can_be() {
        for (bytes, wanted) in [
            (&b"{\"a\": 1.0}"[..], r#"{"json":{"a": 1.0}}"#),
            (b"{\n}", r#"{"text":"{\n}"}"#),
            ("weiß".as_bytes(), r#"{"text":"weiß"}"#),
            (b"\x9f wei\xc3", r#"{"before":"9f","text":" wei","after":"c3"}"#),
            (b"a\xffb and much more", r#"{"base64":"Yf9iIGFuZCBtdWNoIG1vcmU="}"#),
        ] {
            assert_eq!(
                serde_json::to_string(&CassetteBytes::from_bytes(bytes)).expect("text"),
                wanted
            );
        }
    }
}
