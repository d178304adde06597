//! What the client can do.

use serde::Deserialize;
use serde_json::Value;

use super::null_as_default;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeParams {
    /// Required, and read only to refuse what is no `initialize`: there is one version to answer with.
    #[serde(rename = "protocolVersion")]
    pub _protocol_version: u64,
    #[serde(default, deserialize_with = "null_as_default")]
    pub client_capabilities: ClientCapabilities,
}

/// What is absent is not there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientCapabilities {
    fs: Option<FileCapabilities>,
    session: Option<SessionCapabilities>,
    auth: Option<AuthCapabilities>,
    elicitation: Option<ElicitationCapabilities>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FileCapabilities {
    read_text_file: Option<Value>,
    write_text_file: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SessionCapabilities {
    compaction: Option<Value>,
    notices: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct AuthCapabilities {
    terminal: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ElicitationCapabilities {
    form: Option<Value>,
    url: Option<Value>,
}

impl ClientCapabilities {
    pub(crate) fn reads_files(&self) -> bool {
        self.fs.as_ref().is_some_and(|fs| is_offered(fs.read_text_file.as_ref()))
    }

    pub(crate) fn writes_files(&self) -> bool {
        self.fs.as_ref().is_some_and(|fs| is_offered(fs.write_text_file.as_ref()))
    }

    pub(crate) fn takes_notices(&self) -> bool {
        self.session.as_ref().is_some_and(|session| is_offered(session.notices.as_ref()))
    }

    pub(crate) fn takes_compaction(&self) -> bool {
        self.session.as_ref().is_some_and(|session| is_offered(session.compaction.as_ref()))
    }

    pub(crate) fn runs_login_in_terminal(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| is_offered(auth.terminal.as_ref()))
    }

    pub(crate) fn shows_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|offered| is_offered(offered.form.as_ref()))
    }

    pub(crate) fn opens_urls(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|offered| is_offered(offered.url.as_ref()))
    }
}

/// Clients say `true` or `{}`; `false` and `null` are no.
fn is_offered(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null() && value != &Value::Bool(false))
}
