//! What the process has used and spent so far, by model.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::ModelSpending;
use windlass_vocabulary::{MicroUsd, ModelFacts, ModelName, Notice, Usage};

use crate::frame::FrameModelUsage;
use windlass_host::display::dollars_json::dollars_to_json;

#[derive(Debug, Default)]
pub(crate) struct UsageTotals {
    /// What sessions before this one cost.
    earlier_sessions_cost: MicroUsd,
    /// What this session has cost in all …
    total: MicroUsd,
    /// … of which other processes spent this much.
    inherited: Option<MicroUsd>,
    /// What models were used in sessions before this one.
    earlier_usage: BTreeMap<ModelName, (Usage, MicroUsd)>,
    /// What models were used in this session.
    spending: ModelSpending,
    facts: BTreeMap<String, (u64, u64)>,
}

impl UsageTotals {
    pub(crate) fn add_model_facts(&mut self, facts: &ModelFacts) {
        let name = facts.name.as_str().to_owned();
        self.facts.insert(name, (facts.window.0, facts.output_max.0));
    }

    pub(crate) fn start_next_session(&mut self) {
        self.earlier_sessions_cost = self.total_spent();
        self.total = MicroUsd(0);
        self.inherited = None;
        self.earlier_usage = self.add_up_usage();
        self.spending = ModelSpending::default();
    }

    pub(crate) fn follow_session(&mut self, spending: ModelSpending) {
        self.spending = spending;
    }

    pub(crate) fn on_notice(&mut self, notice: &Notice) {
        if let Notice::Billed { cost, total, .. } = notice {
            self.inherited.get_or_insert(total.less(*cost));
            self.total = *total;
        } else if let Notice::RunEnded(ending) = notice
            && self.inherited.is_some()
        {
            self.total = ending.cost;
        }
    }

    pub(crate) fn total_cost_to_json(&self) -> Value {
        dollars_to_json(self.total_spent())
    }

    pub(crate) fn usage_by_model(&self) -> BTreeMap<String, FrameModelUsage> {
        let one = |(model, (used, spent)): (ModelName, (Usage, MicroUsd))| {
            let model = model.as_str().to_owned();
            let (window, output) = self.facts.get(&model).copied().unwrap_or_default();
            let used = FrameModelUsage {
                input_tokens: used.input.0,
                output_tokens: used.output.0,
                cache_read_input_tokens: used.cache_read.0,
                cache_creation_input_tokens: used.cache_write.0,
                web_search_requests: 0,
                cost_usd: dollars_to_json(spent).as_f64().unwrap_or_default(),
                context_window: window,
                max_output_tokens: output,
            };
            (model, used)
        };
        self.add_up_usage().into_iter().map(one).collect()
    }

    fn add_up_usage(&self) -> BTreeMap<ModelName, (Usage, MicroUsd)> {
        let mut sum = self.earlier_usage.clone();
        for (model, (usage, cost)) in self.spending.read() {
            let (used, spent) = sum.entry(model).or_default();
            *used += usage;
            *spent = *spent + cost;
        }
        sum
    }

    fn total_spent(&self) -> MicroUsd {
        self.earlier_sessions_cost + self.total.less(self.inherited.unwrap_or_default())
    }
}
