//! Values of a script with the place they stand at, so that every mistake can be pointed at.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::script_error::ScriptMistake;

/// A table and where it stands.
pub(super) struct ScriptTable<'a> {
    label: &'a str,
    at: usize,
    table: &'a DeTable<'a>,
}

/// A value, its key and where it stands.
pub(super) struct ScriptEntry<'a> {
    pub(super) key: &'a str,
    pub(super) at: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> ScriptTable<'a> {
    pub(super) fn new(label: &'a str, table: &'a DeTable<'a>, at: usize) -> Self {
        Self { label, at, table }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Refuses keys that are not known: the first in the file.
    pub(super) fn reject_unknown_keys(&self, known: &[&str]) -> Result<(), ScriptMistake> {
        let unknown = self
            .table
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|(key, _)| key.span().start);
        match unknown {
            Some((key, _)) => {
                Err(ScriptMistake::unknown_key(key.span().start, self.label, key.get_ref(), known))
            }
            None => Ok(()),
        }
    }

    pub(super) fn find(&self, key: &'a str) -> Option<ScriptEntry<'a>> {
        self.table.get(key).map(|value| ScriptEntry::new(key, value))
    }

    /// The first of these keys that is there, in the order given.
    pub(super) fn find_first(&self, keys: &[&'static str]) -> Option<ScriptEntry<'a>> {
        keys.iter().find_map(|key| self.find(key))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = ScriptEntry<'a>> {
        self.table.iter().map(|(key, value)| ScriptEntry::new(key.get_ref(), value))
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<String>, ScriptMistake> {
        self.find(key).map(|entry| entry.text()).transpose()
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<Option<bool>, ScriptMistake> {
        self.find(key).map(|entry| entry.flag()).transpose()
    }

    pub(super) fn number(
        &self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ScriptMistake> {
        self.find(key).map(|entry| entry.number(range)).transpose()
    }
}

impl<'a> ScriptEntry<'a> {
    pub(super) fn new(key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { key, at: value.span().start, value: value.get_ref() }
    }

    /// A mistake in this value.
    pub(super) fn must_be(&self, be: &str) -> ScriptMistake {
        let problem = format!("`{}` is {}", self.key, describe_value(self.value));
        ScriptMistake::new(self.at, problem, format!("it must {be}"))
    }

    pub(super) fn text(&self) -> Result<String, ScriptMistake> {
        let text = self.value.as_str().map(str::to_owned);
        text.ok_or_else(|| self.must_be("be a text in quotes"))
    }

    pub(super) fn flag(&self) -> Result<bool, ScriptMistake> {
        self.value.as_bool().ok_or_else(|| self.must_be("be true or false"))
    }

    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Result<u64, ScriptMistake> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.must_be(&format!("be a whole number from {least} to {most}"))
        })
    }

    pub(super) fn table(&self, label: &'a str) -> Result<ScriptTable<'a>, ScriptMistake> {
        match self.value {
            DeValue::Table(table) => Ok(ScriptTable::new(label, table, self.at)),
            _ => Err(self.must_be("be a table, such as { … }")),
        }
    }

    pub(super) fn parse_word<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, ScriptMistake> {
        let word = self.text()?;
        let known_word = known.iter().find(|(name, _)| *name == word);
        known_word.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            ScriptMistake::unknown_word(self.at, self.key, &word, &names)
        })
    }
}

/// A value as people call it.
fn describe_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
