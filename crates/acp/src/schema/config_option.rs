//! Modes and config options: what a person may choose in the editor while a session runs.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModeList {
    pub current_mode_id: &'static str,
    pub available_modes: Vec<SessionMode>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SessionMode {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

/// A choice of one out of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigOption {
    pub id: &'static str,
    pub name: &'static str,
    pub category: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub current_value: String,
    pub options: Vec<ConfigChoice>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ConfigChoice {
    pub value: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
