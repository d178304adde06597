//! Error responses: a status, a code for programs and one sentence for people, as JSON.

use hyper::{Response, StatusCode};
use serde_json::json;

use super::body::GatewayBody;
use crate::store::StoreError;

#[derive(Debug)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    /// For programs: stays the same when the words change.
    code: &'static str,
    words: String,
}

impl HttpError {
    pub(crate) fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self { status, code: to_code(status), words: words.into() }
    }

    fn with_code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    pub(crate) fn bad_request(words: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, words)
    }

    /// Also used for another tenant's session, so that its existence is not revealed.
    pub(crate) fn no_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such session")
    }

    pub(crate) fn to_response(&self) -> Response<GatewayBody> {
        let body = json!({ "error": { "status": self.status.as_u16(), "code": self.code,
            "message": self.words } });
        let mut response = json_response(self.status, body.to_string());
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = hyper::header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(hyper::header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession(_) => Self::no_session(),
            StoreError::SessionExists(_) => {
                Self::new(StatusCode::CONFLICT, error.to_string()).with_code("session_exists")
            }
            StoreError::Database(ref refusal) if is_unstorable_text(refusal) => {
                Self::bad_request("a text has a null character, which cannot be stored")
            }
            StoreError::NoTenant(_) | StoreError::Invalid(_) => {
                Self::bad_request(error.to_string())
            }
            // Database errors may quote other tenants' data, so they are only logged.
            StoreError::NotAUrl
            | StoreError::BadUrl(_)
            | StoreError::Refused(_)
            | StoreError::NoDatabase(_)
            | StoreError::Unreachable(_)
            | StoreError::Missing
            | StoreError::NotOurs
            | StoreError::Older(_)
            | StoreError::Newer(_)
            | StoreError::SlowMigration
            | StoreError::Fenced { .. }
            | StoreError::Conflict { .. }
            | StoreError::Database(_) => {
                crate::worker::report_line(&error.to_string());
                let words = "the store cannot be used at the moment; try again";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, words)
            }
        }
    }
}

/// PostgreSQL's texts may have every character but one.
fn is_unstorable_text(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // character_not_in_repertoire
    code.as_deref() == Some("22021")
}

/// The code of an error that its status says enough about.
fn to_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "bad_request",
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::CONFLICT => "conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::TOO_MANY_REQUESTS => "too_many_streams",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        _ => "error",
    }
}

pub(crate) fn json_response(status: StatusCode, body: String) -> Response<GatewayBody> {
    text_response(status, "application/json", body)
}

/// The page may load nothing from elsewhere, and no other page may show it in a frame.
pub(crate) fn page_response() -> Response<GatewayBody> {
    let page = include_str!("page.html").to_owned();
    let mut response = text_response(StatusCode::OK, "text/html; charset=utf-8", page);
    let policy = hyper::header::HeaderValue::from_static(
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    response.headers_mut().insert(hyper::header::CONTENT_SECURITY_POLICY, policy);
    response
}

pub(crate) fn text_response(
    status: StatusCode,
    kind: &'static str,
    body: String,
) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let value = hyper::header::HeaderValue::from_static;
    headers.insert(hyper::header::CONTENT_TYPE, value(kind));
    headers.insert(hyper::header::CACHE_CONTROL, value("no-store"));
    headers.insert(hyper::header::X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    response
}
