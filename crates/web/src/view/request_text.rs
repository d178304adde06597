//! A request as text: in the engine's form, or in the bytes of a wire format.

use serde_json::{Value, json};
use windlass_assembly::model_selection::find_model_wire;
use windlass_dialect::dialect;
use windlass_host::environment::process_environment;
use windlass_vocabulary::{ContentBlock, ModelRequest, ToolSpec, WireFormat};

use crate::server::query::QueryParameters;
use crate::viewer::ViewFailure;

/// The form in which to show a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// The provider-independent request that the engine built.
    Engine,
    /// Encoded for a wire: the given one, or the one its model had in this session, or the one that
    /// is configured for it now.
    Wire(Option<WireFormat>),
}

impl RequestForm {
    pub(super) fn read(query: &QueryParameters) -> Result<Self, ViewFailure> {
        let wire = match query.text("wire") {
            None => None,
            Some(name) => {
                let known = WIRES.iter().find(|(_, own)| *own == name);
                let unknown = || ViewFailure::bad_request("there is no such `wire`");
                Some(known.ok_or_else(unknown)?.0)
            }
        };
        match query.text("form") {
            None | Some("engine") => Ok(Self::Engine),
            Some("wire") => Ok(Self::Wire(wire)),
            Some(_) => Err(ViewFailure::bad_request("`form` is `engine` or `wire`")),
        }
    }
}

pub(super) struct RequestText {
    /// The JSON as it is sent, on one line.
    pub(super) json: String,
    /// Metadata such as the wire, the URL path, and what the encoding left out.
    pub(super) about: Value,
}

impl RequestText {
    pub(super) fn render(request: &ModelRequest, form: RequestForm) -> Result<Self, ViewFailure> {
        match form {
            RequestForm::Engine => {
                let json = render_engine_form(request);
                Ok(Self { json, about: json!({"form": "engine"}) })
            }
            RequestForm::Wire(wanted) => render_wire_form(request, wanted),
        }
    }
}

/// The body, path and extra headers, never the credential.
fn render_wire_form(
    request: &ModelRequest,
    wanted: Option<WireFormat>,
) -> Result<RequestText, ViewFailure> {
    // The session's model may no longer be configured.
    let configured = find_model_wire(request.model.as_str(), &process_environment).ok();
    let known = configured.as_ref().map(|configured| configured.wire);
    let recorded = find_recorded_wire(request);
    let wire = wanted.or(recorded).or(known).unwrap_or(WireFormat::AnthropicMessages);
    let missing = || ViewFailure::failed("this version does not support that wire");
    let dialect = dialect(wire).ok_or_else(missing)?;
    let rules = configured.as_ref().filter(|configured| configured.wire == wire);
    let encoded = dialect.encode(request, rules.map_or(dialect.rules(), |own| &own.rules));
    let about = json!({
        "form": "wire",
        "wire": wire_name(wire),
        "configured": known.map(wire_name),
        "recorded": recorded.map(wire_name),
        "wires": WIRES.map(|(_, name)| name),
        "path": dialect.path(&request.model),
        "headers": dialect.extra_headers(request),
        "notes": encoded.notes,
        "refusal": encoded.refusal.map(|refusal| refusal.message),
    });
    Ok(RequestText { json: String::from_utf8_lossy(&encoded.body).into_owned(), about })
}

/// The wire over which the last answer of this model came, if the answer has a block that only its
/// provider understands: such a block says so.
fn find_recorded_wire(request: &ModelRequest) -> Option<WireFormat> {
    let answers = request.messages.iter().rev();
    let mut own = answers.filter(|message| message.model.as_ref() == Some(&request.model));
    own.find_map(|message| {
        message.content.iter().find_map(|block| match block {
            ContentBlock::Provider(block) => Some(block.wire),
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_) => None,
        })
    })
}

/// In the order in which a provider reads it, so that the common prefix of two requests is what a
/// cache can hold.
fn render_engine_form(request: &ModelRequest) -> String {
    let tool = |tool: &ToolSpec| {
        let schema = serde_json::from_str::<Value>(tool.input_schema.as_str()).unwrap_or_default();
        json!({"name": tool.name.as_str(), "description": &*tool.description, "input_schema": schema})
    };
    let system: Vec<&str> = request.system.iter().map(|part| &**part).collect();
    let messages = request.messages.iter();
    let messages = messages.map(|message| serde_json::to_value(&**message).unwrap_or_default());
    let parts = [
        ("model", json!(request.model.as_str())),
        ("source", json!(request.source.name())),
        ("output_max", json!(request.output_max.0)),
        ("thinking", json!(format!("{:?}", request.thinking))),
        ("tools", request.tools.iter().map(tool).collect()),
        ("system", json!(system)),
        ("messages", messages.collect()),
    ];
    let parts: Vec<String> =
        parts.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", parts.join(","))
}

fn wire_name(wire: WireFormat) -> &'static str {
    WIRES.iter().find(|(own, _)| *own == wire).map_or("", |(_, name)| name)
}

const WIRES: [(WireFormat, &str); 4] = [
    (WireFormat::AnthropicMessages, "anthropic_messages"),
    (WireFormat::OpenaiResponses, "openai_responses"),
    (WireFormat::OpenaiChat, "openai_chat"),
    (WireFormat::Gemini, "gemini"),
];
