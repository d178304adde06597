//! Patterns of keys. Prefers false positives: they cost little, because requests and recordings are
//! scrubbed alike, while a missed key is published.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A key with a characteristic prefix.
struct KeyPattern {
    prefix: &'static str,
    /// The minimal number of characters after it.
    min: usize,
    /// Must contain a digit or capital, because ordinary words start like this too.
    must_be_mixed: bool,
}

const fn key_pattern(prefix: &'static str, min: usize) -> KeyPattern {
    KeyPattern { prefix, min, must_be_mixed: false }
}

const fn mixed_key_pattern(prefix: &'static str, min: usize) -> KeyPattern {
    KeyPattern { prefix, min, must_be_mixed: true }
}

/// Longer prefixes come before the shorter ones they start with.
const KEY_PATTERNS: &[KeyPattern] = &[
    mixed_key_pattern("sk-", 16),
    key_pattern("sk_live_", 12),
    key_pattern("sk_test_", 12),
    key_pattern("rk_live_", 12),
    key_pattern("AIza", 30),
    key_pattern("ghp_", 20),
    key_pattern("gho_", 20),
    key_pattern("ghu_", 20),
    key_pattern("ghs_", 20),
    key_pattern("ghr_", 20),
    key_pattern("github_pat_", 20),
    key_pattern("glpat-", 16),
    key_pattern("xoxa-", 10),
    key_pattern("xoxb-", 10),
    key_pattern("xoxp-", 10),
    key_pattern("xoxr-", 10),
    key_pattern("xoxs-", 10),
    key_pattern("xapp-", 16),
    mixed_key_pattern("hf_", 20),
    mixed_key_pattern("gsk_", 20),
    mixed_key_pattern("xai-", 20),
    mixed_key_pattern("pplx-", 20),
    mixed_key_pattern("nvapi-", 20),
    mixed_key_pattern("npm_", 30),
    mixed_key_pattern("pypi-", 30),
    mixed_key_pattern("r8_", 30),
    mixed_key_pattern("GOCSPX-", 16),
    mixed_key_pattern("whsec_", 20),
    mixed_key_pattern("dop_v1_", 20),
    mixed_key_pattern("AGE-SECRET-KEY-", 20),
    mixed_key_pattern("ya29.", 20),
    mixed_key_pattern("SG.", 30),
];

/// Bytes with which a secret or an identity may begin.
pub(crate) fn first_bytes() -> impl Iterator<Item = u8> {
    let keys = KEY_PATTERNS.iter().filter_map(|key| key.prefix.bytes().next());
    keys.chain(*b"A-:eBbaSspo")
}

/// The secret that starts or is announced at this position.
pub(crate) fn match_secret(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if rest.starts_with(b"-----BEGIN ") {
        return match_private_key(rest).map(|len| at..at + len);
    }
    if rest.starts_with(b"://") {
        return match_url_password(rest).map(|found| at + found.start..at + found.end);
    }
    if !is_word_start(text, at) {
        return None;
    }
    let len = match_prefixed_key(rest)
        .or_else(|| match_access_key(rest))
        .or_else(|| match_web_token(rest));
    if let Some(len) = len {
        return Some(at..at + len);
    }
    let found = match_announced_secret(rest)?;
    Some(at + found.start..at + found.end)
}

/// The name of an organisation or project that starts here.
pub(crate) fn match_identity(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let prefix =
        ["org-", "proj_"].into_iter().find(|prefix| rest.starts_with(prefix.as_bytes()))?;
    let len = count_matching(rest, prefix.len(), |byte| byte.is_ascii_alphanumeric());
    let name = rest.get(prefix.len()..prefix.len() + len)?;
    let is_name = len >= 20 && name.iter().any(u8::is_ascii_digit) && is_word_start(text, at);
    is_name.then(|| at..at + prefix.len() + len)
}

/// The e-mail address around the `@` at this position, not starting before `from`.
pub(crate) fn match_email(text: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let is_local = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let local = text.get(from..at)?.iter().rev().take_while(|byte| is_local(byte)).count();
    let rest = text.get(at..)?.strip_prefix(b"@")?;
    let mut domain =
        count_matching(rest, 0, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    // A trailing full stop belongs to the sentence.
    while rest.get(..domain)?.ends_with(b".") {
        domain -= 1;
    }
    let top = rest.get(..domain)?.rsplit(|byte| *byte == b'.').next()?;
    let is_domain = top.len() < domain && top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic);
    // `git@host` is how repositories are named, and not an address.
    let is_address = local > 0 && is_domain && text.get(at - local..at) != Some(b"git");
    is_address.then(|| at - local..at + 1 + domain)
}

/// Does a word start here? An escape sequence before it is not part of it.
pub(crate) fn is_word_start(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(6)..at).unwrap_or_default();
    match before {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        // The end of a terminal colour, however its beginning is written.
        [.., b'm' | b'K'] if ends_with_control_sequence(text, at) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [b'\\', b'u', a, b, c, d] => [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit),
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [] => true,
        _ => false,
    }
}

fn ends_with_control_sequence(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(24)..at.saturating_sub(1)).unwrap_or_default();
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b';' | b':' | b'?');
    let parameters = before.iter().rev().take_while(|byte| is_parameter(byte)).count();
    before.iter().rev().nth(parameters) == Some(&b'[')
}

fn match_prefixed_key(rest: &[u8]) -> Option<usize> {
    KEY_PATTERNS.iter().find_map(|key| {
        let prefix = key.prefix.len();
        rest.starts_with(key.prefix.as_bytes()).then_some(())?;
        // A key with a full stop in its prefix also contains some later.
        let has_stops = key.prefix.ends_with('.');
        let is_letter = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || has_stops && byte == b'.'
        };
        // Examines only the beginning: otherwise a long run of prefixes that are not keys would
        // take quadratic time.
        let begin = rest.get(prefix..rest.len().min(prefix + BEGIN_MAX))?;
        let begin = begin.get(..count_matching(begin, 0, is_letter))?;
        let is_key = begin.len() >= key.min && (!key.must_be_mixed || is_mixed(begin));
        is_key.then(|| prefix + count_matching(rest, prefix, is_letter))
    })
}

fn is_mixed(body: &[u8]) -> bool {
    body.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// The public half of a key pair; removed because it identifies the secret.
fn match_access_key(rest: &[u8]) -> Option<usize> {
    let is_one = rest.starts_with(b"AKIA") || rest.starts_with(b"ASIA");
    let len = count_matching(rest, 0, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    (is_one && len == 20 && !rest.get(20).is_some_and(u8::is_ascii_alphanumeric)).then_some(20)
}

/// Three parts, the first of which is JSON in base64.
fn match_web_token(rest: &[u8]) -> Option<usize> {
    let rest = rest.get(..rest.len().min(WEB_TOKEN_MAX)).unwrap_or_default();
    let part = |from| {
        count_matching(rest, from, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let begin = rest.get(..rest.len().min(BEGIN_MAX)).unwrap_or_default();
    let stop = rest.starts_with(b"eyJ").then(|| find_bytes(begin, b"."))??;
    let first = Some(part(0)).filter(|len| *len >= 12 && *len == stop)?;
    let second = first + 1 + part(first + 1);
    let is_token = second >= first + 9 && rest.get(second) == Some(&b'.');
    is_token.then(|| second + 1 + part(second + 1))
}

/// The text after a word that announces a secret.
fn match_announced_secret(rest: &[u8]) -> Option<Range<usize>> {
    let begins = |word: &str| {
        rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
    };
    let token = |from| {
        count_matching(rest, from, |byte| {
            byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
        })
    };
    if begins("bearer ") {
        let from = "bearer ".len();
        let len = token(from);
        let has_digit = rest.get(from..from + len)?.iter().any(u8::is_ascii_digit);
        return (len >= 16 && has_digit || len >= 32).then(|| from..from + len);
    }
    if begins("basic ") {
        let from = "basic ".len();
        let len = token(from);
        let decoded = STANDARD.decode(rest.get(from..from + len)?).ok()?;
        return (len >= 8 && decoded.contains(&b':')).then(|| from..from + len);
    }
    let names =
        ["aws_secret_access_key", "secret_access_key", "secretaccesskey", "aws_session_token"];
    let name = names.into_iter().find(|name| begins(name))?;
    let between = count_matching(rest, name.len(), |byte| b" \t:='\"\\>".contains(&byte)).min(24);
    let from = name.len() + between;
    let len = if between > 0 { token(from) } else { 0 };
    (len >= 30).then(|| from..from + len)
}

/// `://user:password@`: the password.
fn match_url_password(rest: &[u8]) -> Option<Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_graphic() && !b"/@:'\"\\<>`".contains(&byte);
    let user = 3 + count_matching(rest, 3, is_part);
    (rest.get(user) == Some(&b':')).then_some(())?;
    let from = user + 1;
    let end = from + count_matching(rest, from, |byte| is_part(byte) || byte == b':');
    // A variable is the name of a secret, not the secret.
    let is_written = end > from && !matches!(rest.get(from), Some(b'$' | b'{'));
    (is_written && rest.get(end) == Some(&b'@')).then_some(from..end)
}

/// A PEM private key, to its end or as far as it goes.
fn match_private_key(rest: &[u8]) -> Option<usize> {
    let label = rest.get(11..75.min(rest.len()))?;
    let end = find_bytes(label, b"-----")?;
    find_bytes(label.get(..end)?, b"PRIVATE KEY")?;
    let begun = 11 + end + 5;
    let body = rest.get(begun..rest.len().min(begun + ARMOUR_MAX))?;
    // A key cannot contain five dashes, so the next ones end it or are unrelated.
    let strokes = find_bytes(body, b"-----");
    let after = strokes.and_then(|at| Some((at, body.get(at..)?.strip_prefix(b"-----END ")?)));
    if let Some((footer, after)) = after {
        let close = find_bytes(after.get(..after.len().min(64))?, b"-----");
        return Some(begun + footer + 9 + close.map_or(0, |close| close + 5));
    }
    Some(begun + count_armoured_bytes(body))
}

/// The length of base64 lines at the beginning; newlines may be escaped.
fn count_armoured_bytes(body: &[u8]) -> usize {
    let mut taken = 0;
    let mut at = 0;
    loop {
        while let [byte, rest @ ..] = body.get(at..).unwrap_or_default() {
            match (byte, rest.first()) {
                (b'\\', Some(b'n' | b'r')) => at += 2,
                (b'\\' | b' ' | b'\n' | b'\r' | b'\t', _) => at += 1,
                _ => break,
            }
        }
        at += count_line_prefix(body.get(at..).unwrap_or_default());
        let len =
            count_matching(body, at, |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        at += len;
        if len == 0 || len < 16 && at < body.len() {
            return taken;
        }
        taken = at;
    }
}

/// The length of a tool's prefix of a line: its number, the mark of a quote or of a diff.
fn count_line_prefix(line: &[u8]) -> usize {
    let digits = count_matching(line, 0, |byte| byte.is_ascii_digit());
    let after = line.get(digits..).unwrap_or_default();
    let mark = match after {
        [b'>' | b'|' | b'#' | b'*', ..] if digits == 0 => 1,
        // A base64 line may begin with a plus, but not with one before a blank.
        [b'+' | b'-', b' ', ..] if digits == 0 => 1,
        [b'\t' | b':' | b'|' | b')', ..] if digits > 0 => 1,
        [b'\\', b't', ..] if digits > 0 => 2,
        [b' ', b'|', ..] if digits > 0 => 2,
        after if digits > 0 && after.starts_with("→".as_bytes()) => "→".len(),
        _ => return 0,
    };
    digits + mark + count_matching(after, mark, |byte| byte == b' ')
}

/// The lines of a PEM private key before its last line, which is at this position: its beginning
/// may be missing. Does not start before `from`.
pub(crate) fn match_private_key_end(text: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let label = rest.strip_prefix(b"-----END ")?;
    let close = find_bytes(label.get(..label.len().min(64))?, b"-----")?;
    find_bytes(label.get(..close)?, b"PRIVATE KEY")?;
    let from = from.max(at.saturating_sub(ARMOUR_MAX));
    let mut start = at;
    let mut line_end = find_line_start(text, at, from)?;
    while line_end > from {
        let previous = find_line_before(text, line_end, from);
        let line = text.get(previous.clone())?.trim_ascii();
        let prefix = count_line_prefix(line);
        let body = line.get(prefix..)?;
        let len =
            count_matching(body, 0, |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        let is_last = start == at;
        if len == 0 || len < body.len() || len < 16 && !is_last {
            break;
        }
        start = previous.start;
        line_end = previous.start;
    }
    (start < at).then_some(start..at + 9 + close + 5)
}

/// The start of the line at a position; line breaks may be escaped.
fn find_line_start(text: &[u8], at: usize, from: usize) -> Option<usize> {
    // Lines of a key are short.
    let from = from.max(at.saturating_sub(LINE_MAX));
    let before = text.get(from..at)?;
    let place = before.iter().rposition(|byte| *byte == b'\n');
    let escaped = before.windows(2).rposition(|pair| pair == b"\\n").map(|place| place + 1);
    place.max(escaped).map(|place| from + place + 1)
}

/// The line before the one that starts at `next`, without its line break.
fn find_line_before(text: &[u8], next: usize, from: usize) -> Range<usize> {
    let end = match text.get(..next) {
        Some([.., b'\\', b'n']) => next - 2,
        _ => next.saturating_sub(1),
    };
    let earliest = from.max(end.saturating_sub(LINE_MAX));
    find_line_start(text, end, from).unwrap_or(earliest)..end
}

/// The number of matching bytes from here on.
fn count_matching(text: &[u8], from: usize, is_such: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| is_such(**byte)).count()
}

fn find_bytes(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// How much of a key is examined.
const BEGIN_MAX: usize = 512;
/// The longest token of three parts looked for.
const WEB_TOKEN_MAX: usize = 16 * 1024;
/// The longest line of a private key, with the prefix that a tool writes.
const LINE_MAX: usize = 256;
/// The longest private key looked for.
const ARMOUR_MAX: usize = 64 * 1024;
