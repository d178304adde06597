//! Milliseconds since 1970 as people and other programs write them. UTC alone.

/// The day of a moment, `2026-11-15`.
#[must_use]
pub fn format_day(millis: u64) -> String {
    let (year, month, day) = civil_date(millis / DAY_MILLIS);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A moment, `2026-11-15T14:03:09.250Z`.
#[must_use]
pub fn format_timestamp(millis: u64) -> String {
    let rest = millis % DAY_MILLIS;
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z", format_day(millis))
}

/// Year, month and day of a day counted from 1970. Counts in years that begin in March, so that the
/// day that is sometimes missing is the last of its year.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

const DAY_MILLIS: u64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
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
}
