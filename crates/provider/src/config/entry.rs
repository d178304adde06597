//! Values of a configuration file with the place they stand at, so that every mistake can be
//! pointed at. Knows forms, not meanings.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::config_error::ConfigError;
use super::dollars::parse_micro_dollars;

#[derive(Clone, Copy)]
pub(super) struct ConfigTable<'a> {
    label: &'a str,
    offset: usize,
    table: &'a DeTable<'a>,
}

/// A value, its key and where it stands.
#[derive(Clone, Copy)]
pub(super) struct ConfigEntry<'a> {
    pub(super) key: &'a str,
    pub(super) key_offset: usize,
    pub(super) offset: usize,
    value: &'a DeValue<'a>,
}

impl<'a> ConfigTable<'a> {
    pub(super) fn from_root(table: &'a DeTable<'a>) -> Self {
        Self { label: "this file", offset: 0, table }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Refuses keys that are not known: the first in the file.
    pub(super) fn check_keys(&self, known: &[&str]) -> Result<(), ConfigError> {
        match self.entries().iter().find(|entry| !known.contains(&entry.key)) {
            Some(entry) => {
                Err(ConfigError::unknown_key(entry.key_offset, self.label, entry.key, known))
            }
            None => Ok(()),
        }
    }

    pub(super) fn find(&self, key: &str) -> Option<ConfigEntry<'a>> {
        self.entries().into_iter().find(|entry| entry.key == key)
    }

    /// What stands in it, in the order of the file.
    pub(super) fn entries(&self) -> Vec<ConfigEntry<'a>> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| ConfigEntry {
                key: key.get_ref(),
                key_offset: key.span().start,
                offset: value.span().start,
                value: value.get_ref(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_offset);
        entries
    }

    pub(super) fn read_key<T>(
        &self,
        key: &str,
        read: impl FnOnce(ConfigEntry<'a>) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.find(key).map(read).transpose()
    }
}

impl<'a> ConfigEntry<'a> {
    pub(super) fn invalid_value(&self, be: &str) -> ConfigError {
        let problem = format!("`{}` is {}", self.key, describe_value(self.value));
        ConfigError::new(self.offset, problem, format!("it must be {be}"))
    }

    /// A text with something in it.
    pub(super) fn parse_text(&self) -> Result<String, ConfigError> {
        let text = self.value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| self.invalid_value("a text in quotes"))
    }

    pub(super) fn parse_flag(&self) -> Result<bool, ConfigError> {
        self.value.as_bool().ok_or_else(|| self.invalid_value("true or false"))
    }

    pub(super) fn parse_number(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.invalid_value(&format!("a whole number from {least} to {most}"))
        })
    }

    /// Dollars, as an integer of micro-dollars.
    pub(super) fn parse_dollars(&self) -> Result<u64, ConfigError> {
        let text = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        parse_micro_dollars(text)
            .map_err(|_| self.invalid_value("dollars such as 2 or 0.25, with at most six decimals"))
    }

    /// One text, or a list of them.
    pub(super) fn parse_text_list(&self) -> Result<Vec<String>, ConfigError> {
        match self.value {
            DeValue::Array(_) => self.parse_list()?.iter().map(Self::parse_text).collect(),
            _ => Ok(vec![self.parse_text()?]),
        }
    }

    pub(super) fn parse_list(&self) -> Result<Vec<Self>, ConfigError> {
        let DeValue::Array(list) = self.value else {
            return Err(self.invalid_value("a list, such as [\"one\", \"two\"]"));
        };
        let item = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            Self { key: self.key, key_offset: at, offset: at, value: value.get_ref() }
        };
        Ok(list.iter().map(item).collect())
    }

    pub(super) fn parse_table(&self, place: &'a str) -> Result<ConfigTable<'a>, ConfigError> {
        match self.value {
            DeValue::Table(table) => {
                Ok(ConfigTable { label: place, offset: self.key_offset, table })
            }
            _ => Err(self.invalid_value("a table, such as { … }")),
        }
    }

    /// One word of a closed list.
    pub(super) fn parse_keyword<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, ConfigError> {
        let word = self.parse_text()?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            ConfigError::unknown_keyword(self.offset, self.key, &word, &names)
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
