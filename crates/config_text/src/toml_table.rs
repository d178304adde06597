//! Tables and their values, each with its position.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::toml_mistake::TomlMistake;

#[derive(Clone, Copy)]
pub struct TomlTable<'a> {
    label: &'a str,
    offset: usize,
    table: &'a DeTable<'a>,
}

/// A value, its key and their positions.
#[derive(Clone, Copy)]
pub struct TomlEntry<'a> {
    pub key: &'a str,
    pub key_offset: usize,
    pub offset: usize,
    pub value: &'a DeValue<'a>,
}

impl<'a> TomlTable<'a> {
    /// The whole file; mistakes name it by the label.
    pub fn from_root(label: &'a str, table: &'a DeTable<'a>) -> Self {
        Self { label, offset: 0, table }
    }

    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Fails with the first unknown key in the file.
    pub fn check_keys(&self, known: &[&str]) -> Result<(), TomlMistake> {
        match self.entries().iter().find(|entry| !known.contains(&entry.key)) {
            Some(entry) => {
                Err(TomlMistake::unknown_key(entry.key_offset, self.label, entry.key, known))
            }
            None => Ok(()),
        }
    }

    pub fn find(&self, key: &str) -> Option<TomlEntry<'a>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(TomlEntry::from_pair(key, value))
    }

    /// The first of these keys that exists, in the given order.
    pub fn find_first(&self, keys: &[&str]) -> Option<TomlEntry<'a>> {
        keys.iter().find_map(|key| self.find(key))
    }

    /// The entries, in the order of the file.
    pub fn entries(&self) -> Vec<TomlEntry<'a>> {
        let pairs = self.table.iter();
        let mut entries: Vec<_> =
            pairs.map(|(key, value)| TomlEntry::from_pair(key, value)).collect();
        entries.sort_by_key(|entry| entry.key_offset);
        entries
    }

    pub fn read_key<T>(
        &self,
        key: &str,
        read: impl FnOnce(TomlEntry<'a>) -> Result<T, TomlMistake>,
    ) -> Result<Option<T>, TomlMistake> {
        self.find(key).map(read).transpose()
    }

    /// Any text, including an empty one.
    pub fn parse_text(&self, key: &str) -> Result<Option<String>, TomlMistake> {
        self.read_key(key, |entry| entry.parse_text())
    }

    pub fn parse_flag(&self, key: &str) -> Result<Option<bool>, TomlMistake> {
        self.read_key(key, |entry| entry.parse_flag())
    }

    pub fn parse_number(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, TomlMistake> {
        self.read_key(key, |entry| entry.parse_number(range))
    }
}

impl<'a> TomlEntry<'a> {
    fn from_pair(key: &'a Spanned<impl AsRef<str>>, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self {
            key: key.get_ref().as_ref(),
            key_offset: key.span().start,
            offset: value.span().start,
            value: value.get_ref(),
        }
    }

    pub fn invalid_value(&self, be: &str) -> TomlMistake {
        let problem = format!("`{}` is {}", self.key, describe_value(self.value));
        TomlMistake::new(self.offset, problem, format!("it must be {be}"))
    }

    /// Any text, including an empty one.
    pub fn parse_text(&self) -> Result<String, TomlMistake> {
        let text = self.value.as_str().map(str::to_owned);
        text.ok_or_else(|| self.invalid_value("a text in quotes"))
    }

    /// A text that is not empty, trimmed.
    pub fn parse_trimmed_text(&self) -> Result<String, TomlMistake> {
        let text = self.parse_text()?.trim().to_owned();
        if text.is_empty() { Err(self.invalid_value("a text in quotes")) } else { Ok(text) }
    }

    pub fn parse_flag(&self) -> Result<bool, TomlMistake> {
        self.value.as_bool().ok_or_else(|| self.invalid_value("true or false"))
    }

    pub fn parse_number(&self, range: RangeInclusive<u64>) -> Result<u64, TomlMistake> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.invalid_value(&format!("a whole number from {least} to {most}"))
        })
    }

    /// One text, or a list of them.
    pub fn parse_text_list(&self) -> Result<Vec<String>, TomlMistake> {
        match self.value {
            DeValue::Array(_) => self.parse_list()?.iter().map(Self::parse_trimmed_text).collect(),
            _ => Ok(vec![self.parse_trimmed_text()?]),
        }
    }

    pub fn parse_list(&self) -> Result<Vec<Self>, TomlMistake> {
        let DeValue::Array(list) = self.value else {
            return Err(self.invalid_value("a list, such as [\"one\", \"two\"]"));
        };
        let item = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            Self { key: self.key, key_offset: at, offset: at, value: value.get_ref() }
        };
        Ok(list.iter().map(item).collect())
    }

    pub fn parse_table(&self, label: &'a str) -> Result<TomlTable<'a>, TomlMistake> {
        match self.value {
            DeValue::Table(table) => Ok(TomlTable { label, offset: self.key_offset, table }),
            _ => Err(self.invalid_value("a table, such as { … }")),
        }
    }

    /// One word of a closed list.
    pub fn parse_keyword<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, TomlMistake> {
        let word = self.parse_trimmed_text()?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            TomlMistake::unknown_keyword(self.offset, self.key, &word, &names)
        })
    }
}

fn describe_value(value: &DeValue<'_>) -> String {
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
