//! The access token of one server run: 128 random bits, only in the fragment of the printed
//! address.

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};
use windlass_vocabulary::to_hex;

/// `Debug` hides the token, to keep it out of logs.
#[derive(Clone)]
pub(crate) struct AccessToken(String);

impl AccessToken {
    /// `None` if the system has no randomness: a guessable token would be useless.
    pub(crate) fn generate() -> Option<Self> {
        let mut bytes = [0_u8; 16];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(to_hex(&bytes)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time. The length is not secret.
    pub(crate) fn matches(&self, given: &str) -> bool {
        let own = self.0.as_bytes();
        let given = given.as_bytes();
        let different = own.iter().zip(given).fold(0_u8, |sum, (a, b)| sum | (a ^ b));
        own.len() == given.len() && std::hint::black_box(different) == 0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_matches() {
        let token = AccessToken::generate().unwrap();
        assert_eq!(token.as_str().len(), 32);
        assert!(token.matches(token.as_str()));
        for wrong in ["", &token.as_str()[..31], &format!("{}0", token.as_str()), &"0".repeat(32)] {
            assert!(!token.matches(wrong), "{wrong}");
        }
        assert!(!format!("{token:?}").contains(token.as_str()));
    }
}
