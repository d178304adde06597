//! Servers without a session only tell of changes while somebody listens; this listens.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};

use super::client::{Host, List};
use super::health::Health;

/// Listening that ended is begun again this often, after a pause.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_secs(5);

/// Tells the host of changes until the connection is gone.
pub(super) async fn changes(peer: Peer<RoleClient>, host: Arc<dyn Host>, health: Arc<Health>) {
    let listening = async {
        for _ in 0..TRIES_MAX {
            let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
            let Ok(mut subscription) = peer.listen(filter.build()).await else { return };
            while let Ok(Some(change)) = subscription.next().await {
                match change {
                    ServerNotification::ToolListChangedNotification(_) => host.changed(List::Tools),
                    ServerNotification::PromptListChangedNotification(_) => {
                        host.changed(List::Prompts);
                    }
                    _ => {}
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = health.gone().cancelled() => {}
        () = listening => {}
    }
}
