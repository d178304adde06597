//! Does a value fit a schema that is known to be sound?

use fancy_regex::Regex;
use serde_json::{Map, Value};

use super::{DEPTH_MAX, pattern, resolve};

/// A comparison under way.
pub(super) struct Fit<'a> {
    root: &'a Value,
    depth: usize,
    /// What does not fit, with its place.
    pub(super) wrong: Vec<String>,
}

impl<'a> Fit<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, depth: DEPTH_MAX, wrong: Vec::new() }
    }

    /// Compares a value with a schema.
    pub(super) fn value(&mut self, schema: &'a Value, value: &Value, place: &str) {
        if self.wrong.len() >= WRONG_MAX {
            return;
        }
        let Some(depth) = self.depth.checked_sub(1) else {
            self.fail(place, "the schema nests too deep here");
            return;
        };
        let fields = match schema {
            Value::Bool(false) => return self.fail(place, "nothing may be here"),
            Value::Object(fields) => fields,
            _ => return,
        };
        self.depth = depth;
        if let Some(target) =
            text(fields, "$ref").and_then(|reference| resolve(self.root, reference))
        {
            self.value(target, value, place);
        }
        self.itself(fields, value, place);
        self.combined(fields, value, place);
        match value {
            Value::Object(object) => self.object(fields, object, place),
            Value::Array(items) => self.array(fields, items, place),
            Value::String(words) => self.string(fields, words, place),
            Value::Number(_) => self.number(fields, value, place),
            _ => {}
        }
        self.depth += 1;
    }

    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let mut other = Self { root: self.root, depth: self.depth, wrong: Vec::new() };
        other.value(schema, value, "");
        other.wrong.is_empty()
    }

    fn fail(&mut self, place: &str, what: impl std::fmt::Display) {
        if self.wrong.len() < WRONG_MAX {
            let place = if place.is_empty() { "the value" } else { place };
            self.wrong.push(format!("{place}: {what}"));
        }
    }

    fn itself(&mut self, schema: &'a Map<String, Value>, value: &Value, place: &str) {
        if let Some(types) = schema.get("type") {
            let names: Vec<&str> = match types {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                name => name.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_of(value, name)) {
                let names = names.join(" or ");
                self.fail(place, format!("{} is not of type {names}", shown(value)));
            }
        }
        if let Some(Value::Array(all)) = schema.get("enum")
            && !all.iter().any(|one| same(one, value))
        {
            let all = Value::Array(all.clone());
            self.fail(place, format!("{} is none of {}", shown(value), shown(&all)));
        }
        if let Some(one) = schema.get("const")
            && !same(one, value)
        {
            self.fail(place, format!("{} is not {}", shown(value), shown(one)));
        }
    }

    fn combined(&mut self, schema: &'a Map<String, Value>, value: &Value, place: &str) {
        let fitting = |fit: &Self, key: &str| {
            let all = schema.get(key)?.as_array()?;
            Some(all.iter().filter(|one| fit.fits(one, value)).count())
        };
        for one in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(one, value, place);
        }
        if fitting(self, "anyOf") == Some(0) {
            self.fail(place, "it fits none of `anyOf`");
        }
        if let Some(count) = fitting(self, "oneOf").filter(|count| *count != 1) {
            self.fail(place, format!("it fits {count} of `oneOf`, not one"));
        }
        if schema.get("not").is_some_and(|not| self.fits(not, value)) {
            self.fail(place, "it fits what it must not");
        }
        if let Some(condition) = schema.get("if") {
            let key = if self.fits(condition, value) { "then" } else { "else" };
            if let Some(then) = schema.get(key) {
                self.value(then, value, place);
            }
        }
    }

    fn object(&mut self, schema: &'a Map<String, Value>, object: &Map<String, Value>, place: &str) {
        let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
        for name in list("required").filter_map(Value::as_str) {
            if !object.contains_key(name) {
                self.fail(place, format!("`{name}` is missing"));
            }
        }
        self.count(schema, object.len(), place, ["minProperties", "maxProperties"]);
        let dependent = schema.get("dependentRequired").and_then(Value::as_object);
        for (name, needed) in dependent.into_iter().flatten() {
            let missing = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
            for needed in missing.filter(|needed| !object.contains_key(*needed)) {
                if object.contains_key(name) {
                    self.fail(place, format!("with `{name}`, `{needed}` is needed"));
                }
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        let patterns: Vec<(Regex, &Value)> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(text, schema)| Some((pattern(text).ok()?, schema)))
            .collect();
        let rest = schema.get("additionalProperties").or(schema.get("unevaluatedProperties"));
        for (name, value) in object {
            let place = format!("{place}/{name}");
            let mut is_known = false;
            if let Some(one) = known.and_then(|known| known.get(name)) {
                is_known = true;
                self.value(one, value, &place);
            }
            for (_, one) in patterns.iter().filter(|(pattern, _)| is_match(pattern, name)) {
                is_known = true;
                self.value(one, value, &place);
            }
            if let Some(rest) = rest.filter(|_| !is_known) {
                self.value(rest, value, &place);
            }
            if let Some(names) = schema.get("propertyNames") {
                self.value(names, &Value::from(name.as_str()), &place);
            }
        }
    }

    fn array(&mut self, schema: &'a Map<String, Value>, items: &[Value], place: &str) {
        self.count(schema, items.len(), place, ["minItems", "maxItems"]);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let rest = schema.get("items").or(schema.get("unevaluatedItems"));
        for (number, item) in items.iter().enumerate() {
            if let Some(one) = first.and_then(|first| first.get(number)).or(rest) {
                self.value(one, item, &format!("{place}/{number}"));
            }
        }
        if let Some(one) = schema.get("contains") {
            let found = items.iter().filter(|item| self.fits(one, item)).count();
            let bound = |key: &str| {
                let bound = schema.get(key).and_then(Value::as_u64);
                bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
            };
            let most = bound("maxContains").unwrap_or(usize::MAX);
            if found < bound("minContains").unwrap_or(1) || found > most {
                self.fail(place, format!("{found} items are as `contains` says"));
            }
        }
        let is_twice = |(number, item): (usize, &Value)| {
            items.iter().take(number).any(|earlier| same(earlier, item))
        };
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && items.iter().take(UNIQUE_MAX).enumerate().any(is_twice)
        {
            self.fail(place, "an item is there twice");
        }
    }

    fn string(&mut self, schema: &Map<String, Value>, words: &str, place: &str) {
        self.count(schema, words.chars().count(), place, ["minLength", "maxLength"]);
        if let Some(wanted) = text(schema, "pattern")
            && pattern(wanted).is_ok_and(|pattern| !is_match(&pattern, words))
        {
            self.fail(place, format!("it is not as the pattern {wanted} says"));
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, value: &Value, place: &str) {
        let Some(number) = value.as_f64() else { return };
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let broken = [
            ("minimum", bound("minimum").is_some_and(|least| number < least)),
            ("maximum", bound("maximum").is_some_and(|most| number > most)),
            ("exclusiveMinimum", bound("exclusiveMinimum").is_some_and(|least| number <= least)),
            ("exclusiveMaximum", bound("exclusiveMaximum").is_some_and(|most| number >= most)),
            ("multipleOf", bound("multipleOf").is_some_and(|part| !is_multiple(number, part))),
        ];
        for (key, _) in broken.into_iter().filter(|(_, is_broken)| *is_broken) {
            let limit = schema.get(key).map(shown).unwrap_or_default();
            self.fail(place, format!("{} breaks `{key}` {limit}", shown(value)));
        }
    }

    fn count(&mut self, schema: &Map<String, Value>, count: usize, place: &str, keys: [&str; 2]) {
        let [least, most] = keys.map(|key| schema.get(key).and_then(Value::as_u64));
        let count = count as u64;
        if least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most) {
            let [least, most] = keys;
            self.fail(place, format!("{count} is not within `{least}` and `{most}`"));
        }
    }
}

fn text<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            let whole = |number: f64| number.fract() == 0.0;
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(whole)
        }
        _ => false,
    }
}

/// Numbers are the same by what they are worth, not by how they are written.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|o| same(one, o)))
        }
        _ => one == other,
    }
}

/// A pattern that takes too long to compare is one that does not match.
fn is_match(pattern: &Regex, text: &str) -> bool {
    pattern.is_match(text).unwrap_or(false)
}

fn is_multiple(number: f64, part: f64) -> bool {
    let times = number / part;
    part != 0.0 && (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
}

/// A value in few characters.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Misfits that are named.
const WRONG_MAX: usize = 8;
const SHOWN_MAX: usize = 80;
/// Items that are compared with each other.
const UNIQUE_MAX: usize = 1_000;
