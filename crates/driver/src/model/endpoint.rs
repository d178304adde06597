//! Where a model server is and how it is spoken to, and how long we wait for it.
//!
//! The credential is written into request headers and nowhere else: not into logs, errors, `Debug`
//! output or the environment of children, and it never reaches another origin, because redirects
//! are not followed and every endpoint has its own. How a secret is found (environment, file, key
//! chain) is the front end's business.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_dialect::{Credential, ProviderRules, WebSearchDomains, dialect};
use windlass_tool::Secrets;
use windlass_vocabulary::WireFormat;

/// A model server. Models of one session may live at different ones.
#[derive(Clone)]
pub struct Endpoint {
    /// The language it speaks.
    pub wire: WireFormat,
    /// Scheme, host, port and the path below which the wire's own paths begin; for example
    /// `https://models.example.org`.
    pub base_url: String,
    /// What proves who asks.
    pub credential: Credential,
    /// Sent with every request, after the wire's own headers; the same name replaces.
    pub headers: Vec<(String, String)>,
    /// What it accepts, where that is not what the wire's own provider accepts.
    pub provider_rules: Option<ProviderRules>,
    /// Where a new credential comes from when the server refuses the one it got.
    pub renewal: Option<CredentialRenewal>,
    /// It searches the web for its models. Imitations of a wire mostly do not.
    pub has_web_search: bool,
}

impl Endpoint {
    /// An endpoint that asks for no proof.
    #[must_use]
    pub fn new(wire: WireFormat, base_url: impl Into<String>) -> Self {
        Self {
            wire,
            base_url: base_url.into(),
            credential: Credential::None,
            headers: Vec::new(),
            provider_rules: None,
            renewal: None,
            has_web_search: false,
        }
    }

    /// With this credential.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a search of the web on its side.
    #[must_use]
    pub fn with_web_search(mut self, on: bool) -> Self {
        self.has_web_search = on;
        self
    }

    /// Does it search, and has its wire a word for that?
    pub(crate) fn can_search(&self) -> bool {
        let wire = dialect(self.wire);
        self.has_web_search
            && wire.is_some_and(|wire| wire.web_search_tool(&WebSearchDomains::default()).is_some())
    }

    /// Tells the keys it has, and any it gets later, so that they are kept out of what is kept.
    pub(crate) fn with_registered_secrets(mut self, secrets: &Secrets) -> Self {
        register_credential(&self.credential, secrets);
        for (_, value) in self.headers.iter().filter(|(name, _)| may_be_secret(name)) {
            secrets.add(value.strip_prefix("Bearer ").unwrap_or(value));
        }
        if let Some(CredentialRenewal(find)) = self.renewal.take() {
            let secrets = secrets.clone();
            self.renewal = Some(CredentialRenewal(Arc::new(move || {
                let found = find();
                found.iter().for_each(|credential| register_credential(credential, &secrets));
                found
            })));
        }
        self
    }

    /// With limits of its own: a partner cloud that takes less, a local server that takes
    /// everything. Its wire is that of the endpoint, whatever the law says.
    #[must_use]
    pub fn with_provider_rules(mut self, law: ProviderRules) -> Self {
        self.provider_rules = Some(law);
        self
    }

    /// With a way to a new credential. When the server refuses the one it got, this is called once;
    /// if it gives a different one, the request is sent again with it, and so are all later ones.
    /// It may block for up to [`RENEWAL_MAX`].
    #[must_use]
    pub fn with_renewal(
        mut self,
        find: impl Fn() -> Option<Credential> + Send + Sync + 'static,
    ) -> Self {
        self.renewal = Some(CredentialRenewal(Arc::new(find)));
        self
    }
}

fn register_credential(credential: &Credential, secrets: &Secrets) {
    match credential {
        Credential::None => {}
        Credential::Key(secret) | Credential::Bearer(secret) => secrets.add(secret),
    }
}

/// Is a header of this name one that proves who asks?
fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password", "credential"]
        .iter()
        .any(|word| name.contains(word))
}

/// Headers are shown by name only: one of them may be a secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("credential", &self.credential)
            .field("headers", &names)
            .field("law", &self.provider_rules)
            .field("renewal", &self.renewal)
            .field("searches", &self.has_web_search)
            .finish()
    }
}

/// Finds a credential when the old one is no longer good.
#[derive(Clone)]
pub struct CredentialRenewal(Arc<dyn Fn() -> Option<Credential> + Send + Sync>);

impl CredentialRenewal {
    pub(crate) fn find_credential(&self) -> Option<Credential> {
        (self.0)()
    }
}

impl fmt::Debug for CredentialRenewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renewal")
    }
}

/// How long a model server may keep us waiting. Each over-run but the first is a transport
/// failure, which the engine retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Without a single byte, until the user is told; and again after twice as long, and so on.
    pub quiet: Duration,
    /// For a connection, TLS included.
    pub connect: Duration,
    /// For a server on this machine to come up, if nothing listens on its port yet.
    pub local_start: Duration,
    /// From sending the request to the last header of the reply.
    pub headers: Duration,
    /// Without a single byte of the body.
    pub silence: Duration,
    /// With bytes but without one whole event: a server that drips.
    pub event: Duration,
    /// With nothing but signs of life.
    pub pings: Duration,
}

impl Default for ModelTimeouts {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(30),
            connect: Duration::from_secs(30),
            local_start: Duration::from_secs(10),
            headers: Duration::from_secs(600),
            silence: Duration::from_secs(120),
            event: Duration::from_secs(180),
            pings: Duration::from_secs(300),
        }
    }
}

/// How long the search for a new credential may take.
pub const RENEWAL_MAX: Duration = Duration::from_secs(30);
