//! Values of a script with the place they stand at, so that every mistake can be pointed at.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistake;

/// A table and where it stands.
pub(super) struct Table<'a> {
    place: &'a str,
    at: usize,
    table: &'a DeTable<'a>,
}

/// A value, its key and where it stands.
pub(super) struct Entry<'a> {
    pub(super) key: &'a str,
    pub(super) at: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    pub(super) fn new(place: &'a str, table: &'a DeTable<'a>, at: usize) -> Self {
        Self { place, at, table }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Refuses keys that are not known: the first in the file.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Mistake> {
        let unknown = self
            .table
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|(key, _)| key.span().start);
        match unknown {
            Some((key, _)) => {
                Err(Mistake::unknown_key(key.span().start, self.place, key.get_ref(), known))
            }
            None => Ok(()),
        }
    }

    pub(super) fn find(&self, key: &'a str) -> Option<Entry<'a>> {
        self.table.get(key).map(|value| Entry::new(key, value))
    }

    /// The first of these keys that is there, in the order given.
    pub(super) fn first(&self, keys: &[&'static str]) -> Option<Entry<'a>> {
        keys.iter().find_map(|key| self.find(key))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'a>> {
        self.table.iter().map(|(key, value)| Entry::new(key.get_ref(), value))
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<String>, Mistake> {
        self.find(key).map(|entry| entry.text()).transpose()
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<Option<bool>, Mistake> {
        self.find(key).map(|entry| entry.flag()).transpose()
    }

    pub(super) fn number(
        &self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Mistake> {
        self.find(key).map(|entry| entry.number(range)).transpose()
    }
}

impl<'a> Entry<'a> {
    pub(super) fn new(key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { key, at: value.span().start, value: value.get_ref() }
    }

    /// A mistake in this value.
    pub(super) fn must(&self, be: &str) -> Mistake {
        let problem = format!("`{}` is {}", self.key, named(self.value));
        Mistake::new(self.at, problem, format!("it must {be}"))
    }

    pub(super) fn text(&self) -> Result<String, Mistake> {
        let text = self.value.as_str().map(str::to_owned);
        text.ok_or_else(|| self.must("be a text in quotes"))
    }

    pub(super) fn flag(&self) -> Result<bool, Mistake> {
        self.value.as_bool().ok_or_else(|| self.must("be true or false"))
    }

    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Result<u64, Mistake> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.must(&format!("be a whole number from {least} to {most}"))
        })
    }

    pub(super) fn table(&self, place: &'a str) -> Result<Table<'a>, Mistake> {
        match self.value {
            DeValue::Table(table) => Ok(Table::new(place, table, self.at)),
            _ => Err(self.must("be a table, such as { … }")),
        }
    }

    pub(super) fn word<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, Mistake> {
        let word = self.text()?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            Mistake::unknown_word(self.at, self.key, &word, &names)
        })
    }
}

/// A value as people call it.
fn named(value: &DeValue<'_>) -> String {
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
