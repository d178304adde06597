//! "Don't ask again": a rule is added to the settings of this machine for the project, and the user's
//! trust in the project covers it, if it covered the rest.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_permission::layer::Source;

use crate::digest;
use crate::load::load;
use crate::place::Request;
use crate::trust::{ALLOW, Trust, TrustState, TrustStore, Withheld};
use crate::write::{RuleList, WriteError, append_rules};

/// Adds allow rules to the project's local settings. Gives the file back.
///
/// # Errors
/// The file could not be changed, or trust could not be written down.
pub fn remember(request: &Request, rules: &[String]) -> Result<PathBuf, WriteError> {
    let before = load(request).trust;
    let path = before.root.join(".claude/settings.local.json");
    let copy = request.places.state.as_ref().map(|state| {
        let name = digest::of(path.as_os_str().as_encoded_bytes());
        state.join("backup").join(format!("{name}.json"))
    });
    append_rules(&path, RuleList::Allow, rules, copy.as_deref())?;
    let was_fine = matches!(before.state, TrustState::Needless | TrustState::Given);
    if let (true, Some(state)) = (was_fine, &request.places.state) {
        let after = load(request).trust;
        // Whatever else came in meanwhile was not consented to.
        if items_with(&before, &path.display().to_string(), rules) == sorted(&after.items) {
            TrustStore::new(state).accept(&after)?;
        }
    }
    Ok(path)
}

/// What needs trust when these rules are added.
fn items_with(before: &Trust, name: &str, rules: &[String]) -> Vec<String> {
    let mut items = before.items.clone();
    let is_list = |item: &&mut Withheld| item.name == name && item.key == ALLOW;
    let list = match items.iter_mut().find(is_list) {
        Some(item) => &mut item.value,
        None => {
            let (source, value) = (Source::Local, json!([]));
            items.push(Withheld { source, name: name.to_owned(), key: ALLOW.to_owned(), value });
            let Some(item) = items.last_mut() else { return Vec::new() };
            &mut item.value
        }
    };
    if let Value::Array(list) = list {
        for rule in rules {
            if !list.iter().any(|known| known == rule) {
                list.push(Value::from(rule.as_str()));
            }
        }
    }
    sorted(&items)
}

fn sorted(items: &[Withheld]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}
