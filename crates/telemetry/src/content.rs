//! Prompts, responses and tool content: sent only if the user enabled it, and always with a length
//! limit.

use std::path::PathBuf;

use windlass_host::environment::{self, EnvLookup};
use windlass_tool::Secrets;

/// Which content may be sent. Everything is off by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentSwitches {
    pub prompts: bool,
    pub responses: bool,
    /// Names of tools, files and agents, commands, and error messages.
    pub tool_details: bool,
    /// Inputs and outputs of tools.
    pub tool_content: bool,
    pub raw_bodies: RawBodies,
    /// Limit of one text in UTF-16 units, including the truncation mark.
    pub length_max: usize,
}

/// Where whole requests and answers go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RawBodies {
    #[default]
    Off,
    /// With the event, cut.
    InEvents,
    /// To files in this folder, whole; events say which.
    InFiles(PathBuf),
}

impl RawBodies {
    fn read(lookup: &impl EnvLookup, warnings: &mut Vec<String>) -> Self {
        let value = environment::read_variable(lookup, RAW_BODIES).ok().flatten();
        match value.as_deref().and_then(|value| value.strip_prefix("file:")) {
            Some(folder) if folder.starts_with('/') => Self::InFiles(PathBuf::from(folder)),
            Some(_) => {
                warnings.push(format!(
                    "{RAW_BODIES}: `file:` needs an absolute path, as in file:/var/log/bodies; \
                     no bodies are written"
                ));
                Self::Off
            }
            None if environment::is_switched_on(lookup, RAW_BODIES) => Self::InEvents,
            None => Self::Off,
        }
    }
}

impl ContentSwitches {
    pub(crate) fn read(lookup: &impl EnvLookup, warnings: &mut Vec<String>) -> Self {
        let is_on = |name: &str| environment::is_switched_on(lookup, name);
        let prompts = is_on("OTEL_LOG_USER_PROMPTS");
        let responses = match environment::is_set(lookup, RESPONSES) {
            true => is_on(RESPONSES),
            false => prompts,
        };
        Self {
            prompts,
            responses,
            tool_details: is_on("OTEL_LOG_TOOL_DETAILS"),
            tool_content: is_on("OTEL_LOG_TOOL_CONTENT"),
            raw_bodies: RawBodies::read(lookup, warnings),
            length_max: read_length(lookup),
        }
    }

    /// The redacted text if `is_on`, else a placeholder.
    pub(crate) fn reveal(&self, is_on: bool, text: &str, secrets: &Secrets) -> String {
        if is_on { redact_and_cut(text, self.length_max, secrets) } else { REDACTED.to_owned() }
    }
}

/// The smallest of the configured limits applies.
fn read_length(lookup: &impl EnvLookup) -> usize {
    let read = |name: &str| {
        let text = environment::read_variable(lookup, name).ok().flatten()?;
        text.parse::<usize>().ok().filter(|length| *length > 0)
    };
    let own = read("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH").unwrap_or(LENGTH_DEFAULT);
    let general = [
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    ];
    general.iter().filter_map(|name| read(name)).fold(own, usize::min).min(LENGTH_MAX)
}

/// Removes the session's secrets, then cuts to a number of UTF-16 units. In this order, because
/// half a key would not be recognised.
pub(crate) fn redact_and_cut(text: &str, length_max: usize, secrets: &Secrets) -> String {
    cut(&secrets.redact(text), length_max)
}

/// Cuts a text and appends a mark.
fn cut(text: &str, length_max: usize) -> String {
    // Each UTF-16 unit takes at least a byte, so most texts need no counting.
    if text.len() <= length_max || text.encode_utf16().count() <= length_max {
        return text.to_owned();
    }
    let room = length_max.saturating_sub(CUT_MARK.len());
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.len_utf16();
        used <= room
    });
    let mut kept: String = kept.collect();
    kept.push_str(CUT_MARK.get(..length_max.min(CUT_MARK.len())).unwrap_or_default());
    kept
}

const RESPONSES: &str = "OTEL_LOG_ASSISTANT_RESPONSES";
const RAW_BODIES: &str = "OTEL_LOG_RAW_API_BODIES";
pub(crate) const REDACTED: &str = "<REDACTED>";
const CUT_MARK: &str = "[TRUNCATED]";
const LENGTH_DEFAULT: usize = 61_440;
/// Upper limit of any configured length, because the queue is bounded too.
const LENGTH_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_counts_utf16_units_and_its_own_mark() {
        assert_eq!(cut("short", 5), "short");
        // Ten units in five characters: not cut, although it has twenty bytes.
        assert_eq!(cut("😀😀😀😀😀", 10), "😀😀😀😀😀");
        let long = cut(&"😀".repeat(20), 20);
        assert_eq!(long, format!("{}[TRUNCATED]", "😀".repeat(4)));
        assert!(long.encode_utf16().count() <= 20);
        assert_eq!(cut("abcdefghijkl", 3), "[TR");
    }

    #[test]
    fn no_limit_leaves_half_a_key() {
        let secrets = Secrets::default();
        secrets.add("key-canary-0123456789");
        let text = format!("{} key-canary-0123456789 and more", "x".repeat(30));
        for length_max in 0..text.len() + 1 {
            let sent = redact_and_cut(&text, length_max, &secrets);
            assert!(!sent.contains("key-"), "{length_max}: {sent}");
        }
    }
}
