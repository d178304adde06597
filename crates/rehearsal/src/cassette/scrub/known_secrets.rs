//! Known secrets, learned from each request before any of it is written.
//!
//! Sources are headers with credentials, query parameters, body fields whose names suggest a secret
//! or identify a user, and the options. Also stores the numbers of placeholders, so that a value
//! has the same placeholder in the whole recording.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use windlass_redaction::{SecretKind, SecretLiteral};

use super::placeholder::is_placeholder;
use super::text_view::{TextForm, TextView, collect_views};

/// The values with their numbers.
#[derive(Default)]
pub(super) struct KnownSecrets {
    literals: Vec<SecretLiteral>,
    numbers: BTreeMap<(SecretKind, Vec<u8>), usize>,
    /// A value had to be ignored for lack of space.
    pub(super) is_overfull: bool,
}

impl KnownSecrets {
    pub(super) fn literals(&self) -> Vec<SecretLiteral> {
        self.literals.clone()
    }

    /// Adds a value. Short ones are ignored: a short credential is a dummy such as `none`, and
    /// replacing every such word would destroy the recording.
    pub(super) fn learn(&mut self, kind: SecretKind, value: &str) {
        let value = value.trim().as_bytes();
        let is_known = self.literals.iter().any(|known| known.value == value);
        if value.len() < LITERAL_MIN || is_known || is_placeholder(value) {
            return;
        }
        if self.literals.len() >= LITERALS_MAX {
            self.is_overfull = true;
            return;
        }
        self.literals.push(SecretLiteral { value: value.to_vec(), kind });
    }

    /// Learns from the headers of a request or an answer.
    pub(super) fn learn_headers(&mut self, headers: &[(String, String)]) {
        for (name, value) in headers {
            match classify_header(name) {
                Some(SecretKind::Secret) => self.learn_credential(value),
                // A project's name may be an ordinary word, which is not secret.
                Some(kind) if value.bytes().any(|byte| byte.is_ascii_digit()) => {
                    self.learn(kind, value);
                }
                Some(_) | None => {}
            }
        }
    }

    /// The value of a header: a scheme and a token, cookies, or a bare value.
    fn learn_credential(&mut self, value: &str) {
        self.learn(SecretKind::Secret, value);
        for part in value.split(';') {
            let part = part.split_once('=').map_or(part, |(_, value)| value);
            self.learn(SecretKind::Secret, part);
        }
        if let Some((scheme, token)) = value.split_once(' ') {
            self.learn(SecretKind::Secret, token);
            let decoded =
                STANDARD.decode(token.trim()).ok().filter(|_| eq_ignore_case(scheme, "basic"));
            let pair = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
                self.learn(SecretKind::Secret, password);
            }
        }
    }

    /// Learns from the query of a URL.
    pub(super) fn learn_path(&mut self, path: &str) {
        for (name, value) in query_parameters(path) {
            if is_secret_parameter(name) {
                self.learn(SecretKind::Secret, value);
                self.learn(SecretKind::Secret, &percent_decode_str(value).decode_utf8_lossy());
            }
        }
    }

    /// Learns from the fields of a body.
    pub(super) fn learn_body(&mut self, body: &[u8]) {
        for view in collect_views(body) {
            if let Some(kind) = classify_field(&view) {
                self.learn_field_value(kind, &view.text);
            }
            if view.form == TextForm::String && view.text.starts_with(b"{") {
                for inner in collect_views(&view.text).iter().filter(|inner| is_secret_field(inner))
                {
                    self.learn_field_value(SecretKind::Secret, &inner.text);
                }
            }
        }
    }

    /// The value of such a field is always removed there. It is searched elsewhere only if it is
    /// not an ordinary word, such as `required`.
    fn learn_field_value(&mut self, kind: SecretKind, value: &[u8]) {
        let is_telling = value.len() >= DISTINCTIVE_MIN || value.iter().any(u8::is_ascii_digit);
        if let Some(text) = std::str::from_utf8(value).ok().filter(|_| is_telling) {
            self.learn(kind, text);
        }
    }

    /// The placeholder of a value: the same one for the same value.
    pub(super) fn placeholder_for(&mut self, kind: SecretKind, value: &[u8]) -> String {
        let word = match kind {
            SecretKind::Secret => "secret",
            SecretKind::Identity | SecretKind::StandIn(_) => "identity",
            SecretKind::Email => "email",
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

/// The kind of secret in a header with this name.
pub(super) fn classify_header(name: &str) -> Option<SecretKind> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // Rate limits contain "token" but are not secret.
    if name.contains("ratelimit") {
        return None;
    }
    if has(&["auth", "api-key", "apikey", "cookie", "token", "secret", "password", "credential"]) {
        return Some(SecretKind::Secret);
    }
    has(&["organization", "organisation", "project", "account", "user-id", "session", "device"])
        .then_some(SecretKind::Identity)
}

/// The kind of secret in a field with this name.
pub(super) fn classify_field(view: &TextView) -> Option<SecretKind> {
    let tells = view.form == TextForm::String && view.text.len() >= LITERAL_MIN;
    if tells && IDENTITY_FIELDS.contains(&view.path.as_str()) {
        return Some(SecretKind::Identity);
    }
    is_secret_field(view).then_some(SecretKind::Secret)
}

/// Does the name of this field suggest a secret that is not replaced yet?
pub(super) fn is_secret_field(view: &TextView) -> bool {
    let name = view.path.rsplit_once('/').map(|(_, name)| name).unwrap_or_default();
    let name = name.to_ascii_lowercase().replace('-', "_");
    view.form == TextForm::String
        && view.text.len() >= LITERAL_MIN
        && SECRET_FIELDS.contains(&name.as_str())
        && !is_placeholder(&view.text)
}

/// The parameters of an address.
pub(super) fn query_parameters(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter_map(|pair| pair.split_once('='))
}

pub(super) fn is_secret_parameter(name: &str) -> bool {
    ["key", "api_key", "api-key", "apikey", "token", "access_token", "auth", "sig", "signature"]
        .iter()
        .any(|known| eq_ignore_case(name, known))
}

fn eq_ignore_case(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

/// Fields of a request that identify the user, and change from run to run.
const IDENTITY_FIELDS: [&str; 4] =
    ["/metadata/user_id", "/user", "/safety_identifier", "/prompt_cache_key"];
/// Fields whose names suggest a secret.
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
/// Shorter values are replaced only in their field.
const LITERAL_MIN: usize = 8;
const DISTINCTIVE_MIN: usize = 16;
const LITERALS_MAX: usize = 256;
const NUMBERS_MAX: usize = 10_000;
