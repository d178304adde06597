//! Maps models to endpoints: one route per endpoint, one HTTP client per origin.
//!
//! A model without an endpoint of its own uses the session's first one. A credential is used only
//! for its own endpoint. No connection is opened here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use windlass_dialect::{Dialect, EncodedRequest, EncodedRequestCache, ProviderRules, dialect};
use windlass_vocabulary::{ModelName, ModelRequest, RequestSource};

use super::http_endpoint::{HttpClientPool, HttpEndpoint};
use super::image_fitter::ImageFitter;
use super::{Endpoint, ModelTimeouts};
use crate::error::SessionStartError;

pub(crate) struct ModelRoutes {
    default_route: Arc<EndpointRoute>,
    by_model: RwLock<BTreeMap<ModelName, Arc<EndpointRoute>>>,
    timeouts: ModelTimeouts,
}

pub(crate) struct EndpointRoute {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) http: HttpEndpoint,
    provider_rules: Option<ProviderRules>,
    /// Reuses what was encoded for the last request, so that each message is serialized once.
    encode_cache: Mutex<EncodedRequestCache>,
    pub(crate) image_fitter: ImageFitter,
}

impl ModelRoutes {
    /// Checks every endpoint. Of several for the same model, the last one is used.
    pub(crate) fn new(
        first: &Endpoint,
        others: &[(ModelName, Endpoint)],
        timeouts: ModelTimeouts,
    ) -> Result<Self, SessionStartError> {
        let mut clients = HttpClientPool::default();
        let mut route =
            |endpoint| EndpointRoute::new(endpoint, timeouts, &mut clients).map(Arc::new);
        let first = route(first)?;
        let others = others.iter().map(|(model, endpoint)| Ok((model.clone(), route(endpoint)?)));
        let others = RwLock::new(others.collect::<Result<_, SessionStartError>>()?);
        Ok(Self { default_route: first, by_model: others, timeouts })
    }

    pub(crate) fn route_for(&self, model: &ModelName) -> Arc<EndpointRoute> {
        let others = self.by_model.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(others.get(model).unwrap_or(&self.default_route))
    }

    pub(crate) fn add(
        &self,
        model: ModelName,
        endpoint: &Endpoint,
    ) -> Result<(), SessionStartError> {
        let route =
            Arc::new(EndpointRoute::new(endpoint, self.timeouts, &mut HttpClientPool::default())?);
        let mut others = self.by_model.write().unwrap_or_else(PoisonError::into_inner);
        others.insert(model, route);
        Ok(())
    }
}

impl EndpointRoute {
    fn new(
        endpoint: &Endpoint,
        timeouts: ModelTimeouts,
        clients: &mut HttpClientPool,
    ) -> Result<Self, SessionStartError> {
        let dialect = dialect(endpoint.wire).ok_or(SessionStartError::Wire(endpoint.wire))?;
        // The provider rules' wire decides whose signed blocks may be sent back, so it must be the
        // one in use.
        let provider_rules = endpoint.provider_rules.clone();
        let provider_rules =
            provider_rules.map(|rules| ProviderRules { wire: endpoint.wire, ..rules });
        let http = HttpEndpoint::new(endpoint, dialect, timeouts, clients)?;
        Ok(Self {
            dialect,
            http,
            provider_rules,
            encode_cache: Mutex::default(),
            image_fitter: ImageFitter::default(),
        })
    }

    /// Encodes the request for its wire. Earlier messages of a conversation are copied from the
    /// cache; requests outside of the conversation have none.
    pub(crate) fn encode(&self, request: &ModelRequest) -> EncodedRequest {
        if request.source != RequestSource::Main {
            return self.dialect.encode(request, self.provider_rules());
        }
        let mut encode_cache = self.encode_cache.lock().unwrap_or_else(PoisonError::into_inner);
        self.dialect.encode_cached(request, self.provider_rules(), &mut encode_cache)
    }

    pub(crate) fn provider_rules(&self) -> &ProviderRules {
        self.provider_rules.as_ref().unwrap_or(self.dialect.rules())
    }
}
