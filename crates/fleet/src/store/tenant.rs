//! Tenants: groups of sessions that share a budget, a limit and a policy.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, StoreError, to_i64};
use crate::tenant_policy::TenantPolicy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRow {
    pub id: String,
    pub money: TenantMoney,
    pub running_max: i32,
    pub policy: TenantPolicy,
}

/// In millionths of a dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantMoney {
    pub budget_micro: Option<i64>,
    pub spent_micro: i64,
    pub reserved_micro: i64,
}

impl FromRow<'_, PgRow> for TenantRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            money: TenantMoney {
                budget_micro: row.try_get("budget_micro")?,
                spent_micro: row.try_get("spent_micro")?,
                reserved_micro: row.try_get("reserved_micro")?,
            },
            running_max: row.try_get("running_max")?,
            policy: TenantPolicy {
                is_trusted: row.try_get("is_trusted")?,
                repositories: row.try_get("repositories")?,
                push_prefix: row.try_get("push_prefix")?,
            },
        })
    }
}

/// Fields to change; absent ones keep their value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantChange {
    pub budget_micro: Option<u64>,
    pub running_max: Option<u32>,
    pub is_trusted: Option<bool>,
    pub repositories: Option<Vec<String>>,
    /// Empty for none.
    pub push_prefix: Option<String>,
}

impl FleetStore {
    /// Adds or changes a tenant.
    pub async fn put_tenant(
        &self,
        id: &str,
        change: &TenantChange,
    ) -> Result<TenantRow, StoreError> {
        let row = sqlx::query_as(
            "insert into windlass.tenants \
             (id, budget_micro, running_max, is_trusted, repositories, push_prefix) values \
             ($1, $2, coalesce($3, 100), coalesce($4, false), coalesce($5, '{}'), nullif($6, '')) \
             on conflict (id) do update set \
             budget_micro = coalesce($2, tenants.budget_micro), \
             running_max = coalesce($3, tenants.running_max), \
             is_trusted = coalesce($4, tenants.is_trusted), \
             repositories = coalesce($5, tenants.repositories), \
             push_prefix = nullif(coalesce($6, tenants.push_prefix), '') returning *",
        )
        .bind(id)
        .bind(change.budget_micro.map(to_i64))
        .bind(change.running_max.map(|most| i32::try_from(most).unwrap_or(i32::MAX)))
        .bind(change.is_trusted)
        .bind(&change.repositories)
        .bind(&change.push_prefix);
        Ok(row.fetch_one(&self.pool).await?)
    }

    pub async fn read_tenant(&self, id: &str) -> Result<Option<TenantRow>, StoreError> {
        let row = sqlx::query_as("select * from windlass.tenants where id = $1").bind(id);
        Ok(row.fetch_optional(&self.pool).await?)
    }
}
