//! One long answer per wire, byte for byte in the form its server sends: field order, spaces,
//! padding and all. What is said is the same on every wire: prose and code, in pieces of a few
//! characters.

use serde_json::Value;
use windlass_vocabulary::WireFormat;

/// A recorded answer.
pub struct Recording {
    pub wire: WireFormat,
    pub body: Vec<u8>,
    /// Where each event ends.
    ends: Vec<usize>,
    pub text_bytes: usize,
    /// Where the text of an event stands.
    pub text_of: fn(&Value) -> Option<&str>,
}

impl Recording {
    /// The body in pieces of a size, or event by event.
    pub fn chunks(&self, size: Option<usize>) -> Vec<&[u8]> {
        if let Some(size) = size {
            return self.body.chunks(size).collect();
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let pieces = starts.zip(&self.ends).filter_map(|(start, end)| self.body.get(start..*end));
        pieces.collect()
    }
}

/// One for each wire, as many paragraphs long.
pub fn all(paragraphs: usize) -> Vec<Recording> {
    vec![
        anthropic_messages(paragraphs),
        openai_chat(paragraphs),
        openai_responses(paragraphs),
        gemini(paragraphs),
    ]
}

fn anthropic_messages(paragraphs: usize) -> Recording {
    let named =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let mut events = vec![
        named(
            "message_start",
            ",\"message\":{\"model\":\"claude-opus-5\",\"id\":\"msg_01XFDUDYJgAACzvnptvVoYEL\",\
             \"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null,\
             \"stop_sequence\":null,\"usage\":{\"input_tokens\":2095,\
             \"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":51200,\
             \"output_tokens\":2}}",
        ),
        named(
            "content_block_start",
            ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}",
        ),
        String::from("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
    ];
    events.extend(said(paragraphs, |number, text| {
        // The server pads events with spaces so that their length tells nothing.
        let padding = " ".repeat(number % 12);
        named(
            "content_block_delta",
            &format!(",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}{padding}"),
        )
    }));
    events.push(named("content_block_stop", ",\"index\":0"));
    events.push(named(
        "message_delta",
        ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\
         \"usage\":{\"output_tokens\":12000}",
    ));
    events.push(named("message_stop", ""));
    recording(WireFormat::AnthropicMessages, paragraphs, events, |event| {
        event["delta"]["text"].as_str()
    })
}

fn openai_chat(paragraphs: usize) -> Recording {
    let chunk = |delta: &str, finish: &str, padding: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-CVcKzLtbJBAbQc9PCiMpfB5eV4mYj\",\
             \"object\":\"chat.completion.chunk\",\"created\":1761650000,\
             \"model\":\"gpt-5.1-2025-11-13\",\"service_tier\":\"default\",\
             \"system_fingerprint\":null,\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"logprobs\":null,\"finish_reason\":{finish}}}],\"usage\":null,\
             \"obfuscation\":\"{}\"}}\n\n",
            "k9Zq3XvB7LmT".chars().cycle().take(padding).collect::<String>()
        )
    };
    let mut events =
        vec![chunk("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}", "null", 8)];
    events.extend(said(paragraphs, |number, text| {
        chunk(&format!("{{\"content\":{text}}}"), "null", number % 12)
    }));
    events.push(chunk("{}", "\"stop\"", 3));
    events.push(String::from("data: [DONE]\n\n"));
    recording(WireFormat::OpenaiChat, paragraphs, events, |event| {
        event["choices"][0]["delta"]["content"].as_str()
    })
}

fn openai_responses(paragraphs: usize) -> Recording {
    let named = |kind: &str, number: usize, rest: &str| {
        format!(
            "event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number},{rest}}}\n\n"
        )
    };
    let mut events = vec![
        named(
            "response.created",
            0,
            "\"response\":{\"id\":\"resp_67c9\",\"object\":\"response\",\"created_at\":1741290958,\
             \"status\":\"in_progress\",\"model\":\"gpt-5.1\",\"output\":[],\"usage\":null}",
        ),
        named(
            "response.output_item.added",
            1,
            "\"output_index\":0,\"item\":{\"id\":\"msg_67c9\",\"type\":\"message\",\
             \"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}",
        ),
    ];
    events.extend(said(paragraphs, |number, text| {
        let padding: String = "k9Zq3XvB7LmT".chars().cycle().take(number % 12).collect();
        named(
            "response.output_text.delta",
            number + 2,
            &format!(
                "\"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c501b8b0ad29988ed\",\
                 \"output_index\":0,\"content_index\":0,\"delta\":{text},\"logprobs\":[],\
                 \"obfuscation\":\"{padding}\""
            ),
        )
    }));
    events.push(named(
        "response.output_item.done",
        9_000,
        "\"output_index\":0,\"item\":{\"id\":\"msg_67c9\",\"type\":\"message\",\
         \"status\":\"completed\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\
         \"text\":\"all of it\",\"annotations\":[]}]}",
    ));
    events.push(named(
        "response.completed",
        9_001,
        "\"response\":{\"id\":\"resp_67c9\",\"status\":\"completed\",\"output\":[],\
         \"usage\":{\"input_tokens\":37,\"output_tokens\":11}}",
    ));
    recording(WireFormat::OpenaiResponses, paragraphs, events, |event| event["delta"].as_str())
}

fn gemini(paragraphs: usize) -> Recording {
    let chunk = |text: &str, finish: &str, count: usize| {
        format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": {text}}}],\
             \"role\": \"model\"}}{finish},\"index\": 0}}],\"usageMetadata\": \
             {{\"promptTokenCount\": 1043,\"candidatesTokenCount\": {count},\
             \"totalTokenCount\": {},\"promptTokensDetails\": [{{\"modality\": \"TEXT\",\
             \"tokenCount\": 1043}}],\"thoughtsTokenCount\": 512}},\
             \"modelVersion\": \"gemini-3-pro\",\"responseId\": \"kX0QaZyBDq6ekdUPk9Xx2Qs\"}}\r\n\r\n",
            count + 1043
        )
    };
    let mut events: Vec<String> =
        said(paragraphs, |number, text| chunk(&text, "", number)).collect();
    events.push(chunk("\"\"", ",\"finishReason\": \"STOP\"", 12_000));
    recording(WireFormat::Gemini, paragraphs, events, |event| {
        event["candidates"][0]["content"]["parts"][0]["text"].as_str()
    })
}

/// The pieces of the answer as JSON strings, each put into its event.
fn said(
    paragraphs: usize,
    mut event: impl FnMut(usize, String) -> String,
) -> impl Iterator<Item = String> {
    pieces(paragraphs).enumerate().map(move |(number, piece)| {
        let quoted = serde_json::to_string(piece).unwrap_or_default();
        event(number, quoted)
    })
}

fn recording(
    wire: WireFormat,
    paragraphs: usize,
    events: Vec<String>,
    text_of: fn(&Value) -> Option<&str>,
) -> Recording {
    let (mut body, mut ends) = (Vec::new(), Vec::new());
    for event in events {
        body.extend_from_slice(event.as_bytes());
        ends.push(body.len());
    }
    let text_bytes = pieces(paragraphs).map(str::len).sum();
    Recording { wire, body, ends, text_bytes, text_of }
}

/// Words with the space before them, as tokens come; some hold quotes, line ends and umlauts.
fn pieces(paragraphs: usize) -> impl Iterator<Item = &'static str> {
    (0..paragraphs).flat_map(|_| PARAGRAPH.split_inclusive(' '))
}

const PARAGRAPH: &str = "The test fails because `parse_line` keeps the carriage return that \
    Windows editors leave at the end of a line, so the key \"name\\r\" is never found. I will trim \
    it before the lookup:\n\n```rust\nfn parse_line(line: &str) -> Option<(&str, &str)> {\n    \
    let (key, value) = line.trim_end_matches('\\r').split_once('=')?;\n    \
    Some((key.trim(), value.trim()))\n}\n```\n\nThat is enough for every file in the fixtures, \
    even for the one with umlauts (größer, Übung) and the one with quotes \"like these\". The two \
    tests that were red are green now, and nothing else changed. If you would rather keep the \
    bytes as they are, say so and I will compare with the ending instead. ";
