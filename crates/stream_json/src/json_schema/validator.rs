//! Does a value fit a schema that is known to be sound?

use fancy_regex::Regex;
use serde_json::{Map, Value};

use super::{DEPTH_MAX, compile_pattern, resolve_reference};

pub(super) struct SchemaValidator<'a> {
    root: &'a Value,
    depth: usize,
    /// What does not fit, with its place.
    pub(super) problems: Vec<String>,
}

impl<'a> SchemaValidator<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, depth: DEPTH_MAX, problems: Vec::new() }
    }

    pub(super) fn validate(&mut self, schema: &'a Value, value: &Value, place: &str) {
        if self.problems.len() >= PROBLEMS_MAX {
            return;
        }
        let Some(depth) = self.depth.checked_sub(1) else {
            self.report(place, "the schema nests too deep here");
            return;
        };
        let fields = match schema {
            Value::Bool(false) => return self.report(place, "nothing may be here"),
            Value::Object(fields) => fields,
            _ => return,
        };
        self.depth = depth;
        if let Some(target) =
            get_text(fields, "$ref").and_then(|reference| resolve_reference(self.root, reference))
        {
            self.validate(target, value, place);
        }
        self.check_value(fields, value, place);
        self.check_combinators(fields, value, place);
        match value {
            Value::Object(object) => self.check_object(fields, object, place),
            Value::Array(items) => self.check_array(fields, items, place),
            Value::String(words) => self.check_string(fields, words, place),
            Value::Number(_) => self.check_number(fields, value, place),
            _ => {}
        }
        self.depth += 1;
    }

    fn is_valid(&self, schema: &'a Value, value: &Value) -> bool {
        let mut other = Self { root: self.root, depth: self.depth, problems: Vec::new() };
        other.validate(schema, value, "");
        other.problems.is_empty()
    }

    fn report(&mut self, place: &str, what: impl std::fmt::Display) {
        if self.problems.len() < PROBLEMS_MAX {
            let place = if place.is_empty() { "the value" } else { place };
            self.problems.push(format!("{place}: {what}"));
        }
    }

    fn check_value(&mut self, schema: &'a Map<String, Value>, value: &Value, place: &str) {
        if let Some(types) = schema.get("type") {
            let names: Vec<&str> = match types {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                name => name.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_of_type(value, name)) {
                let names = names.join(" or ");
                self.report(place, format!("{} is not of type {names}", abbreviate(value)));
            }
        }
        if let Some(Value::Array(all)) = schema.get("enum")
            && !all.iter().any(|one| is_equal(one, value))
        {
            let all = Value::Array(all.clone());
            self.report(place, format!("{} is none of {}", abbreviate(value), abbreviate(&all)));
        }
        if let Some(one) = schema.get("const")
            && !is_equal(one, value)
        {
            self.report(place, format!("{} is not {}", abbreviate(value), abbreviate(one)));
        }
    }

    fn check_combinators(&mut self, schema: &'a Map<String, Value>, value: &Value, place: &str) {
        let fitting = |validator: &Self, key: &str| {
            let all = schema.get(key)?.as_array()?;
            Some(all.iter().filter(|one| validator.is_valid(one, value)).count())
        };
        for one in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.validate(one, value, place);
        }
        if fitting(self, "anyOf") == Some(0) {
            self.report(place, "it fits none of `anyOf`");
        }
        if let Some(count) = fitting(self, "oneOf").filter(|count| *count != 1) {
            self.report(place, format!("it fits {count} of `oneOf`, not one"));
        }
        if schema.get("not").is_some_and(|not| self.is_valid(not, value)) {
            self.report(place, "it fits what it must not");
        }
        if let Some(condition) = schema.get("if") {
            let key = if self.is_valid(condition, value) { "then" } else { "else" };
            if let Some(then) = schema.get(key) {
                self.validate(then, value, place);
            }
        }
    }

    fn check_object(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &Map<String, Value>,
        place: &str,
    ) {
        let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
        for name in list("required").filter_map(Value::as_str) {
            if !object.contains_key(name) {
                self.report(place, format!("`{name}` is missing"));
            }
        }
        self.check_count(schema, object.len(), place, ["minProperties", "maxProperties"]);
        let dependent = schema.get("dependentRequired").and_then(Value::as_object);
        for (name, needed) in dependent.into_iter().flatten() {
            let missing = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
            for needed in missing.filter(|needed| !object.contains_key(*needed)) {
                if object.contains_key(name) {
                    self.report(place, format!("with `{name}`, `{needed}` is needed"));
                }
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        let patterns: Vec<(Regex, &Value)> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(text, schema)| Some((compile_pattern(text).ok()?, schema)))
            .collect();
        let rest = schema.get("additionalProperties").or(schema.get("unevaluatedProperties"));
        for (name, value) in object {
            let place = format!("{place}/{name}");
            let mut is_known = false;
            if let Some(one) = known.and_then(|known| known.get(name)) {
                is_known = true;
                self.validate(one, value, &place);
            }
            for (_, one) in patterns.iter().filter(|(pattern, _)| is_match(pattern, name)) {
                is_known = true;
                self.validate(one, value, &place);
            }
            if let Some(rest) = rest.filter(|_| !is_known) {
                self.validate(rest, value, &place);
            }
            if let Some(names) = schema.get("propertyNames") {
                self.validate(names, &Value::from(name.as_str()), &place);
            }
        }
    }

    fn check_array(&mut self, schema: &'a Map<String, Value>, items: &[Value], place: &str) {
        self.check_count(schema, items.len(), place, ["minItems", "maxItems"]);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let rest = schema.get("items").or(schema.get("unevaluatedItems"));
        for (number, item) in items.iter().enumerate() {
            if let Some(one) = first.and_then(|first| first.get(number)).or(rest) {
                self.validate(one, item, &format!("{place}/{number}"));
            }
        }
        if let Some(one) = schema.get("contains") {
            let count = items.iter().filter(|item| self.is_valid(one, item)).count();
            let bound = |key: &str| {
                let bound = schema.get(key).and_then(Value::as_u64);
                bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
            };
            let most = bound("maxContains").unwrap_or(usize::MAX);
            if count < bound("minContains").unwrap_or(1) || count > most {
                self.report(place, format!("{count} items are as `contains` says"));
            }
        }
        let is_twice = |(number, item): (usize, &Value)| {
            items.iter().take(number).any(|earlier| is_equal(earlier, item))
        };
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && items.iter().take(UNIQUE_MAX).enumerate().any(is_twice)
        {
            self.report(place, "an item is there twice");
        }
    }

    fn check_string(&mut self, schema: &Map<String, Value>, words: &str, place: &str) {
        self.check_count(schema, words.chars().count(), place, ["minLength", "maxLength"]);
        if let Some(wanted) = get_text(schema, "pattern")
            && compile_pattern(wanted).is_ok_and(|pattern| !is_match(&pattern, words))
        {
            self.report(place, format!("it is not as the pattern {wanted} says"));
        }
    }

    fn check_number(&mut self, schema: &Map<String, Value>, value: &Value, place: &str) {
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
            let limit = schema.get(key).map(abbreviate).unwrap_or_default();
            self.report(place, format!("{} breaks `{key}` {limit}", abbreviate(value)));
        }
    }

    fn check_count(
        &mut self,
        schema: &Map<String, Value>,
        count: usize,
        place: &str,
        keys: [&str; 2],
    ) {
        let [least, most] = keys.map(|key| schema.get(key).and_then(Value::as_u64));
        let count = count as u64;
        if least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most) {
            let [least, most] = keys;
            self.report(place, format!("{count} is not within `{least}` and `{most}`"));
        }
    }
}

fn get_text<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

fn is_of_type(value: &Value, name: &str) -> bool {
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

/// Numbers are equal by value, not by notation.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|o| is_equal(one, o)))
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

fn abbreviate(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Problems that are reported.
const PROBLEMS_MAX: usize = 8;
const SHOWN_MAX: usize = 80;
/// Items that are compared with each other.
const UNIQUE_MAX: usize = 1_000;
