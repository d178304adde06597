//! Tokens and money, both integers.

use core::fmt;
use core::ops::{Add, AddAssign};
use serde::{Deserialize, Serialize};

/// A number of tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

/// A millionth of a dollar. Never a float.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

/// What a provider says a request used. The four parts never overlap: dialects subtract cached
/// tokens from providers that count them twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input.
    pub input: Tokens,
    /// Output, reasoning included.
    pub output: Tokens,
    /// Input written to the cache.
    pub cache_write: Tokens,
    /// Input read from the cache.
    pub cache_read: Tokens,
}

impl Usage {
    /// Everything that went in.
    #[must_use]
    pub fn input_total(&self) -> Tokens {
        self.input + self.cache_write + self.cache_read
    }

    /// Field by field the larger one; cumulative reports overwrite each other this way.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_write: self.cache_write.max(other.cache_write),
            cache_read: self.cache_read.max(other.cache_read),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input + other.input;
        self.output = self.output + other.output;
        self.cache_write = self.cache_write + other.cache_write;
        self.cache_read = self.cache_read + other.cache_read;
    }
}

macro_rules! saturating {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl $name {
            /// The difference, or zero.
            #[must_use]
            pub fn less(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
    };
}

saturating!(Tokens);
saturating!(MicroUsd);

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
