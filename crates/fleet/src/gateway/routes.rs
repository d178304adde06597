//! The table of routes with the role each requires. `openapi.json` documents the same routes; a
//! test compares the two.

use crate::store::TokenRole;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiEndpoint {
    Health,
    Metrics,
    Description,
    SubmitSession,
    ListSessions,
    ShowSession,
    FollowEvents,
    AddMessage,
    ListQuestions,
    AnswerQuestion,
    ListAnswers,
    CancelSession,
    ForkSession,
    Page,
    ShowResult,
    ShowPatch,
    AddBatch,
    ListBatches,
    ListWorkers,
}

#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub method: &'static str,
    /// `{id}` is a placeholder for a session's id.
    pub path: &'static str,
    /// `None` for routes that need no token.
    pub role: Option<TokenRole>,
    pub endpoint: ApiEndpoint,
}

const fn route(
    method: &'static str,
    path: &'static str,
    role: Option<TokenRole>,
    endpoint: ApiEndpoint,
) -> Route {
    Route { method, path, role, endpoint }
}

const WATCH: Option<TokenRole> = Some(TokenRole::Watch);
const SUBMIT: Option<TokenRole> = Some(TokenRole::Submit);
const APPROVE: Option<TokenRole> = Some(TokenRole::Approve);
const ADMIN: Option<TokenRole> = Some(TokenRole::Admin);

pub const ROUTES: &[Route] = &[
    route("GET", "/", None, ApiEndpoint::Page),
    route("GET", "/v1/health", None, ApiEndpoint::Health),
    route("GET", "/v1/openapi.json", None, ApiEndpoint::Description),
    route("GET", "/metrics", ADMIN, ApiEndpoint::Metrics),
    route("POST", "/v1/sessions", SUBMIT, ApiEndpoint::SubmitSession),
    route("GET", "/v1/sessions", WATCH, ApiEndpoint::ListSessions),
    route("GET", "/v1/sessions/{id}", WATCH, ApiEndpoint::ShowSession),
    route("GET", "/v1/sessions/{id}/events", WATCH, ApiEndpoint::FollowEvents),
    route("POST", "/v1/sessions/{id}/messages", SUBMIT, ApiEndpoint::AddMessage),
    route("GET", "/v1/sessions/{id}/questions", WATCH, ApiEndpoint::ListQuestions),
    route("POST", "/v1/sessions/{id}/answers", APPROVE, ApiEndpoint::AnswerQuestion),
    route("GET", "/v1/sessions/{id}/answers", WATCH, ApiEndpoint::ListAnswers),
    route("POST", "/v1/sessions/{id}/cancel", SUBMIT, ApiEndpoint::CancelSession),
    route("POST", "/v1/sessions/{id}/fork", SUBMIT, ApiEndpoint::ForkSession),
    route("GET", "/v1/sessions/{id}/result", WATCH, ApiEndpoint::ShowResult),
    route("GET", "/v1/sessions/{id}/patch", WATCH, ApiEndpoint::ShowPatch),
    route("POST", "/v1/batches", SUBMIT, ApiEndpoint::AddBatch),
    route("GET", "/v1/batches", WATCH, ApiEndpoint::ListBatches),
    route("GET", "/v1/workers", ADMIN, ApiEndpoint::ListWorkers),
];

/// Result of matching a method and a path.
#[derive(Clone, Debug)]
pub enum RouteMatch {
    Found {
        route: Route,
        session: Option<String>,
    },
    /// The path exists only with these other methods.
    WrongMethod(Vec<&'static str>),
    Unknown,
}

#[must_use]
pub fn find_route(method: &str, path: &str) -> RouteMatch {
    let mut others = Vec::new();
    for route in ROUTES {
        let Some(session) = match_path(route.path, path) else { continue };
        if route.method == method {
            return RouteMatch::Found { route: *route, session };
        }
        others.push(route.method);
    }
    match others.is_empty() {
        true => RouteMatch::Unknown,
        false => RouteMatch::WrongMethod(others),
    }
}

/// `Some` if the path matches, with the session id in it.
fn match_path(pattern: &str, path: &str) -> Option<Option<String>> {
    let mut session = None;
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        let part = parts.next()?;
        match wanted {
            "{id}" if is_session_id(part) => session = Some(part.to_owned()),
            "{id}" => return None,
            wanted if wanted == part => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(session)
}

/// Session ids are UUIDs; anything else is not looked up.
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
