//! A form requested by a server: its fields, and how the user's text becomes values. Pure.
//!
//! Forms are flat: text, numbers, booleans, one or several of a list. A field of another type is
//! prompted for as text and sent as typed. Invalid input is rejected with the field's name, so that
//! a server never receives a value its schema does not allow.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Limits the fields of one form.
const FIELDS_MAX: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationForm {
    /// Required fields first, then by name.
    pub fields: Vec<ElicitationField>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationField {
    /// Its key in the answer.
    pub name: String,
    /// Shown to the user.
    pub title: String,
    pub description: String,
    pub kind: ElicitationFieldKind,
    pub is_required: bool,
    /// Used if the user enters nothing.
    pub default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElicitationFieldKind {
    Text,
    Number {
        is_whole: bool,
    },
    Bool,
    /// The choices, each as a value and its label.
    OneOf(Vec<(String, String)>),
    AnyOf(Vec<(String, String)>),
}

impl ElicitationForm {
    #[must_use]
    pub fn from_schema(schema: &Value) -> Self {
        let required = schema.get("required").and_then(Value::as_array).cloned();
        let required = required.unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields: Vec<ElicitationField> = properties
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                ElicitationField::from_property(
                    name,
                    property,
                    required.contains(&name.as_str().into()),
                )
            })
            .collect();
        fields.sort_by_key(|field| !field.is_required);
        fields.truncate(FIELDS_MAX);
        Self { fields }
    }

    /// Converts the user's input, keyed by field name, to the value for the server. A missing field
    /// gets its default or is omitted.
    ///
    /// # Errors
    ///
    /// The field that is invalid, and why.
    pub fn fill(&self, words: &BTreeMap<String, String>) -> Result<Value, String> {
        let mut content = Map::new();
        for field in &self.fields {
            let answer = words
                .get(&field.name)
                .map(|answer| answer.trim())
                .filter(|answer| !answer.is_empty());
            let value = match answer {
                Some(answer) => Some(field.parse_answer(answer)?),
                None => field.default.clone(),
            };
            match value {
                Some(value) => drop(content.insert(field.name.clone(), value)),
                None if field.is_required => return Err(format!("`{}` must be given", field.name)),
                None => {}
            }
        }
        Ok(Value::Object(content))
    }
}

impl ElicitationField {
    fn from_property(name: &str, property: &Value, is_required: bool) -> Self {
        let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = match text("type").as_deref() {
            Some("boolean") => ElicitationFieldKind::Bool,
            Some("integer") => ElicitationFieldKind::Number { is_whole: true },
            Some("number") => ElicitationFieldKind::Number { is_whole: false },
            Some("array") => property
                .get("items")
                .and_then(parse_choices)
                .map_or(ElicitationFieldKind::Text, ElicitationFieldKind::AnyOf),
            _ => parse_choices(property)
                .map_or(ElicitationFieldKind::Text, ElicitationFieldKind::OneOf),
        };
        Self {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description").unwrap_or_default(),
            kind,
            is_required,
            default: property.get("default").cloned(),
        }
    }

    fn parse_answer(&self, answer: &str) -> Result<Value, String> {
        let wrong = |what: &str| format!("`{}` must be {what}, not `{answer}`", self.name);
        match &self.kind {
            ElicitationFieldKind::Text => Ok(Value::from(answer)),
            ElicitationFieldKind::Bool => match answer.to_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(Value::Bool(true)),
                "no" | "n" | "false" => Ok(Value::Bool(false)),
                _ => Err(wrong("yes or no")),
            },
            ElicitationFieldKind::Number { is_whole: true } => {
                answer.parse::<i64>().map(Value::from).map_err(|_| wrong("a whole number"))
            }
            ElicitationFieldKind::Number { is_whole: false } => {
                let number = answer.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Value::from).ok_or_else(|| wrong("a number"))
            }
            ElicitationFieldKind::OneOf(choices) => {
                find_choice(choices, answer).ok_or_else(|| wrong(&describe_choices(choices)))
            }
            ElicitationFieldKind::AnyOf(choices) => answer
                .split(',')
                .map(|one| {
                    find_choice(choices, one.trim())
                        .ok_or_else(|| wrong(&describe_choices(choices)))
                })
                .collect::<Result<Vec<Value>, String>>()
                .map(Value::Array),
        }
    }
}

/// Reads the choices in all notations that schemas use.
fn parse_choices(property: &Value) -> Option<Vec<(String, String)>> {
    let pair = |one: &Value| {
        let value = one.get("const")?.as_str()?;
        let title = one.get("title").and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), title.to_owned()))
    };
    let titled = property.get("oneOf").or_else(|| property.get("anyOf")).and_then(Value::as_array);
    let choices: Vec<(String, String)> = match titled {
        Some(titled) => titled.iter().filter_map(pair).collect(),
        None => {
            let values = property.get("enum")?.as_array()?;
            let names = property.get("enumNames").and_then(Value::as_array);
            let name = |place: usize| names.and_then(|names| names.get(place)?.as_str());
            let values = values.iter().filter_map(Value::as_str).enumerate();
            values
                .map(|(place, value)| (value.to_owned(), name(place).unwrap_or(value).to_owned()))
                .collect()
        }
    };
    (!choices.is_empty()).then_some(choices)
}

/// Accepts the label or the value.
fn find_choice(choices: &[(String, String)], answer: &str) -> Option<Value> {
    let found = choices.iter().find(|(value, title)| title == answer || value == answer);
    found.map(|(value, _)| Value::from(value.as_str()))
}

fn describe_choices(choices: &[(String, String)]) -> String {
    let titles: Vec<&str> = choices.iter().map(|(_, title)| title.as_str()).collect();
    format!("one of {}", titles.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_become_what_the_server_asked_for_or_are_refused() {
        let form = ElicitationForm::from_schema(
            &json!({"type": "object", "required": ["name", "size"], "properties": {
                "name": {"type": "string", "title": "Your name"},
                "size": {"type": "integer", "description": "in pages"},
                "rate": {"type": "number", "default": 0.5},
                "sure": {"type": "boolean"},
                "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                "day": {"type": "string", "oneOf": [{"const": "mo", "title": "Monday"}]},
                "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
            }}),
        );
        let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["name", "size", "colour", "day", "rate", "sure", "tags"]);
        assert_eq!(form.fields[0].title, "Your name");
        let answer = |words: &[(&str, &str)]| {
            let words =
                words.iter().map(|(name, answer)| ((*name).to_owned(), (*answer).to_owned()));
            form.fill(&words.collect())
        };
        let least = [("name", "Ann"), ("size", " 7 ")];
        assert_eq!(answer(&least), Ok(json!({"name": "Ann", "size": 7, "rate": 0.5})));
        let more = [
            ("name", "Ann"),
            ("size", "7"),
            ("colour", "Green"),
            ("day", "mo"),
            ("rate", "1.5"),
            ("sure", "Yes"),
            ("tags", "A, b"),
        ];
        let wanted = json!({"name": "Ann", "size": 7, "colour": "g", "day": "mo", "rate": 1.5,
            "sure": true, "tags": ["a", "b"]});
        assert_eq!(answer(&more), Ok(wanted));
        for (wrong, why) in [
            (&[("name", "Ann")][..], "`size` must be given"),
            (&[("name", "Ann"), ("size", "big")], "`size` must be a whole number, not `big`"),
            (&[("name", "A"), ("size", "1"), ("sure", "hm")], "`sure` must be yes or no"),
            (&[("name", "A"), ("size", "1"), ("colour", "x")], "must be one of Red, Green"),
            (&[("name", "A"), ("size", "1"), ("rate", "NaN")], "`rate` must be a number"),
        ] {
            assert!(answer(wrong).unwrap_err().contains(why), "{wrong:?}");
        }
        assert_eq!(
            ElicitationForm::from_schema(&json!("nonsense")).fill(&BTreeMap::new()),
            Ok(json!({}))
        );
    }
}
