//! Logs in to a server over HTTP: where the user has to go, handling the redirect, and storing the
//! credentials.
//!
//! The official library implements the protocol. Here are our own types for it, and the store for
//! credentials: the system's key ring where there is one, or else a file that only the user may read.
//! With a key ring, the file only says that there is an entry, so that the key ring is not asked in
//! vain. The caller opens the browser.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthorizationCallback, OAuthState};
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, CredentialStore, StoredCredentials,
    WWWAuthenticateParams,
};

use windlass_tool::http_client::install_crypto_provider;

use crate::connection::clean_excerpt;
use crate::failure::McpFailure;
use crate::tool_names::fingerprint;

/// A store that is safer than a file, such as the system's key ring. Calls may block for long.
pub trait LoginSecretStore: Send + Sync {
    /// The secret stored under this name for this address.
    fn get(&self, name: &str, url: &str) -> Option<String>;
    /// Stores it. Returns whether that worked.
    fn put(&self, name: &str, url: &str, secret: &str) -> bool;
    fn remove(&self, name: &str);
}

/// Stores credentials.
#[derive(Clone)]
pub struct LoginStore {
    folder: PathBuf,
    secret_store: Option<Arc<dyn LoginSecretStore>>,
}

/// The client identity sent with an authorization request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OauthClientIdentity {
    /// The redirect URL.
    pub redirect: String,
    /// A client id that was registered beforehand.
    pub client_id: Option<String>,
    /// The secret of `client_id`.
    pub client_secret: Option<String>,
    /// URL of a client metadata document.
    pub metadata_url: Option<String>,
}

pub struct OauthLogin {
    state: OAuthState,
    authorization_url: String,
}

/// An access token, refreshed automatically while that works.
pub struct OauthAccess {
    pub(crate) manager: Box<AuthorizationManager>,
}

impl LoginStore {
    /// A store in this folder, which is created when first needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), secret_store: None }
    }

    /// Uses this secret store in preference to files.
    #[must_use]
    pub fn with_secret_store(mut self, safe: Arc<dyn LoginSecretStore>) -> Self {
        self.secret_store = Some(safe);
        self
    }

    /// Deletes the credentials for this server. Returns whether there were any.
    #[must_use]
    pub fn forget(&self, url: &str) -> bool {
        self.credential_file(url).remove()
    }

    /// The access to this server, if the user has logged in.
    ///
    /// # Errors
    ///
    /// There are credentials, but the authorization server cannot be reached to use them.
    pub async fn load_access(&self, url: &str) -> Result<Option<OauthAccess>, McpFailure> {
        if !self.path(url).exists() {
            return Ok(None);
        }
        let mut manager = build_authorization(url).await?;
        manager.set_credential_store(self.credential_file(url));
        let is_there =
            manager.initialize_from_store().await.map_err(|error| login_failure(&error))?;
        Ok(is_there.then(|| OauthAccess { manager: Box::new(manager) }))
    }

    fn path(&self, url: &str) -> PathBuf {
        self.folder.join(format!("{}.json", fingerprint(url)))
    }

    fn credential_file(&self, url: &str) -> LoginCredentialFile {
        let name = format!("mcp-{}", fingerprint(url));
        LoginCredentialFile {
            path: self.path(url),
            name,
            url: url.to_owned(),
            secret_store: self.secret_store.clone(),
        }
    }
}

impl OauthLogin {
    /// Determines where the user has to go. `challenge` comes from the server's refusal; the scopes
    /// of an earlier login are kept.
    ///
    /// # Errors
    ///
    /// The server names no authorization server, or its metadata cannot be trusted.
    pub async fn begin(
        url: &str,
        identity: &OauthClientIdentity,
        challenge: &str,
        store: &LoginStore,
    ) -> Result<Self, McpFailure> {
        let file = store.credential_file(url);
        let mut request = AuthorizationRequest::new(identity.redirect.as_str())
            .with_client_name("Windlass")
            .with_application_type("native");
        if let Some(page) = &identity.metadata_url {
            request = request.with_client_metadata_url(page.as_str());
        }
        if let Some(id) = &identity.client_id {
            request = request.with_preregistered_client(id.as_str());
        }
        if let Some(secret) = &identity.client_secret {
            request = request.with_client_secret(secret.as_str());
        }
        if !challenge.is_empty() {
            request = request.with_challenge(challenge);
            let before = file.load().await.ok().flatten().map(|kept| kept.granted_scopes);
            let scopes = merge_scopes(before.unwrap_or_default(), url, challenge);
            if !scopes.is_empty() {
                request = request.with_scopes(scopes);
            }
        }
        let mut manager = build_authorization(url).await?;
        manager.set_credential_store(file);
        let mut state = OAuthState::Unauthorized(manager);
        state.start_authorization(request).await.map_err(|error| login_failure(&error))?;
        let address = state.get_authorization_url().await.map_err(|error| login_failure(&error))?;
        Ok(Self { state, authorization_url: address })
    }

    #[must_use]
    pub fn authorization_url(&self) -> &str {
        &self.authorization_url
    }

    /// Completes the login with the URL the user was redirected to. The credentials are then in the
    /// store.
    ///
    /// # Errors
    ///
    /// The URL does not belong to this login, or the authorization server denies access.
    pub async fn finish(mut self, callback: &str) -> Result<OauthAccess, McpFailure> {
        let back = AuthorizationCallback::from_redirect_url(callback)
            .map_err(|error| login_failure(&error))?;
        let issuer = back.issuer.as_deref();
        let handled = self.state.handle_callback_with_issuer(&back.code, &back.csrf_token, issuer);
        handled.await.map_err(|error| login_failure(&error))?;
        let manager = self.state.into_authorization_manager();
        let lost = || McpFailure::ProtocolViolation { reason: "the login was lost".to_owned() };
        Ok(OauthAccess { manager: Box::new(manager.ok_or_else(lost)?) })
    }
}

/// Merges the earlier scopes with those the server now demands. Empty if it demands none.
fn merge_scopes(before: Vec<String>, url: &str, challenge: &str) -> Vec<String> {
    let Ok(base) = reqwest::Url::parse(url) else { return Vec::new() };
    let params = WWWAuthenticateParams::parse(challenge, &base);
    let Some(wanted) = params.scope.as_ref().filter(|_| params.is_insufficient_scope()) else {
        return Vec::new();
    };
    let mut all = before;
    for scope in wanted.split_whitespace() {
        if !all.iter().any(|known| known == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

async fn build_authorization(url: &str) -> Result<AuthorizationManager, McpFailure> {
    install_crypto_provider();
    AuthorizationManager::new(url).await.map_err(|error| login_failure(&error))
}

fn login_failure(error: &AuthError) -> McpFailure {
    McpFailure::Unreachable { reason: clean_excerpt(&format!("the login failed: {error}"), 400) }
}

/// The stored credentials of one server.
#[derive(Clone)]
struct LoginCredentialFile {
    path: PathBuf,
    name: String,
    url: String,
    secret_store: Option<Arc<dyn LoginSecretStore>>,
}

impl LoginCredentialFile {
    fn get(&self) -> Option<StoredCredentials> {
        // Reading a named pipe at this path would block.
        let text = self.path.is_file().then(|| std::fs::read_to_string(&self.path).ok())??;
        let secret = match text.trim() == IN_SECRET_STORE {
            true => self.secret_store.as_ref()?.get(&self.name, &self.url)?,
            false => text,
        };
        serde_json::from_str(&secret).ok()
    }

    fn put(&self, credentials: &StoredCredentials) -> std::io::Result<()> {
        let secret = serde_json::to_string(credentials).map_err(std::io::Error::other)?;
        let safe = self.secret_store.as_ref();
        match safe.is_some_and(|safe| safe.put(&self.name, &self.url, &secret)) {
            true => write_private_file(&self.path, IN_SECRET_STORE.as_bytes()),
            false => write_private_file(&self.path, secret.as_bytes()),
        }
    }

    /// Returns whether there was anything to delete.
    fn remove(&self) -> bool {
        let is_in_safe =
            std::fs::read_to_string(&self.path).is_ok_and(|text| text.trim() == IN_SECRET_STORE);
        if let Some(safe) = self.secret_store.as_ref().filter(|_| is_in_safe) {
            safe.remove(&self.name);
        }
        std::fs::remove_file(&self.path).is_ok()
    }
}

/// Content of the file when the credentials are in the key ring.
const IN_SECRET_STORE: &str = "{\"kept\":\"in the key ring\"}";

#[async_trait]
impl CredentialStore for LoginCredentialFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let file = self.clone();
        Ok(tokio::task::spawn_blocking(move || file.get()).await.ok().flatten())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let file = self.clone();
        let kept = tokio::task::spawn_blocking(move || file.put(&credentials)).await;
        let kept = kept.map_err(std::io::Error::other).and_then(|kept| kept);
        kept.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let file = self.clone();
        // If the deletion fails, the old credentials are rejected by the server at the next use.
        let _ = tokio::task::spawn_blocking(move || file.remove()).await;
        Ok(())
    }
}

/// Writes a new file and renames it, so that a reader never sees half of it.
fn write_private_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let half = path.with_extension(format!("{}.tmp", std::process::id()));
    let _ = std::fs::remove_file(&half);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&half)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&half, path))
}

impl std::fmt::Debug for LoginStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OauthLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OauthLogin")
    }
}

impl std::fmt::Debug for OauthAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OauthAccess")
    }
}
