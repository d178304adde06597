//! Placeholders: `<secret-1>`, `<identity-1>`, `<email-1>`. `known_secrets` assigns the numbers.

/// The text without the numbers of placeholders: the order in which secrets appear may differ
/// between otherwise equal runs.
pub(crate) fn strip_placeholder_numbers(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        bare.push_str(before);
        let (shown, len) = parse_placeholder(from).unwrap_or(("<", 1));
        bare.push_str(shown);
        rest = from.get(len..).unwrap_or_default();
    }
    bare.push_str(rest);
    bare
}

/// The placeholder a text begins with: without its number, and its length with it.
fn parse_placeholder(text: &str) -> Option<(&'static str, usize)> {
    let words = [("<secret-", "<secret>"), ("<identity-", "<identity>"), ("<email-", "<email>")];
    let (word, bare) = words.into_iter().find(|(word, _)| text.starts_with(word))?;
    let digits = text.bytes().skip(word.len()).take_while(u8::is_ascii_digit).count();
    let end = word.len() + digits;
    (digits > 0 && text.as_bytes().get(end) == Some(&b'>')).then_some((bare, end + 1))
}

pub(super) fn is_placeholder(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    parse_placeholder(text).is_some_and(|(_, len)| len == text.len())
}
