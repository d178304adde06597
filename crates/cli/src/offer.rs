//! Which tools the model is offered: a base set chosen by name, without those that a bare deny rule
//! hides.

use windlass_driver::Registry;
use windlass_permission::Rules;

use crate::nearest::nearest;
use crate::refusal::Refusal;
use crate::rules::listed;

/// The tools on offer. Without a wish, all that are built in.
pub(crate) fn registry(wish: &[String], rules: &Rules) -> Result<Registry, Refusal> {
    let mut registry = Registry::builtin();
    if !wish.is_empty() {
        let wanted = named(wish, &registry)?;
        registry.retain(|spec| wanted.iter().any(|name| name == spec.name.as_str()));
    }
    let hidden =
        |name: &str| rules.deny.iter().any(|rule| rule.content.is_none() && rule.tool == name);
    registry.retain(|spec| !hidden(spec.name.as_str()));
    Ok(registry)
}

/// The names wanted; `default` stands for all.
fn named(wish: &[String], registry: &Registry) -> Result<Vec<String>, Refusal> {
    let specs = registry.specs();
    let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let mut wanted = Vec::new();
    for name in wish.iter().flat_map(|value| listed(value)) {
        if name == "default" {
            wanted.extend(known.iter().map(|name| (*name).to_owned()));
        } else if known.contains(&name) {
            wanted.push(name.to_owned());
        } else {
            let advice = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            return Err(Refusal::usage(format!("--tools: there is no tool `{name}`; {advice}")));
        }
    }
    Ok(wanted)
}
