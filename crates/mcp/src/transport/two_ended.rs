//! Messages over the HTTP of the first revision: what the server says comes over one stream of events
//! that stays open, what we say goes to an address it names in the first of them.
//!
//! Only for servers whose entry says so; the others speak [`super::http`]. There is no taking up
//! where a stream was cut: what was under way is lost, and the server is connected to anew.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use reqwest::header::{ACCEPT, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthorizationManager;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use sse_stream::{Error, Sse};

use super::capped::{EVENTS, events};
use super::http::{HttpOrder, client, headers};
use super::{MESSAGE_BYTES_MAX, Read, read_bytes};
use crate::connection::{Health, short};
use crate::failure::Failure;
use crate::login::Pass;

/// How long the server may take to take a message; its answer comes later and elsewhere.
const TAKEN_MAX: Duration = Duration::from_secs(60);
/// Events that may come before the server says where messages go.
const PREFACE_MAX: usize = 16;

/// A server that is listened to.
pub(crate) struct TwoEnded {
    post: Post,
    events: BoxStream<'static, Result<Sse, Error>>,
    health: Arc<Health>,
}

/// Where messages go, and what goes with them.
#[derive(Clone)]
struct Post {
    client: Client,
    headers: HeaderMap,
    pass: Option<Arc<AuthorizationManager>>,
    /// Until the server has named another, the address of its events.
    url: Url,
}

impl TwoEnded {
    /// Begins to listen, and waits until the server has said where messages go.
    pub(crate) async fn open(
        order: &HttpOrder,
        pass: Option<Pass>,
        health: Arc<Health>,
    ) -> Result<Self, Failure> {
        let headers = headers(order)?.into_iter().collect();
        let url = Url::parse(&order.url).map_err(|error| unreachable(&error))?;
        let pass = pass.map(|pass| Arc::new(*pass.manager));
        let mut post = Post { client: client(&order.url)?.0, headers, pass, url };
        let mut events = post.listen().await?;
        for _ in 0..PREFACE_MAX {
            let event = match events.next().await {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Err(Failure::Gone { reason: error.to_string() }),
                None => break,
            };
            if event.event.as_deref() == Some("endpoint") {
                post.url = endpoint(&post.url, event.data.as_deref().unwrap_or_default())?;
                return Ok(Self { post, events, health });
            }
        }
        let reason = "it did not say where messages go; does it speak streamable HTTP instead \
                      (\"type\": \"http\")?";
        Err(Failure::Nonsense { reason: reason.to_owned() })
    }
}

/// The address for messages. It must be where the events come from: they carry our secrets.
fn endpoint(from: &Url, said: &str) -> Result<Url, Failure> {
    let wrong =
        |why: String| Failure::Nonsense { reason: format!("its address for messages {why}") };
    let url = from.join(said.trim()).map_err(|error| wrong(format!("is none: {error}")))?;
    match url.origin() == from.origin() {
        true => Ok(url),
        false => Err(wrong(format!("is at another place: {}", short(said, 200)))),
    }
}

impl Post {
    async fn listen(&self) -> Result<BoxStream<'static, Result<Sse, Error>>, Failure> {
        let request = self.client.get(self.url.clone()).header(ACCEPT, EVENTS);
        let response = self.go(request).await.map_err(|unsent| match unsent {
            Unsent::Challenged(wanted) => {
                Failure::NeedsLogin { challenge: wanted.www_authenticate_header }
            }
            other => unreachable(&other),
        })?;
        Ok(events(response, MESSAGE_BYTES_MAX))
    }

    async fn say(self, message: TxJsonRpcMessage<RoleClient>) -> Result<(), Unsent> {
        // The answer comes over the stream; what stands here is at most a word of politeness.
        let request = self.client.post(self.url.clone()).timeout(TAKEN_MAX).json(&message);
        self.go(request).await.map(drop)
    }

    async fn go(&self, request: reqwest::RequestBuilder) -> Result<Response, Unsent> {
        let mut request = request.headers(self.headers.clone());
        if let Some(pass) = &self.pass {
            let token = pass.get_access_token().await;
            let wanted = |_| Unsent::Challenged(AuthRequiredError::new(String::new()));
            request = request.bearer_auth(token.map_err(wanted)?);
        }
        let response = request.send().await.map_err(Unsent::Failed)?;
        match response.status() {
            status if status.is_success() => Ok(response),
            StatusCode::UNAUTHORIZED => {
                let challenge = response.headers().get(WWW_AUTHENTICATE);
                let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or_default();
                Err(Unsent::Challenged(AuthRequiredError::new(challenge.to_owned())))
            }
            status => Err(Unsent::Refused(status)),
        }
    }
}

impl Transport<RoleClient> for TwoEnded {
    type Error = Unsent;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Unsent>> + Send + 'static {
        self.post.clone().say(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => {
                    self.health.because(&format!("its events ended: {error}"));
                    return None;
                }
            };
            // Whatever else it calls its events is not for us.
            if event.event.as_deref().is_some_and(|name| name != "message") {
                continue;
            }
            let Some(data) = event.data else { continue };
            match read_bytes(data.as_bytes(), &self.health) {
                Read::Message(message) => return Some(*message),
                Read::Nothing => {}
                Read::Enough => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Unsent> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}

/// Why a message did not arrive.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// There was no answer.
    Failed(reqwest::Error),
    /// It does not want it.
    Refused(StatusCode),
    /// It wants to know who we are first.
    Challenged(AuthRequiredError),
}

impl std::fmt::Display for Unsent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(_) => f.write_str("there was no answer"),
            Self::Refused(status) => write!(f, "HTTP {status}"),
            Self::Challenged(_) => f.write_str("it needs a login"),
        }
    }
}

impl std::error::Error for Unsent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Refused(_) => None,
            Self::Challenged(wanted) => Some(wanted),
        }
    }
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Unreachable { reason: crate::connection::chain(error) }
}
