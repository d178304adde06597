//! Which model lives where: one door for each endpoint, one HTTP client for each origin.
//!
//! A model without an endpoint of its own lives at the session's first one. What a door is told of
//! a credential stays with that door. Nothing is opened here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use windlass_dialect::{Dialect, Encoded, Law, Written, dialect};
use windlass_vocabulary::{ModelName, ModelRequest, Source};

use super::http::{Clients, Http};
use super::media::Darkroom;
use super::{Endpoint, Timeouts};
use crate::error::StartError;

/// Every door of a session.
pub(crate) struct Routes {
    first: Arc<Route>,
    others: RwLock<BTreeMap<ModelName, Arc<Route>>>,
    timeouts: Timeouts,
}

/// The way to one endpoint.
pub(crate) struct Route {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) http: Http,
    law: Option<Law>,
    /// What was written last, so that a message's bytes are made once.
    written: Mutex<Written>,
    /// Images as they were sent last.
    pub(crate) darkroom: Darkroom,
}

impl Routes {
    /// Checks every endpoint. For a model named twice the last one counts.
    pub(crate) fn new(
        first: &Endpoint,
        others: &[(ModelName, Endpoint)],
        timeouts: Timeouts,
    ) -> Result<Self, StartError> {
        let mut clients = Clients::default();
        let mut route = |endpoint| Route::new(endpoint, timeouts, &mut clients).map(Arc::new);
        let first = route(first)?;
        let others = others.iter().map(|(model, endpoint)| Ok((model.clone(), route(endpoint)?)));
        let others = RwLock::new(others.collect::<Result<_, StartError>>()?);
        Ok(Self { first, others, timeouts })
    }

    /// The way to this model.
    pub(crate) fn to(&self, model: &ModelName) -> Arc<Route> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(others.get(model).unwrap_or(&self.first))
    }

    /// From now on this model lives there.
    pub(crate) fn add(&self, model: ModelName, endpoint: &Endpoint) -> Result<(), StartError> {
        let route = Arc::new(Route::new(endpoint, self.timeouts, &mut Clients::default())?);
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others.insert(model, route);
        Ok(())
    }
}

impl Route {
    fn new(
        endpoint: &Endpoint,
        timeouts: Timeouts,
        clients: &mut Clients,
    ) -> Result<Self, StartError> {
        let dialect = dialect(endpoint.wire).ok_or(StartError::Wire(endpoint.wire))?;
        // Whose blocks may go back is read off the law's wire, so it must be the one that is spoken.
        let law = endpoint.law.clone().map(|law| Law { wire: endpoint.wire, ..law });
        let http = Http::new(endpoint, dialect, timeouts, clients)?;
        let (written, darkroom) = (Mutex::default(), Darkroom::default());
        Ok(Self { dialect, http, law, written, darkroom })
    }

    /// The request in the wire's own words. What a conversation said before is copied, not written
    /// again; requests beside it have no past.
    pub(crate) fn encode(&self, request: &ModelRequest) -> Encoded {
        if request.source != Source::Main {
            return self.dialect.encode(request, self.law());
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        self.dialect.encode_with(request, self.law(), &mut written)
    }

    /// What the server accepts.
    pub(crate) fn law(&self) -> &Law {
        self.law.as_ref().unwrap_or(self.dialect.law())
    }
}
