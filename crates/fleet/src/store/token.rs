//! Bearer tokens: random, stored as hashes, each with a tenant and a role.

use ring::digest::{SHA256, digest};
use windlass_vocabulary::to_hex;

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, StoreError};

/// The permissions of a token; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenRole {
    /// See sessions and follow them.
    Watch,
    /// Also start sessions, send messages and cancel.
    Submit,
    /// Also answer permission questions.
    Approve,
    /// Everything, for every tenant.
    Admin,
}

impl TokenRole {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Submit => "submit",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Watch, Self::Submit, Self::Approve, Self::Admin]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    pub name: String,
    pub tenant: String,
    pub role: TokenRole,
}

/// A token in a list, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub name: String,
    pub tenant: String,
    pub role: String,
    pub is_expired: bool,
}

impl FromRow<'_, PgRow> for TokenRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            name: row.try_get("name")?,
            tenant: row.try_get("tenant")?,
            role: row.try_get("role")?,
            is_expired: row.try_get("is_expired")?,
        })
    }
}

impl FleetStore {
    /// Creates a token and returns it; only its hash is stored.
    pub async fn add_token(
        &self,
        name: &str,
        tenant: &str,
        role: TokenRole,
        days: Option<u32>,
    ) -> Result<String, StoreError> {
        if self.read_tenant(tenant).await?.is_none() {
            return Err(StoreError::NoTenant(tenant.to_owned()));
        }
        let mut secret = [0; 32];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut secret)
            .map_err(|_| StoreError::Invalid("the system has no random bytes".to_owned()))?;
        let token = format!("wlf_{}", to_hex(&secret));
        sqlx::query(
            "insert into windlass.tokens (hash, name, tenant, role, expires) \
             values ($1, $2, $3, $4, now() + $5 * interval '1 day')",
        )
        .bind(hash_token(&token))
        .bind(name)
        .bind(tenant)
        .bind(role.name())
        .bind(days.map(i64::from))
        .execute(&self.pool)
        .await?;
        Ok(token)
    }

    /// The holder of a token; `None` if it is unknown or expired.
    pub async fn find_token(&self, token: &str) -> Result<Option<TokenHolder>, StoreError> {
        let row: Option<(String, String, String)> = sqlx::query_as(
            "select name, tenant, role from windlass.tokens where hash = $1 \
             and (expires is null or expires > now())",
        )
        .bind(hash_token(token))
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.and_then(|(name, tenant, role)| {
            Some(TokenHolder { name, tenant, role: TokenRole::from_name(&role)? })
        }))
    }

    pub async fn list_tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let rows = sqlx::query_as(
            "select name, tenant, role, coalesce(expires <= now(), false) as is_expired \
             from windlass.tokens order by tenant, name limit 10000",
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// Removes all tokens of this name. Returns their number.
    pub async fn remove_tokens(&self, name: &str) -> Result<u64, StoreError> {
        let done = sqlx::query("delete from windlass.tokens where name = $1")
            .bind(name)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }
}

/// A fast hash suffices, because a token is 32 random bytes and cannot be guessed.
fn hash_token(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}
