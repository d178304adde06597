//! Values of a configuration file with the place they stand at, so that every mistake can be
//! pointed at. Knows forms, not meanings.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::amount::micro_dollars;
use super::mistake::Mistake;

/// A table and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    place: &'a str,
    at: usize,
    table: &'a DeTable<'a>,
}

/// A value, its key and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) key: &'a str,
    pub(super) key_at: usize,
    pub(super) at: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    /// The whole file.
    pub(super) fn root(table: &'a DeTable<'a>) -> Self {
        Self { place: "this file", at: 0, table }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Refuses keys that are not known: the first in the file.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Mistake> {
        match self.entries().iter().find(|entry| !known.contains(&entry.key)) {
            Some(entry) => Err(Mistake::unknown_key(entry.key_at, self.place, entry.key, known)),
            None => Ok(()),
        }
    }

    pub(super) fn find(&self, key: &str) -> Option<Entry<'a>> {
        self.entries().into_iter().find(|entry| entry.key == key)
    }

    /// What stands in it, in the order of the file.
    pub(super) fn entries(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref(),
                key_at: key.span().start,
                at: value.span().start,
                value: value.get_ref(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_at);
        entries
    }

    /// What stands under a key, read in some way.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(Entry<'a>) -> Result<T, Mistake>,
    ) -> Result<Option<T>, Mistake> {
        self.find(key).map(read).transpose()
    }
}

impl<'a> Entry<'a> {
    /// A mistake in this value.
    pub(super) fn must(&self, be: &str) -> Mistake {
        let problem = format!("`{}` is {}", self.key, named(self.value));
        Mistake::new(self.at, problem, format!("it must be {be}"))
    }

    /// A text with something in it.
    pub(super) fn text(&self) -> Result<String, Mistake> {
        let text = self.value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| self.must("a text in quotes"))
    }

    pub(super) fn flag(&self) -> Result<bool, Mistake> {
        self.value.as_bool().ok_or_else(|| self.must("true or false"))
    }

    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Result<u64, Mistake> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.must(&format!("a whole number from {least} to {most}"))
        })
    }

    /// Dollars, as an integer of micro-dollars.
    pub(super) fn dollars(&self) -> Result<u64, Mistake> {
        let text = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        micro_dollars(text)
            .map_err(|_| self.must("dollars such as 2 or 0.25, with at most six decimals"))
    }

    /// One text, or a list of them.
    pub(super) fn texts(&self) -> Result<Vec<String>, Mistake> {
        match self.value {
            DeValue::Array(_) => self.list()?.iter().map(Self::text).collect(),
            _ => Ok(vec![self.text()?]),
        }
    }

    /// A list.
    pub(super) fn list(&self) -> Result<Vec<Self>, Mistake> {
        let DeValue::Array(list) = self.value else {
            return Err(self.must("a list, such as [\"one\", \"two\"]"));
        };
        let item = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            Self { key: self.key, key_at: at, at, value: value.get_ref() }
        };
        Ok(list.iter().map(item).collect())
    }

    pub(super) fn table(&self, place: &'a str) -> Result<Table<'a>, Mistake> {
        match self.value {
            DeValue::Table(table) => Ok(Table { place, at: self.key_at, table }),
            _ => Err(self.must("a table, such as { … }")),
        }
    }

    /// One word of a closed list.
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
        DeValue::String(text) if text.trim().is_empty() => "empty".to_owned(),
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
