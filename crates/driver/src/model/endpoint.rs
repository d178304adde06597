//! A model server: its address, its wire, and how long to wait for it.
//!
//! The credential is written to request headers only: not to logs, errors, `Debug` output or the
//! environment of child processes. It never reaches another origin, because redirects are not
//! followed and every endpoint has its own credential. How a secret is found (environment, file,
//! key ring) is up to the front end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_dialect::{Credential, ProviderRules, WebSearchDomains, dialect};
use windlass_tool::Secrets;
use windlass_vocabulary::WireFormat;

/// A model server. The models of one session may use different ones.
#[derive(Clone)]
pub struct Endpoint {
    /// The wire format it uses.
    pub wire: WireFormat,
    /// Scheme, host, port and base path, for example `https://models.example.org`. The wire appends
    /// its own paths.
    pub base_url: String,
    /// The credential for authentication.
    pub credential: Credential,
    /// Sent with every request after the wire's own headers; a header of the same name replaces
    /// those.
    pub headers: Vec<(String, String)>,
    /// Overrides the provider rules of the wire.
    pub provider_rules: Option<ProviderRules>,
    /// Finds a new credential when the server rejects the current one.
    pub renewal: Option<CredentialRenewal>,
    /// The server offers web search to its models. Compatible servers of other vendors mostly do
    /// not.
    pub has_web_search: bool,
}

impl Endpoint {
    /// An endpoint without authentication.
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

    /// Sets the credential.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credential = credential;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets whether the server offers web search.
    #[must_use]
    pub fn with_web_search(mut self, on: bool) -> Self {
        self.has_web_search = on;
        self
    }

    /// Can it search, and does its wire support that?
    pub(crate) fn can_search(&self) -> bool {
        let wire = dialect(self.wire);
        self.has_web_search
            && wire.is_some_and(|wire| wire.web_search_tool(&WebSearchDomains::default()).is_some())
    }

    /// Registers its current and future keys, so that they are redacted from everything that is
    /// stored.
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

    /// Sets its own provider rules, for a partner cloud that accepts less or a local server that
    /// accepts everything. The wire is always that of the endpoint.
    #[must_use]
    pub fn with_provider_rules(mut self, rules: ProviderRules) -> Self {
        self.provider_rules = Some(rules);
        self
    }

    /// Sets how to find a new credential. The function is called once when the server rejects the
    /// current one; if it returns a different one, that request and all later ones use it. It may
    /// block for up to [`RENEWAL_MAX`].
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

/// May a header of this name contain a credential?
fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password", "credential"]
        .iter()
        .any(|word| name.contains(word))
}

/// Headers are shown by name only, because their values may be secret.
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

/// Finds a new credential when the current one is rejected.
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

/// How long to wait for a model server. Exceeding any limit but the first is a transport failure,
/// which the engine retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Time without a single byte until the user is warned. The warning repeats at doubled
    /// intervals.
    pub quiet: Duration,
    /// For connecting, TLS included.
    pub connect: Duration,
    /// For a server on this machine to start, if nothing listens on its port yet.
    pub local_start: Duration,
    /// From sending the request to the last header of the response.
    pub headers: Duration,
    /// Without a single byte of the body.
    pub silence: Duration,
    /// With bytes but without one complete event: a server that sends too slowly.
    pub event: Duration,
    /// With nothing but keep-alive events.
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

/// Limit for finding a new credential.
pub const RENEWAL_MAX: Duration = Duration::from_secs(30);
