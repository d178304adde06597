//! Amounts of money in results, for programs.

use serde_json::Value;
use windlass_vocabulary::MicroUsd;

/// Dollars as a number. Every amount a person could spend is exact to the micro-dollar in it.
pub fn dollars_to_json(amount: MicroUsd) -> Value {
    let text = format!("{}.{:06}", amount.0 / 1_000_000, amount.0 % 1_000_000);
    text.parse::<f64>().map_or(Value::Null, Value::from)
}
