//! Calendar dates in UTC, from 1970 on. Has no clock and no time zones;
//! `docs/decisions/0055-one-calendar-of-our-own.md` explains why this is not a library.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A calendar date, written `2026-11-15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilDate {
    /// At least 1970.
    pub year: u64,
    /// From 1 to 12.
    pub month: u64,
    /// Counted from 1. A day after the end of its month means one of the next month.
    pub day: u64,
}

impl CivilDate {
    /// The date of a time in milliseconds since 1970.
    #[must_use]
    pub fn from_unix_millis(millis: u64) -> Self {
        // Years start in March here, so that the leap day is the last of its year.
        let days = millis / DAY_MILLIS + DAYS_BEFORE_1970;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        Self { year: era * 400 + year_of_era + u64::from(month <= 2), month, day }
    }

    /// Days from January 1, 1970 to this date.
    #[must_use]
    pub fn days_since_1970(self) -> u64 {
        let is_before_march = self.month <= 2;
        let year = self.year.saturating_sub(u64::from(is_before_march));
        let march_month = if is_before_march { self.month + 9 } else { self.month - 3 };
        let leap_days = year / 4 - year / 100 + year / 400;
        let days = year * 365 + leap_days + (153 * march_month + 2) / 5 + self.day;
        days.saturating_sub(DAYS_BEFORE_1970 + 1)
    }
}

impl fmt::Display for CivilDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Formats a time in milliseconds since 1970: `2026-11-15T14:03:09.250Z`.
#[must_use]
pub fn format_timestamp(millis: u64) -> String {
    let date = CivilDate::from_unix_millis(millis);
    let rest = millis % DAY_MILLIS;
    let hour = rest / 3_600_000;
    let minute = rest / 60_000 % 60;
    let second = rest / 1_000 % 60;
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
}

const DAY_MILLIS: u64 = 86_400_000;

/// Days from March 1 of the year zero to 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_as_calendar_dates() {
        // Checked with `date -u -d @…`.
        let known = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_210_096_250, "2024-02-29T12:34:56.250Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (millis, text) in known {
            assert_eq!(format_timestamp(millis), text);
        }
    }

    #[test]
    fn every_date_converts_back_to_its_day() {
        let mut previous = CivilDate { year: 1969, month: 12, day: 31 };
        for days in 0..60_000 {
            let date = CivilDate::from_unix_millis(days * DAY_MILLIS);
            assert_eq!(date.days_since_1970(), days, "{date}");
            let is_next = date.day == previous.day + 1 || date.day == 1 && previous.day >= 28;
            assert!(is_next, "{date} follows {previous}");
            previous = date;
        }
    }
}
