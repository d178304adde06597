//! Finds keys in text and takes them out: known values, and everything that looks like a key.
//!
//! Recordings and exported sessions both use it, so that what one finds the other finds, too. Texts
//! to share are searched more widely: with escapes resolved, in base64, and for values whose
//! names say that they are secret. Secrets in other encodings, and those without a recognizable form
//! or name, are not found.

mod assigned_secret;
mod encoded_secret;
mod secret_finder;
mod secret_pattern;
mod text_redactor;
mod visible_text;

pub use assigned_secret::{is_secret_name, is_secret_value};
pub use secret_finder::{SecretFinder, SecretKind, SecretLiteral, SecretMatch};
pub use text_redactor::{RedactedKind, TextRedactor};
