//! The handlers of the routes: parse the request, check the token's role, query the store, respond.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_host::random;

use super::GatewayContext;
use super::body::GatewayBody;
use super::event_stream::{AskedStream, StreamPosition, follow_events};
use super::http_error::{HttpError, json_response, page_response, text_response};
use super::request_limits::{read_json, read_query, read_token};
use super::routes::{ApiEndpoint, RouteMatch, find_route, is_session_id};
use crate::session_spec::{SessionSpec, to_micro_usd};
use crate::store::{
    AnsweredQuestion, NewAnswer, NewBatch, NewFork, NewSession, PATCH_BLOB, SessionFilter,
    SessionRow, StoredBatch, TokenHolder, TokenRole,
};
use crate::store_transfer::copy_journal;

type EndpointResult = Result<Response<GatewayBody>, HttpError>;

pub(crate) async fn answer_request(
    context: Arc<GatewayContext>,
    request: Request<Incoming>,
) -> Response<GatewayBody> {
    let answer = dispatch(&context, request).await;
    context.metrics.count_request(answer.is_err());
    answer.unwrap_or_else(|error| error.to_response())
}

async fn dispatch(context: &Arc<GatewayContext>, request: Request<Incoming>) -> EndpointResult {
    let (route, session) = match find_route(request.method().as_str(), request.uri().path()) {
        RouteMatch::Found { route, session } => (route, session),
        RouteMatch::WrongMethod(others) => {
            let words = format!("this path takes {}", others.join(" and "));
            return Err(HttpError::new(StatusCode::METHOD_NOT_ALLOWED, words));
        }
        RouteMatch::Unknown => {
            return Err(HttpError::new(StatusCode::NOT_FOUND, "there is nothing here"));
        }
    };
    let Some(role) = route.role else {
        return match route.endpoint {
            ApiEndpoint::Description => {
                Ok(json_response(StatusCode::OK, include_str!("openapi.json").to_owned()))
            }
            ApiEndpoint::Page => Ok(page_response()),
            ApiEndpoint::Health
            | ApiEndpoint::Metrics
            | ApiEndpoint::SubmitSession
            | ApiEndpoint::ListSessions
            | ApiEndpoint::ShowSession
            | ApiEndpoint::FollowEvents
            | ApiEndpoint::AddMessage
            | ApiEndpoint::ListQuestions
            | ApiEndpoint::AnswerQuestion
            | ApiEndpoint::ListAnswers
            | ApiEndpoint::CancelSession
            | ApiEndpoint::ForkSession
            | ApiEndpoint::ShowResult
            | ApiEndpoint::ShowPatch
            | ApiEndpoint::AddBatch
            | ApiEndpoint::ListBatches
            | ApiEndpoint::ListWorkers => show_health(context).await,
        };
    };
    let unknown = || HttpError::new(StatusCode::UNAUTHORIZED, "the token is unknown or expired");
    let token = read_token(&request)?;
    let holder = context.store.find_token(&token).await?.ok_or_else(unknown)?;
    if holder.role < role {
        let words = format!(
            "this needs the role `{}`, and the token has `{}`",
            role.name(),
            holder.role.name()
        );
        return Err(HttpError::new(StatusCode::FORBIDDEN, words));
    }
    let asked = AskedRequest { context, holder, request };
    match (route.endpoint, session) {
        (ApiEndpoint::Metrics, _) => {
            let text = context.metrics.render(&context.store).await?;
            Ok(text_response(StatusCode::OK, "text/plain; version=0.0.4", text))
        }
        (ApiEndpoint::SubmitSession, _) => asked.submit().await,
        (ApiEndpoint::ListSessions, _) => asked.list_sessions().await,
        (ApiEndpoint::AddBatch, _) => asked.add_batch().await,
        (ApiEndpoint::ListBatches, _) => asked.list_batches().await,
        (ApiEndpoint::ListWorkers, _) => asked.list_workers().await,
        (endpoint, Some(session)) => asked.answer_for_session(endpoint, &session).await,
        (_, None) => Err(HttpError::no_session()),
    }
}

async fn show_health(context: &GatewayContext) -> EndpointResult {
    context.store.ping().await?;
    Ok(json_response(StatusCode::OK, json!({ "ok": true }).to_string()))
}

struct AskedRequest<'a> {
    context: &'a Arc<GatewayContext>,
    holder: TokenHolder,
    request: Request<Incoming>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmitBody {
    prompt: String,
    #[serde(default)]
    spec: SessionSpec,
    /// Submitting the same id again refers to the same session.
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    priority: i32,
    tenant: Option<String>,
    batch: Option<String>,
    row: Option<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageBody {
    content: String,
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    question: String,
    /// `allow` or `deny`.
    behavior: String,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    prompt: String,
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    priority: i32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchBody {
    name: String,
    /// What its sessions together may spend.
    max_budget_usd: Option<f64>,
}

impl AskedRequest<'_> {
    async fn submit(self) -> EndpointResult {
        let body: SubmitBody = read_json(self.request).await?;
        if body.prompt.trim().is_empty() {
            return Err(HttpError::bad_request("`prompt` is empty"));
        }
        body.spec.check().map_err(HttpError::bad_request)?;
        let id = body.id.unwrap_or_else(random::generate_uuid).to_ascii_lowercase();
        if !is_session_id(&id) {
            return Err(HttpError::bad_request("`id` must be a UUID"));
        }
        let tenant = match body.tenant {
            Some(tenant) if tenant != self.holder.tenant && self.holder.role < TokenRole::Admin => {
                let words = "only an administrator submits for another tenant";
                return Err(HttpError::new(StatusCode::FORBIDDEN, words));
            }
            tenant => tenant.unwrap_or_else(|| self.holder.tenant.clone()),
        };
        let spec = serde_json::to_string(&body.spec)
            .map_err(|error| HttpError::bad_request(error.to_string()))?;
        let new = NewSession {
            id: id.clone(),
            tenant,
            batch: body.batch.map(|batch| (batch, body.row.unwrap_or(0))),
            priority: body.priority.clamp(-1000, 1000),
            spec,
            title: body.name.as_deref().map(to_title),
            budget_micro: body.spec.budget_micro(),
            content: body.prompt,
            sender: self.holder.name.clone(),
        };
        self.context.store.submit_session(&new).await?;
        Ok(json_response(StatusCode::CREATED, json!({ "id": id, "state": "queued" }).to_string()))
    }

    async fn list_sessions(self) -> EndpointResult {
        let query = read_query(&self.request, &["state", "tenant", "after", "batch", "limit"])?;
        let is_admin = self.holder.role == TokenRole::Admin;
        let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(100);
        let filter = SessionFilter {
            tenant: match is_admin {
                true => query.get("tenant").cloned(),
                false => Some(self.holder.tenant),
            },
            state: query.get("state").cloned(),
            batch: query.get("batch").cloned(),
            after: query.get("after").cloned(),
            limit: u32::clamp(limit, 1, 1000),
        };
        let rows = self.context.store.list_sessions(&filter).await?;
        let next = rows.last().filter(|_| rows.len() as u64 >= u64::from(filter.limit));
        let body = json!({
            "sessions": rows.iter().map(session_to_json).collect::<Vec<_>>(),
            "next": next.map(|row| &row.id),
        });
        Ok(json_response(StatusCode::OK, body.to_string()))
    }

    async fn add_batch(self) -> EndpointResult {
        let body: BatchBody = read_json(self.request).await?;
        if body.name.trim().is_empty() || body.name.chars().any(char::is_control) {
            return Err(HttpError::bad_request("`name` must be one line and not empty"));
        }
        let budget_micro = body.max_budget_usd.map(to_micro_usd).transpose();
        let budget_micro = budget_micro.map_err(HttpError::bad_request)?;
        let name: String = body.name.chars().take(200).collect();
        // A tenant's batches are identified by name, so adding one again returns the same batch.
        let id = format!("{}/{name}", self.holder.tenant);
        let batch = NewBatch { id: &id, tenant: &self.holder.tenant, name: &name, budget_micro };
        self.context.store.add_batch(batch).await?;
        Ok(json_response(StatusCode::CREATED, json!({ "id": id }).to_string()))
    }

    async fn list_batches(self) -> EndpointResult {
        let is_admin = self.holder.role == TokenRole::Admin;
        let tenant = Some(self.holder.tenant.as_str()).filter(|_| !is_admin);
        let batches = self.context.store.list_batches(tenant).await?;
        let to_json = |batch: &StoredBatch| {
            json!({ "id": batch.id, "name": batch.name, "tenant": batch.tenant,
                "budget_micro_usd": batch.budget_micro, "spent_micro_usd": batch.spent_micro,
                "reserved_micro_usd": batch.reserved_micro, "sessions": batch.sessions,
                "ended": batch.ended })
        };
        let batches: Vec<Value> = batches.iter().map(to_json).collect();
        Ok(json_response(StatusCode::OK, json!({ "batches": batches }).to_string()))
    }

    async fn list_workers(self) -> EndpointResult {
        let workers = self.context.store.list_workers().await?;
        let workers: Vec<Value> = workers
            .iter()
            .filter(|worker| worker.capacity > 0)
            .map(|worker| {
                json!({ "id": worker.id, "host": worker.host, "pid": worker.pid,
                    "capacity": worker.capacity, "running": worker.running,
                    "draining": worker.is_draining, "alive": worker.lease_millis > 0 })
            })
            .collect();
        Ok(json_response(StatusCode::OK, json!({ "workers": workers }).to_string()))
    }

    async fn answer_for_session(self, endpoint: ApiEndpoint, id: &str) -> EndpointResult {
        let store = &self.context.store;
        let row = store.read_session(id).await?.ok_or_else(HttpError::no_session)?;
        if row.tenant != self.holder.tenant && self.holder.role < TokenRole::Admin {
            return Err(HttpError::no_session());
        }
        let answer = match endpoint {
            ApiEndpoint::ShowSession => session_to_json(&row),
            ApiEndpoint::ShowResult => match &row.result {
                Some(result) => serde_json::from_str(result).unwrap_or_default(),
                None => {
                    let words = format!("there is no result yet; the session is {}", row.state);
                    return Err(HttpError::new(StatusCode::CONFLICT, words));
                }
            },
            ApiEndpoint::ShowPatch => {
                let patch = store.read_blob(id, PATCH_BLOB).await?;
                if patch.is_none() && matches!(row.state.as_str(), "queued" | "running") {
                    let words = format!("there is no patch yet; the session is {}", row.state);
                    return Err(HttpError::new(StatusCode::CONFLICT, words));
                }
                let text = String::from_utf8_lossy(&patch.unwrap_or_default()).into_owned();
                return Ok(text_response(StatusCode::OK, "text/x-diff; charset=utf-8", text));
            }
            ApiEndpoint::FollowEvents => return self.follow_events(row.id),
            ApiEndpoint::ListQuestions => {
                let questions = store.list_questions(id).await?;
                let to_json = |(request, body): (String, String)| {
                    let asked: Value = serde_json::from_str(&body).unwrap_or_default();
                    json!({ "question": request, "asked": asked })
                };
                json!({ "questions": questions.into_iter().map(to_json).collect::<Vec<_>>() })
            }
            ApiEndpoint::ListAnswers => {
                let answers = store.list_answers(id).await?;
                json!({ "answers": answers.iter().map(answer_to_json).collect::<Vec<_>>() })
            }
            ApiEndpoint::AddMessage => {
                let body: MessageBody = read_json(self.request).await?;
                let uuid = body.id.unwrap_or_else(random::generate_uuid);
                if !is_session_id(&uuid) || body.content.trim().is_empty() {
                    let words = "`content` must not be empty, and `id` must be a UUID";
                    return Err(HttpError::bad_request(words));
                }
                let number = store.add_message(id, &uuid, &body.content, &self.holder.name).await?;
                json!({ "id": uuid, "number": number })
            }
            ApiEndpoint::AnswerQuestion => return self.answer_question(id).await,
            ApiEndpoint::ForkSession => return self.fork_session(row).await,
            ApiEndpoint::CancelSession => {
                json!({ "id": id, "state": store.cancel_session(id).await? })
            }
            ApiEndpoint::Health
            | ApiEndpoint::Page
            | ApiEndpoint::Metrics
            | ApiEndpoint::Description
            | ApiEndpoint::SubmitSession
            | ApiEndpoint::ListSessions
            | ApiEndpoint::AddBatch
            | ApiEndpoint::ListBatches
            | ApiEndpoint::ListWorkers => return Err(HttpError::no_session()),
        };
        Ok(json_response(StatusCode::OK, answer.to_string()))
    }
}

impl AskedRequest<'_> {
    /// A new session that goes on from the end of this one, with its files.
    async fn fork_session(self, row: SessionRow) -> EndpointResult {
        let store = &self.context.store;
        let body: ForkBody = read_json(self.request).await?;
        let id = body.id.unwrap_or_else(random::generate_uuid).to_ascii_lowercase();
        if !is_session_id(&id) || body.prompt.trim().is_empty() {
            let words = "`prompt` must not be empty, and `id` must be a UUID";
            return Err(HttpError::bad_request(words));
        }
        if matches!(row.state.as_str(), "queued" | "running") {
            let words = format!("the session is {}; fork it when it has ended", row.state);
            return Err(HttpError::new(StatusCode::CONFLICT, words));
        }
        let spec = store.read_spec(&row.id).await?.ok_or_else(HttpError::no_session)?;
        let source = row.id.clone();
        let files = store.read_journals(&source).await?;
        let new_id = id.clone();
        let copied =
            tokio::task::spawn_blocking(move || copy_journal(&source, &files, &new_id)).await;
        let journal = copied
            .map_err(|error| HttpError::bad_request(error.to_string()))?
            .map_err(HttpError::bad_request)?;
        let budget_micro = row.money.budget_micro.and_then(|most| u64::try_from(most).ok());
        let new = NewSession {
            id: id.clone(),
            tenant: row.tenant,
            batch: None,
            priority: body.priority.clamp(-1000, 1000),
            spec,
            title: body.name.as_deref().map(to_title),
            budget_micro,
            content: body.prompt,
            sender: self.holder.name.clone(),
        };
        let fork = NewFork { new, source: row.id, journal };
        store.fork_session(&fork).await?;
        Ok(json_response(StatusCode::CREATED, json!({ "id": id, "state": "queued" }).to_string()))
    }

    fn follow_events(self, id: String) -> EndpointResult {
        let query = read_query(&self.request, &["after", "follow", "live"])?;
        let last = self.request.headers().get("last-event-id");
        let last = last.map(|last| String::from_utf8_lossy(last.as_bytes()).into_owned());
        let after = last.or_else(|| query.get("after").cloned());
        let after = match after.map(|after| StreamPosition::parse(&after)) {
            None => StreamPosition::default(),
            Some(Some(after)) => after,
            Some(None) => {
                return Err(HttpError::bad_request("`after` must be the id of an event"));
            }
        };
        let follows = query.get("follow").is_none_or(|follow| follow != "false");
        let is_live = query.get("live").is_some_and(|live| live == "true");
        let counted = self.context.streams.count(&self.holder.tenant).ok_or_else(|| {
            let words =
                "your tenant follows as many sessions here as it may; end some, or try again";
            HttpError::new(StatusCode::TOO_MANY_REQUESTS, words)
        })?;
        let token = read_token(&self.request)?;
        let asked = AskedStream { session: id, after, follows, is_live, token };
        Ok(follow_events(self.context, counted, asked))
    }

    async fn answer_question(self, id: &str) -> EndpointResult {
        let body: AnswerBody = read_json(self.request).await?;
        let answer = match body.behavior.as_str() {
            "allow" => json!({ "behavior": "allow" }),
            "deny" => json!({ "behavior": "deny",
                "message": body.message.clone().unwrap_or_else(|| "Denied.".to_owned()) }),
            _ => return Err(HttpError::bad_request("`behavior` is `allow` or `deny`")),
        };
        let store = &self.context.store;
        let none_open = || {
            let words = "there is no such open question; list them with GET …/questions";
            HttpError::new(StatusCode::NOT_FOUND, words)
        };
        let open = store.list_questions(id).await?;
        let asked = open.iter().find(|(request, _)| *request == body.question);
        let asked =
            asked.map(|(_, asked)| serde_json::from_str::<Value>(asked).unwrap_or_default());
        let asked = asked.ok_or_else(none_open)?;
        let by = &self.holder.name;
        let frame_uuid = random::generate_uuid();
        let frame = json!({ "type": "system", "subtype": "permission_answered", "session_id": id,
            "uuid": frame_uuid, "request_id": body.question, "tool_name": asked.get("tool_name"),
            "tool_use_id": asked.get("tool_use_id"), "behavior": body.behavior,
            "message": answer.get("message"), "answered_by": by });
        let new = NewAnswer {
            request: &body.question,
            answer: &answer.to_string(),
            by,
            frame: &frame.to_string(),
            frame_uuid: &frame_uuid,
        };
        if !store.answer_question(id, new).await? {
            return Err(none_open());
        }
        let answered = json!({ "question": body.question, "answered_by": by });
        Ok(json_response(StatusCode::OK, answered.to_string()))
    }
}

/// A name for lists: one line, of a length that fits. The store refuses null characters.
fn to_title(name: &str) -> String {
    let is_unfit = |letter: char| letter.is_control() && letter != '\0';
    let letters = name.chars().map(|letter| if is_unfit(letter) { ' ' } else { letter });
    letters.take(200).collect()
}

fn session_to_json(row: &SessionRow) -> Value {
    json!({
        "id": row.id, "tenant": row.tenant, "state": row.state, "name": row.title,
        "reason": row.reason, "batch": row.batch, "row": row.batch_row, "worker": row.worker,
        "attempts": row.tries.attempts, "retries": row.tries.retries, "epoch": row.epoch, "records": row.seq,
        "cost_micro_usd": row.money.cost_micro, "budget_micro_usd": row.money.budget_micro,
        "patch": row.changes.has_patch, "branch": row.changes.branch,
        "branch_problem": row.changes.branch_problem, "created": row.times.created_millis,
        "updated": row.times.updated_millis,
    })
}

fn answer_to_json(answered: &AnsweredQuestion) -> Value {
    let asked: Value = serde_json::from_str(&answered.body).unwrap_or_default();
    let answer: Value = serde_json::from_str(&answered.answer).unwrap_or_default();
    json!({ "question": answered.request, "asked": asked, "behavior": answer.get("behavior"),
        "message": answer.get("message"), "answered_by": answered.answered_by,
        "answered": answered.answered_millis, "outcome": answered.outcome })
}
