//! Logging in to a server over HTTP: where the user has to go, what comes back, and where it is kept.
//!
//! The official library knows the protocol of logins. Here are our own words for it and a file of our
//! own for each server, which nobody else may read. Who opens the browser is decided elsewhere.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{AuthorizationCallback, OAuthState};
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, CredentialStore, StoredCredentials,
    WWWAuthenticateParams,
};

use crate::connection::short;
use crate::failure::Failure;
use crate::name::fingerprint;

/// Where what a login gave is kept: one file for each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vault {
    folder: PathBuf,
}

/// As whom we ask for a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Where the user is sent back to.
    pub redirect: String,
    /// An id that was given to us beforehand.
    pub client_id: Option<String>,
    /// The secret that goes with it.
    pub client_secret: Option<String>,
    /// A page that says who we are.
    pub page: Option<String>,
}

/// A login under way.
pub struct Login {
    state: OAuthState,
    address: String,
}

/// Proof of who we are, renewed by itself as long as that works.
pub struct Pass {
    pub(crate) manager: Box<AuthorizationManager>,
}

impl Vault {
    /// One in this folder, which is made when first needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Forgets what a login to this server gave. Says whether there was anything.
    #[must_use]
    pub fn forget(&self, url: &str) -> bool {
        std::fs::remove_file(self.path(url)).is_ok()
    }

    /// The pass to this server, if a login gave one.
    ///
    /// # Errors
    ///
    /// When it is there but the server of logins cannot be asked about it.
    pub async fn pass(&self, url: &str) -> Result<Option<Pass>, Failure> {
        if !self.path(url).exists() {
            return Ok(None);
        }
        let mut manager = AuthorizationManager::new(url).await.map_err(|error| refused(&error))?;
        manager.set_credential_store(self.shelf(url));
        let is_there = manager.initialize_from_store().await.map_err(|error| refused(&error))?;
        Ok(is_there.then(|| Pass { manager: Box::new(manager) }))
    }

    fn path(&self, url: &str) -> PathBuf {
        self.folder.join(format!("{}.json", fingerprint(url)))
    }

    fn shelf(&self, url: &str) -> Shelf {
        Shelf { path: self.path(url) }
    }
}

impl Login {
    /// Finds out where the user has to go. `challenge` is what the server said when it refused us; the
    /// scopes of an earlier login are kept.
    ///
    /// # Errors
    ///
    /// When the server does not say where logins are, or what it says cannot be trusted.
    pub async fn begin(
        url: &str,
        identity: &Identity,
        challenge: &str,
        vault: &Vault,
    ) -> Result<Self, Failure> {
        let shelf = vault.shelf(url);
        let mut request = AuthorizationRequest::new(identity.redirect.as_str())
            .with_client_name("Windlass")
            .with_application_type("native");
        if let Some(page) = &identity.page {
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
            let before = shelf.load().await.ok().flatten().map(|kept| kept.granted_scopes);
            let scopes = together(before.unwrap_or_default(), url, challenge);
            if !scopes.is_empty() {
                request = request.with_scopes(scopes);
            }
        }
        let mut manager = AuthorizationManager::new(url).await.map_err(|error| refused(&error))?;
        manager.set_credential_store(shelf);
        let mut state = OAuthState::Unauthorized(manager);
        state.start_authorization(request).await.map_err(|error| refused(&error))?;
        let address = state.get_authorization_url().await.map_err(|error| refused(&error))?;
        Ok(Self { state, address })
    }

    /// Where the user has to go.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The user came back to this address. What was given is in the vault now.
    ///
    /// # Errors
    ///
    /// When it is not what was asked for, or the server of logins does not give a pass for it.
    pub async fn finish(mut self, callback: &str) -> Result<Pass, Failure> {
        let back =
            AuthorizationCallback::from_redirect_url(callback).map_err(|error| refused(&error))?;
        let issuer = back.issuer.as_deref();
        let handled = self.state.handle_callback_with_issuer(&back.code, &back.csrf_token, issuer);
        handled.await.map_err(|error| refused(&error))?;
        let manager = self.state.into_authorization_manager();
        let lost = || Failure::Nonsense { reason: "the login was lost".to_owned() };
        Ok(Pass { manager: Box::new(manager.ok_or_else(lost)?) })
    }
}

/// The scopes of before and those the server now wants besides; none if it wants none.
fn together(before: Vec<String>, url: &str, challenge: &str) -> Vec<String> {
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

fn refused(error: &AuthError) -> Failure {
    Failure::Unreachable { reason: short(&format!("the login failed: {error}"), 400) }
}

/// The file of one server.
struct Shelf {
    path: PathBuf,
}

#[async_trait]
impl CredentialStore for Shelf {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(_) => Ok(None),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = serde_json::to_vec(&credentials)
            .map_err(std::io::Error::other)
            .and_then(|bytes| write(&self.path, &bytes));
        kept.map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        // One that is not there is as good.
        let _ = std::fs::remove_file(&self.path);
        Ok(())
    }
}

/// Through a new file that takes the old one's place, so that nobody sees half of it.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
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

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login")
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pass")
    }
}
