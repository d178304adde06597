//! Everything that was said in a session, as updates: what `session/load` sends before it answers.

use std::path::Path;

use windlass_assembly::session::journal_error;
use windlass_host::command_error::CommandError;
use windlass_journal::conversation::{ConversationItem, ConversationRole};
use windlass_journal::conversation_extras::{ConversationExtraKind, read_full_conversation};
use windlass_vocabulary::{Json, MediaContent, ToolCall};

use super::tool_call_view::{describe_past_call, parse_plan, shows_change};
use crate::schema::{AcpContent, SessionUpdate, ToolCallContent, ToolCallStatus, ToolCallUpdate};

pub(super) fn read_history(journal: &Path, cwd: &Path) -> Result<Vec<SessionUpdate>, CommandError> {
    let told = read_full_conversation(journal).map_err(|error| journal_error(&error))?;
    let mut calls = OpenCalls::default();
    let mut updates = Vec::new();
    let mut extras = told.extras.into_iter().peekable();
    for item in &told.items {
        let mut pictures = Vec::new();
        while let Some(extra) = extras.next_if(|extra| extra.seq <= item.seq) {
            match extra.kind {
                ConversationExtraKind::Thinking(text) => {
                    updates
                        .push(SessionUpdate::AgentThoughtChunk { content: AcpContent::text(text) });
                }
                ConversationExtraKind::Media(media) if extra.seq == item.seq => {
                    pictures
                        .extend(Some(media).filter(|media| media.media_type.starts_with("image/")));
                }
                ConversationExtraKind::Media(_) => {}
            }
        }
        updates.extend(item_to_updates(item, &pictures, &mut calls, cwd));
    }
    Ok(updates)
}

/// Calls that have no result yet.
#[derive(Default)]
struct OpenCalls {
    calls: Vec<ToolCall>,
}

impl OpenCalls {
    fn take(&mut self, id: Option<&str>) -> Option<ToolCall> {
        let place = match id {
            Some(id) => self.calls.iter().position(|call| call.id.as_str() == id)?,
            None => 0,
        };
        (place < self.calls.len()).then(|| self.calls.remove(place))
    }
}

fn item_to_updates(
    item: &ConversationItem,
    pictures: &[MediaContent],
    calls: &mut OpenCalls,
    cwd: &Path,
) -> Vec<SessionUpdate> {
    let content = || AcpContent::text(item.text.as_str());
    match &item.who {
        ConversationRole::User => show_contents(item, pictures)
            .map(|content| SessionUpdate::UserMessageChunk { content })
            .collect(),
        ConversationRole::Model => {
            vec![SessionUpdate::AgentMessageChunk { content: content(), message_id: None }]
        }
        ConversationRole::Call { tool, call } => {
            let call = ToolCall {
                id: call.clone(),
                name: tool.clone(),
                input: Json::from_checked(&item.text),
                signature: None,
            };
            let update = match parse_plan(&call) {
                Some(entries) => SessionUpdate::Plan { entries },
                None => SessionUpdate::ToolCall(describe_past_call(&call, cwd)),
            };
            calls.calls.push(call);
            vec![update]
        }
        ConversationRole::Tool { call, is_error } => {
            let call = calls.take(call.as_ref().map(|call| call.as_str()));
            let Some(call) = call.filter(|call| parse_plan(call).is_none()) else {
                return Vec::new();
            };
            let keeps_change = shows_change(&call) && !is_error;
            vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                tool_call_id: call.id.as_str().to_owned(),
                status: Some(match is_error {
                    true => ToolCallStatus::Failed,
                    false => ToolCallStatus::Completed,
                }),
                content: (!keeps_change).then(|| {
                    show_contents(item, pictures)
                        .map(|content| ToolCallContent::Content { content })
                        .collect()
                }),
                ..ToolCallUpdate::default()
            })]
        }
        ConversationRole::Summary => {
            vec![SessionUpdate::AgentThoughtChunk { content: content() }]
        }
        // A call that never ran is closed; nothing in it will move again.
        ConversationRole::End { .. } => std::mem::take(&mut calls.calls)
            .into_iter()
            .filter(|call| parse_plan(call).is_none())
            .map(|call| {
                SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                    tool_call_id: call.id.as_str().to_owned(),
                    status: Some(ToolCallStatus::Failed),
                    ..ToolCallUpdate::default()
                })
            })
            .collect(),
    }
}

/// The text of an item, and its pictures in the place of their names.
fn show_contents(
    item: &ConversationItem,
    pictures: &[MediaContent],
) -> impl Iterator<Item = AcpContent> {
    let mut text = item.text.clone();
    for picture in pictures {
        text = text.replacen(&format!("[{}]", picture.name), "", 1);
    }
    let text = Some(text).filter(|text| !text.is_empty() || pictures.is_empty());
    let pictures = pictures.iter().map(|picture| AcpContent::Image {
        data: picture.data.to_string(),
        mime_type: picture.media_type.to_string(),
    });
    text.map(AcpContent::text).into_iter().chain(pictures)
}
