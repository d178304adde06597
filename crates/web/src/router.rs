//! Maps request paths to responses. Sessions are looked up by id; no part of a path reaches the
//! disk.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use windlass_http_request::HttpRequest;

use crate::act::ActRequest;
use crate::assets::answer_asset;
use crate::server::RequestRouter;
use crate::server::http_response::{HttpReply, HttpResponse};
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(crate) struct ViewRouter {
    pub(crate) viewer: Arc<Viewer>,
}

impl RequestRouter for ViewRouter {
    fn route(
        self: Arc<Self>,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = HttpReply> + Send>> {
        Box::pin(async move { route_request(&self.viewer, request).await })
    }
}

async fn route_request(viewer: &Arc<Viewer>, request: HttpRequest) -> HttpReply {
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let query = QueryParameters::parse(request.query());
    let path: Vec<&str> = request.path().split('/').skip(1).collect();
    let answer = match (path.as_slice(), is_read) {
        (["api", "events"], true) => {
            return match crate::view::events::follow(viewer, &query) {
                Ok(pieces) => HttpReply::Events(pieces),
                Err(failure) => HttpReply::Whole(failure.into_response()),
            };
        }
        (["api", "sessions", id, "act"], true) => describe_act(viewer, id).await,
        (["api", rest @ ..], true) => viewer.answer(to_owned_path(rest), query).await,
        (["api", "sessions", id, "act", act], false) if request.method == "POST" => {
            perform_act(viewer, id, act, &request).await
        }
        (_, true) => {
            let found = answer_asset(&request, viewer.assets.as_deref());
            return HttpReply::Whole(found.unwrap_or_else(|| not_found().into_response()));
        }
        (_, false) => Err(ViewFailure::new(405, "method", "only GET is answered here")),
    };
    HttpReply::Whole(match answer {
        Ok(value) => HttpResponse::json(&value),
        Err(failure) => failure.into_response(),
    })
}

async fn describe_act(viewer: &Arc<Viewer>, id: &str) -> Result<Value, ViewFailure> {
    let session = find_session(viewer, id).await?;
    viewer.open_sessions.describe(viewer, &session).await
}

/// Requires `--act` besides the token, and a JSON content type, which a form of another site cannot
/// send.
async fn perform_act(
    viewer: &Arc<Viewer>,
    id: &str,
    act: &str,
    request: &HttpRequest,
) -> Result<Value, ViewFailure> {
    if !viewer.can_act {
        let words = "the viewer was started without --act, so it only shows sessions";
        return Err(ViewFailure::new(403, "read_only", words));
    }
    let content_type = request.single_header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(ViewFailure::bad_request("content-type must be application/json"));
    }
    let wanted = ActRequest::parse(act, &request.body)?;
    let session = find_session(viewer, id).await?;
    viewer.open_sessions.act(viewer, &session, wanted).await
}

async fn find_session(viewer: &Arc<Viewer>, id: &str) -> Result<FoundSession, ViewFailure> {
    let id = id.to_owned();
    viewer.run_beside(move |viewer| viewer.find(&id)).await
}

fn to_owned_path(path: &[&str]) -> Vec<String> {
    path.iter().map(|part| (*part).to_owned()).collect()
}

fn not_found() -> ViewFailure {
    ViewFailure::not_found("there is no such page; see `/`")
}
