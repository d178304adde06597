//! Tools on offer, in the order given. A tool whose name or schema the provider would refuse is
//! bent into shape if only its schema's root is wrong, and left out with a note otherwise: one bad
//! tool from an MCP server must not cost the session.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::ToolSpec;

use crate::json_object;
use crate::json_writer::{append_raw, append_string};
use crate::normalize::{NormalizationNotes, NormalizationStep};
use crate::provider_rules::ProviderRules;

/// A tool that may be sent.
pub(crate) struct AcceptedTool<'a> {
    pub(crate) name: &'a str,
    /// The description that the model sees.
    pub(crate) description: &'a str,
    /// A schema the provider takes.
    pub(crate) schema: Cow<'a, str>,
}

/// The tools that may be sent.
pub(crate) fn select_accepted_tools<'a>(
    tools: &'a [ToolSpec],
    rules: &ProviderRules,
    notes: &mut NormalizationNotes,
) -> Vec<AcceptedTool<'a>> {
    let mut note = |line: String| notes.add(NormalizationStep::Tools, 0, line);
    let mut names = BTreeSet::new();
    let mut legal = Vec::with_capacity(tools.len());
    for spec in tools {
        if legal.len() == rules.tools.count_max {
            note(format!("the tool {:?} was left out: there are too many", spec.name.as_str()));
            continue;
        }
        let name = spec.name.as_str();
        let is_legal_name = !name.is_empty()
            && name.len() <= rules.tools.name_chars_max
            && name.chars().all(ProviderRules::is_name_char);
        if !is_legal_name || !names.insert(name) {
            note(format!("the tool {name:?} was left out: its name is not allowed or taken"));
            continue;
        }
        match normalize_tool_schema(spec.input_schema.as_str(), rules) {
            Some(schema) => {
                legal.push(AcceptedTool { name, description: &spec.description, schema });
            }
            None => {
                note(format!("the tool {name:?} was left out: its schema is not an object"));
            }
        }
    }
    legal
}

/// The schema verbatim if the provider takes it, else without what it refuses at the root.
fn normalize_tool_schema<'a>(json: &'a str, rules: &ProviderRules) -> Option<Cow<'a, str>> {
    let fields = json_object::parse_fields(json).ok()?;
    let is_refused = |key: &str| rules.tools.schema_root_forbidden.contains(&key);
    let types: Vec<&str> =
        fields.iter().filter(|(key, _)| key == "type").map(|(_, value)| value.get()).collect();
    if types == ["\"object\""] && !fields.iter().any(|(key, _)| is_refused(key)) {
        return Some(Cow::Borrowed(json.trim()));
    }
    if types.iter().any(|kind| *kind != "\"object\"") {
        return None;
    }
    let mut out = Vec::from(*b"{\"type\":\"object\"");
    for (key, value) in fields.iter().filter(|(key, _)| key != "type" && !is_refused(key)) {
        out.push(b',');
        append_string(&mut out, key);
        out.push(b':');
        append_raw(&mut out, value.get());
    }
    out.push(b'}');
    String::from_utf8(out).ok().map(Cow::Owned)
}
