//! Subscribes to list changes, which stateless servers report only to a subscriber.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};

use super::client::{McpHost, McpListKind};
use super::health::ConnectionHealth;

/// How often a subscription that ended is renewed, after a pause.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_secs(5);

/// Notifies the host of list changes until the connection is closed.
pub(super) async fn follow_list_changes(
    peer: Peer<RoleClient>,
    host: Arc<dyn McpHost>,
    health: Arc<ConnectionHealth>,
) {
    let listening = async {
        for _ in 0..TRIES_MAX {
            let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
            let Ok(mut subscription) = peer.listen(filter.build()).await else { return };
            while let Ok(Some(change)) = subscription.next().await {
                match change {
                    ServerNotification::ToolListChangedNotification(_) => {
                        host.list_changed(McpListKind::Tools);
                    }
                    ServerNotification::PromptListChangedNotification(_) => {
                        host.list_changed(McpListKind::Prompts);
                    }
                    _ => {}
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = health.gone_token().cancelled() => {}
        () = listening => {}
    }
}
