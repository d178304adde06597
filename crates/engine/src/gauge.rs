//! From raw estimates to tokens: anchored on the provider's last count, calibrated by every count.
//!
//! A raw estimate need only be proportional. What was counted is taken as counted; what is new is
//! scaled by the rate at which the provider counted what was new before, because prose, code and
//! logs differ, and a session keeps to its kind.

use windlass_vocabulary::Tokens;

/// What the provider counted, beside our raw estimate of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gauge {
    /// The last request.
    anchor: Count,
    /// What was new in recent requests, together.
    news: Count,
}

/// The same input, counted in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    raw: u64,
    billed: u64,
}

/// A provider that reports nonsense must not be able to switch compaction off: no more than this
/// factor between its count and ours is believed.
const FACTOR_MAX: u64 = 4;
/// Raw size of the news that are remembered; older ones fade.
const NEWS_MAX: u64 = 20_000;
/// Less than this says nothing about a rate: rounding and framing outweigh it.
const NEWS_MIN: u64 = 20;

impl Gauge {
    pub(crate) fn new(raw: u64, billed: u64) -> Self {
        let anchor = Count { raw, billed }.within_reason();
        Self { anchor, news: anchor.faded(NEWS_MAX / 4) }
    }

    /// Another request was counted.
    pub(crate) fn next(self, raw: u64, billed: u64) -> Self {
        let anchor = Count { raw, billed }.within_reason();
        let new = Count {
            raw: anchor.raw.saturating_sub(self.anchor.raw),
            billed: anchor.billed.saturating_sub(self.anchor.billed),
        };
        let news = match new.raw {
            0..NEWS_MIN => self.news,
            _ => self.news.plus(new.within_reason()).faded(NEWS_MAX),
        };
        Self { anchor, news }
    }

    /// Another request was counted, but not all of it: nothing is learned about what is new.
    pub(crate) fn moved(self, raw: u64, billed: u64) -> Self {
        Self { anchor: Count { raw, billed }.within_reason(), ..self }
    }

    pub(crate) fn estimate(&self, raw: u64) -> Tokens {
        Tokens(match raw.checked_sub(self.anchor.raw) {
            Some(new) => self.anchor.billed.saturating_add(self.news.scaled(new)),
            // Something was left out since; what it was is not known here.
            None => self.anchor.scaled(raw),
        })
    }
}

impl Count {
    fn within_reason(self) -> Self {
        let low = self.raw / FACTOR_MAX;
        let high = self.raw.saturating_mul(FACTOR_MAX);
        Self { billed: self.billed.clamp(low, high), ..self }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            raw: self.raw.saturating_add(other.raw),
            billed: self.billed.saturating_add(other.billed),
        }
    }

    /// The same rate, with no more weight than this.
    fn faded(self, raw_max: u64) -> Self {
        match self.raw > raw_max {
            true => Self { raw: raw_max, billed: self.scaled(raw_max) },
            false => self,
        }
    }

    /// So much at this rate.
    fn scaled(self, raw: u64) -> u64 {
        let scaled = u128::from(raw) * u128::from(self.billed);
        let scaled = scaled.checked_div(u128::from(self.raw)).unwrap_or(u128::from(raw));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}
