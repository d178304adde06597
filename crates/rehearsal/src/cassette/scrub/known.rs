//! What is known to be secret: learned from each request before anything of it is written down.
//!
//! Headers that carry credentials, parameters of the address, fields of the body that by their
//! names hold a secret or tell who somebody is, and what the options name. Also keeps the numbers of
//! the placeholders, so that one value is the same placeholder in the whole recording.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::find::{Kind, Literal};
use super::placeholder::is_placeholder;
use super::view::{Form, View, views};

/// Values to look for, and the numbers they were given.
#[derive(Default)]
pub(super) struct Known {
    literals: Vec<Literal>,
    numbers: BTreeMap<(Kind, Vec<u8>), usize>,
    /// A value was met for which there was no room.
    pub(super) is_overfull: bool,
}

impl Known {
    pub(super) fn literals(&self) -> Vec<Literal> {
        self.literals.clone()
    }

    /// Learns one value. Short ones stay: a credential of a few letters is a placeholder such as
    /// `none`, and to replace every such word would tear the recording apart.
    pub(super) fn learn(&mut self, kind: Kind, value: &str) {
        let value = value.trim().as_bytes();
        let is_known = self.literals.iter().any(|known| known.value == value);
        if value.len() < LITERAL_MIN || is_known || is_placeholder(value) {
            return;
        }
        if self.literals.len() >= LITERALS_MAX {
            self.is_overfull = true;
            return;
        }
        self.literals.push(Literal { value: value.to_vec(), kind });
    }

    /// Learns from the headers of a request or an answer.
    pub(super) fn learn_headers(&mut self, headers: &[(String, String)]) {
        for (name, value) in headers {
            match header_kind(name) {
                Some(Kind::Secret) => self.learn_credential(value),
                // The name of a project may be an ordinary word, and then it is no secret.
                Some(kind) if value.bytes().any(|byte| byte.is_ascii_digit()) => {
                    self.learn(kind, value);
                }
                _ => {}
            }
        }
    }

    /// The value of a header: a scheme and a token, cookies, or the bare value.
    fn learn_credential(&mut self, value: &str) {
        self.learn(Kind::Secret, value);
        for part in value.split(';') {
            let part = part.split_once('=').map_or(part, |(_, value)| value);
            self.learn(Kind::Secret, part);
        }
        if let Some((scheme, token)) = value.split_once(' ') {
            self.learn(Kind::Secret, token);
            let decoded = STANDARD.decode(token.trim()).ok().filter(|_| is(scheme, "basic"));
            let pair = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
                self.learn(Kind::Secret, password);
            }
        }
    }

    /// Learns from the query of an address.
    pub(super) fn learn_path(&mut self, path: &str) {
        for (name, value) in parameters(path) {
            if is_secret_parameter(name) {
                self.learn(Kind::Secret, value);
                self.learn(Kind::Secret, &percent_decoded(value));
            }
        }
    }

    /// Learns from the fields of a body.
    pub(super) fn learn_body(&mut self, body: &[u8]) {
        for view in views(body) {
            if let Some(kind) = field_kind(&view) {
                self.learn_bytes(kind, &view.text);
            }
            if view.form == Form::String && view.text.starts_with(b"{") {
                for inner in views(&view.text).iter().filter(|inner| is_secret_field(inner)) {
                    self.learn_bytes(Kind::Secret, &inner.text);
                }
            }
        }
    }

    /// The value of a field goes from where it stands in any case. It is looked for elsewhere only
    /// if it is no ordinary word, such as `required`.
    fn learn_bytes(&mut self, kind: Kind, value: &[u8]) {
        let is_telling = value.len() >= TELLING_MIN || value.iter().any(u8::is_ascii_digit);
        if let Some(text) = std::str::from_utf8(value).ok().filter(|_| is_telling) {
            self.learn(kind, text);
        }
    }

    /// What stands for a value: the same for the same value.
    pub(super) fn placeholder(&mut self, kind: Kind, value: &[u8]) -> String {
        let word = match kind {
            Kind::Secret => "secret",
            Kind::Identity | Kind::StandIn(_) => "identity",
            Kind::Email => "email",
        };
        let has_room = self.numbers.len() < NUMBERS_MAX;
        let next = 1 + self.numbers.keys().filter(|(known, _)| *known == kind).count();
        let number = match self.numbers.get(&(kind, value.to_vec())) {
            Some(number) => *number,
            None if has_room => *self.numbers.entry((kind, value.to_vec())).or_insert(next),
            None => 0,
        };
        format!("<{word}-{number}>")
    }
}

/// What a header with this name carries, if it must not be written down.
pub(super) fn header_kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // Limits are counted in tokens, and they are no secret.
    if name.contains("ratelimit") {
        return None;
    }
    if has(&["auth", "api-key", "apikey", "cookie", "token", "secret", "password", "credential"]) {
        return Some(Kind::Secret);
    }
    has(&["organization", "organisation", "project", "account", "user-id", "session", "device"])
        .then_some(Kind::Identity)
}

/// What a field of a body holds by its name.
pub(super) fn field_kind(view: &View) -> Option<Kind> {
    let tells = view.form == Form::String && view.text.len() >= LITERAL_MIN;
    if tells && IDENTITY_FIELDS.contains(&view.path.as_str()) {
        return Some(Kind::Identity);
    }
    is_secret_field(view).then_some(Kind::Secret)
}

/// Does the name of this field say that it holds a secret, and is it still there?
pub(super) fn is_secret_field(view: &View) -> bool {
    let name = view.path.rsplit_once('/').map(|(_, name)| name).unwrap_or_default();
    let name = name.to_ascii_lowercase().replace('-', "_");
    view.form == Form::String
        && view.text.len() >= LITERAL_MIN
        && SECRET_FIELDS.contains(&name.as_str())
        && !is_placeholder(&view.text)
}

/// The parameters of an address.
pub(super) fn parameters(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter_map(|pair| pair.split_once('='))
}

pub(super) fn is_secret_parameter(name: &str) -> bool {
    ["key", "api_key", "api-key", "apikey", "token", "access_token", "auth", "sig", "signature"]
        .iter()
        .any(|known| is(name, known))
}

/// The text without `%41` for `A`.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let decoded = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match decoded.filter(|_| *byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

/// Fields of a request that say who asks, and change from run to run.
const IDENTITY_FIELDS: [&str; 4] =
    ["/metadata/user_id", "/user", "/safety_identifier", "/prompt_cache_key"];
/// Fields whose names say that they hold a secret.
const SECRET_FIELDS: [&str; 15] = [
    "authorization",
    "authorization_token",
    "x_api_key",
    "api_key",
    "apikey",
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "private_key",
    "password",
    "secret_access_key",
    "secretaccesskey",
    "aws_secret_access_key",
    "aws_session_token",
];
/// Shorter values are not replaced wherever they stand.
const LITERAL_MIN: usize = 8;
/// Words are rarely longer.
const TELLING_MIN: usize = 16;
const LITERALS_MAX: usize = 256;
const NUMBERS_MAX: usize = 10_000;
