//! Stateless servers report list changes only to a subscriber; this subscribes.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};

use super::client::{McpHost, McpListKind};
use super::health::ConnectionHealth;

/// Listening that ended is begun again this often, after a pause.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_secs(5);

/// Tells the host of changes until the connection is gone.
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
