//! What is known of models: window, output, prices. Facts as a table; nothing is decided here.
//!
//! Prices are list prices in micro-dollars per million tokens, as published by the provider in
//! November 2026. Where a price depends on the length of the prompt, the dearer one stands here, so
//! that a money limit holds. A model that is not in the table gets cautious defaults and no price.

use windlass_vocabulary::{ModelFacts, ModelName, Prices, Tokens};

/// Asked when nothing else is said.
pub(crate) const DEFAULT_MODEL: &str = "claude-sonnet-5-5";

/// Short names for the newest of each family.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("fable", "claude-fable-5-1"),
    ("haiku", "claude-haiku-5-5"),
    ("opus", "claude-opus-5-5"),
    ("sonnet", "claude-sonnet-5-5"),
];

/// Name, window, most output, input price, output price.
const KNOWN: &[(&str, u64, u64, u64, u64)] = &[
    ("claude-fable-5-1", MILLION, 128_000, 10_000_000, 50_000_000),
    ("claude-opus-5-5", MILLION, 128_000, 4_000_000, 20_000_000),
    ("claude-opus-5", MILLION, 128_000, 5_000_000, 25_000_000),
    ("claude-opus-4-8", MILLION, 128_000, 5_000_000, 25_000_000),
    ("claude-sonnet-5-5", MILLION, 128_000, 2_000_000, 10_000_000),
    ("claude-sonnet-5", MILLION, 128_000, 2_000_000, 10_000_000),
    ("claude-sonnet-4-6", MILLION, 64_000, 3_000_000, 15_000_000),
    // A fifth of this up to 100,000 tokens of prompt.
    ("claude-haiku-5-5", MILLION, 128_000, 500_000, 2_500_000),
    ("claude-haiku-4-5", 200_000, 64_000, 1_000_000, 5_000_000),
];

const MILLION: u64 = 1_000_000;
/// Asked for when a model can give more.
const OUTPUT_DEFAULT: u64 = 32_000;

/// What is known of a model, under its full name.
pub(crate) fn facts(name: &str) -> ModelFacts {
    let name = full_name(name);
    let family = without_date(name);
    match KNOWN.iter().find(|(known, ..)| *known == family) {
        Some((_, window, output, input_price, output_price)) => ModelFacts {
            name: ModelName::from(name),
            window: Tokens(*window),
            output_default: Tokens(OUTPUT_DEFAULT.min(*output)),
            output_max: Tokens(*output),
            prices: prices(*input_price, *output_price),
        },
        None => ModelFacts {
            name: ModelName::from(name),
            window: Tokens(200_000),
            output_default: Tokens(8_000),
            output_max: Tokens(32_000),
            prices: Prices::default(),
        },
    }
}

/// Is the model in the table?
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, ..)| *known == without_date(name))
}

/// Has the model a price?
pub(crate) fn has_price(facts: &ModelFacts) -> bool {
    facts.prices != Prices::default()
}

/// Prices of input and output, with the cache at the usual shares of the input price: writing costs
/// a quarter more, reading a tenth.
pub(crate) fn prices(input: u64, output: u64) -> Prices {
    Prices {
        input,
        output,
        cache_write: input.saturating_add(input.div_ceil(4)),
        cache_read: input.div_ceil(10),
    }
}

fn full_name(name: &str) -> &str {
    SHORT_NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// A snapshot is named after its family and a date of eight digits.
fn without_date(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((family, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => {
            family
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_and_every_short_name_are_in_the_table() {
        assert!(is_known(DEFAULT_MODEL));
        for (short, full) in SHORT_NAMES {
            assert!(is_known(full), "{short}");
            assert_eq!(facts(short).name.as_str(), *full);
        }
    }

    #[test]
    fn a_snapshot_has_the_facts_of_its_family_and_its_own_name() {
        let facts = facts("claude-haiku-4-5-20251001");
        assert_eq!(facts.name.as_str(), "claude-haiku-4-5-20251001");
        assert_eq!(facts.window, Tokens(200_000));
        assert!(has_price(&facts));
    }

    #[test]
    fn every_entry_is_sound() {
        for (name, ..) in KNOWN {
            let facts = facts(name);
            assert!(facts.output_default <= facts.output_max, "{name}");
            assert!(facts.output_max.0 < facts.window.0, "{name}");
            assert!(facts.prices.input < facts.prices.output, "{name}");
            assert!(facts.prices.cache_read < facts.prices.input, "{name}");
        }
        assert!(!has_price(&facts("a-model-nobody-knows")));
    }
}
