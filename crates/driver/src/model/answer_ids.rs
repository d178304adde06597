//! The id of an answer in transcripts and frames: the provider's own, if it is usable.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;
use windlass_vocabulary::AnswerIds;

/// Some gateways give every answer the same id. Readers of transcripts join answers with the same
/// id, so a repeated one is replaced.
#[derive(Debug, Default)]
pub(crate) struct AnswerIdSource {
    used: Mutex<HashSet<String>>,
}

impl AnswerIdSource {
    pub(crate) fn identify(&self, message: Option<&str>, request: Option<&str>) -> AnswerIds {
        AnswerIds {
            message: self.choose(message, "msg_").into(),
            request: self.choose(request, "req_").into(),
        }
    }

    fn choose(&self, given: Option<&str>, prefix: &str) -> String {
        let is_plain = |id: &&str| {
            (1..=ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let own = || format!("{prefix}{}", Uuid::new_v4().simple());
        let Some(id) = given.filter(is_plain) else { return own() };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= IDS_MAX {
            used.clear();
        }
        if used.insert(id.to_owned()) { id.to_owned() } else { own() }
    }
}

const ID_BYTES_MAX: usize = 200;
/// Limit on remembered ids; an id that is repeated later than that is not detected.
const IDS_MAX: usize = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_an_odd_one_never() {
        let source = AnswerIdSource::default();
        let first = source.identify(Some("msg_1"), Some("req_1"));
        assert_eq!((&*first.message, &*first.request), ("msg_1", "req_1"));
        let second = source.identify(Some("msg_1"), None);
        assert!(second.message.starts_with("msg_") && second.message != first.message);
        assert!(second.request.starts_with("req_"));
        let odd = source.identify(Some("a\"b\n"), Some(""));
        assert!(!odd.message.contains('"'));
    }
}
