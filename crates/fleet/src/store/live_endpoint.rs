//! Where a worker serves live text to gateways.

use super::{FleetStore, StoreError, to_i64};

#[derive(Clone, PartialEq, Eq)]
pub struct LiveEndpoint {
    /// Host and port.
    pub address: String,
    /// What a request must have.
    pub key: String,
    /// The certificate of this worker, as PEM.
    pub certificate: String,
}

impl std::fmt::Debug for LiveEndpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("LiveEndpoint").field(&self.address).finish()
    }
}

impl FleetStore {
    pub async fn put_live_endpoint(
        &self,
        worker: &str,
        endpoint: &LiveEndpoint,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "update windlass.workers set live_address = $2, live_key = $3, live_certificate = $4 \
             where id = $1",
        )
        .bind(worker)
        .bind(&endpoint.address)
        .bind(&endpoint.key)
        .bind(&endpoint.certificate)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The endpoint of the worker that has the session under this claim.
    pub async fn read_live_endpoint(
        &self,
        session: &str,
        epoch: u64,
    ) -> Result<Option<LiveEndpoint>, StoreError> {
        let row: Option<(String, String, String)> = sqlx::query_as(
            "select w.live_address, w.live_key, w.live_certificate \
             from windlass.sessions s join windlass.workers w on w.id = s.worker \
             where s.id = $1 and s.epoch = $2 and s.state = 'running' \
             and w.live_address is not null",
        )
        .bind(session)
        .bind(to_i64(epoch))
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|(address, key, certificate)| LiveEndpoint { address, key, certificate }))
    }

    /// The address that the database sees this process at; `None` for a local socket.
    pub async fn read_client_address(&self) -> Result<Option<String>, StoreError> {
        let address = sqlx::query_scalar("select host(inet_client_addr())");
        Ok(address.fetch_one(&self.pool).await?)
    }
}
