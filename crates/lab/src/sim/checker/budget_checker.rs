//! With honest bills, what is spent and what is set aside together never exceed the limit; and while
//! a request is out, at least the price of its longest answer is set aside.

use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{MicroUsd, ModelName, Tokens, Usage};

use super::StepView;

pub(super) fn check(view: &StepView<'_>) -> Result<(), String> {
    let ledger = &view.state.ledger;
    let Some(limit) = view.settings.budget.budget_max else {
        return Ok(());
    };
    if ledger.committed() > limit {
        let spent = ledger.spent();
        let reserved = ledger.reserved();
        return Err(format!("{spent} spent and {reserved} set aside exceed {limit}"));
    }
    // What the step still has out. A request that it also dropped is not among them.
    let last = view.effects.iter().rev().find_map(|effect| {
        let Effect::CallModel(request) = effect else { return None };
        Some(request)
    });
    if let Some(request) = last {
        let price = longest_answer_price(view.settings, &request.model, request.output_max);
        if ledger.reserved() < price {
            let reserved = ledger.reserved();
            return Err(format!("{reserved} set aside for an answer of up to {price}"));
        }
    }
    Ok(())
}

fn longest_answer_price(settings: &Settings, name: &ModelName, output: Tokens) -> MicroUsd {
    let models = std::iter::once(&settings.model).chain(&settings.fallbacks);
    let model = models.into_iter().find(|model| model.name == *name);
    let usage = Usage { output, ..Usage::default() };
    model.map_or(MicroUsd(0), |model| model.prices.cost(&usage))
}
