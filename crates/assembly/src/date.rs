//! Today's date, for the model, which cannot know it. A day is as fine as it gets: anything finer
//! would make every request differ from the last and spoil the provider's prompt cache.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today, in UTC, as year, month and day.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = date_from_days(days);
    format!("{year:04}-{month:02}-{day:02} (UTC)")
}

/// The date of a day counted from 1 January 1970. Years begin in March here, so that the leap day
/// is the last one and months have a regular length.
fn date_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let cases = [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_772, (2026, 11, 15)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ];
        for (days, date) in cases {
            assert_eq!(date_from_days(days), date, "{days}");
        }
    }
}
