//! With honest bills, what is spent and what is set aside together never exceed the limit.

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let ledger = &view.state.ledger;
    match view.settings.budget_max {
        Some(limit) if ledger.committed() > limit => Err(format!(
            "{} spent and {} set aside exceed {limit}",
            ledger.spent(),
            ledger.reserved()
        )),
        _ => Ok(()),
    }
}
