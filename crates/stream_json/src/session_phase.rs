//! How far the session of the process is: planned, opening, live or lost.

use tokio::sync::oneshot;
use windlass_assembly::session_plan::SessionPlan;
use windlass_vocabulary::Notice;

use crate::live_session::LiveSession;

pub(crate) enum SessionPhase {
    Planned {
        plan: Box<SessionPlan>,
        are_client_servers_connected: bool,
    },
    /// The tools of MCP servers inside the client belong to the session from its start, so it starts
    /// when they are connected.
    Opening {
        plan: Box<SessionPlan>,
        client_servers_ready: oneshot::Receiver<()>,
    },
    Live(Box<LiveSession>),
    /// It could not start or is over for good. Holds the reason.
    Lost(String),
}

pub(crate) enum SessionEvent {
    ClientServersReady,
    /// `None` when the session has closed.
    Notice(Option<Notice>),
}

impl SessionPhase {
    pub(crate) fn from_plan(plan: SessionPlan) -> Self {
        Self::Planned { plan: Box::new(plan), are_client_servers_connected: false }
    }

    pub(crate) fn live(&self) -> Option<&LiveSession> {
        match self {
            Self::Live(live) => Some(live),
            Self::Planned { .. } | Self::Opening { .. } | Self::Lost(_) => None,
        }
    }

    pub(crate) fn live_mut(&mut self) -> Option<&mut LiveSession> {
        match self {
            Self::Live(live) => Some(live),
            Self::Planned { .. } | Self::Opening { .. } | Self::Lost(_) => None,
        }
    }

    pub(crate) fn plan(&self) -> Option<&SessionPlan> {
        match self {
            Self::Planned { plan, .. } | Self::Opening { plan, .. } => Some(plan),
            Self::Live(_) | Self::Lost(_) => None,
        }
    }

    pub(crate) fn plan_mut(&mut self) -> Option<&mut SessionPlan> {
        match self {
            Self::Planned { plan, .. } | Self::Opening { plan, .. } => Some(plan),
            Self::Live(_) | Self::Lost(_) => None,
        }
    }

    pub(crate) fn is_opening(&self) -> bool {
        matches!(self, Self::Opening { .. })
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// The id of the session; empty once it is lost.
    pub(crate) fn session_id(&self) -> &str {
        match self {
            Self::Planned { plan, .. } | Self::Opening { plan, .. } => &plan.session_id,
            Self::Live(live) => &live.files.session_id,
            Self::Lost(_) => "",
        }
    }

    /// Takes the plan to start the session from it; the caller sets the next phase.
    pub(crate) fn take_plan(&mut self) -> Option<Box<SessionPlan>> {
        match self.replace_with_lost(SESSION_OVER.to_owned()) {
            Self::Planned { plan, .. } | Self::Opening { plan, .. } => Some(plan),
            phase @ (Self::Live(_) | Self::Lost(_)) => {
                *self = phase;
                None
            }
        }
    }

    /// Ends the phase permanently, and returns it.
    pub(crate) fn replace_with_lost(&mut self, why: String) -> Self {
        std::mem::replace(self, Self::Lost(why))
    }

    /// Waits for the next event; forever, if none can come. Notices are left in their queue while
    /// `has_room` is false.
    pub(crate) async fn next_event(&mut self, has_room: bool) -> SessionEvent {
        match self {
            Self::Opening { client_servers_ready, .. } => {
                // However the wait ends, there is nothing more to wait for.
                let _ = client_servers_ready.await;
                SessionEvent::ClientServersReady
            }
            Self::Live(live) if has_room => SessionEvent::Notice(live.next_notice().await),
            Self::Planned { .. } | Self::Live(_) | Self::Lost(_) => std::future::pending().await,
        }
    }
}

pub(crate) const SESSION_OVER: &str = "the session is over";
