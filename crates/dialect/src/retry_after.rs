//! Parses the delay that a server asks for: milliseconds, seconds, or a date.
//!
//! A negative, past or unreadable delay is ignored, so that the caller's own growing pauses apply
//! instead of none; an absurd one is cut to a day. Waiting itself is the driver's.

use windlass_vocabulary::{CivilDate, Millis};

use crate::HeaderLookup;

/// Reads `retry-after-ms` and `retry-after`.
pub(crate) fn parse_retry_after(
    headers: HeaderLookup<'_>,
    now_unix_seconds: u64,
) -> Option<Millis> {
    let exact = headers("retry-after-ms").and_then(|text| parse_scaled_millis(&text, 1.0));
    exact.or_else(|| {
        let text = headers("retry-after")?;
        parse_scaled_millis(&text, 1000.0)
            .or_else(|| parse_http_date_delay(&text, now_unix_seconds))
    })
}

/// A duration as text in a message or body: `1.3s`, `250ms`, `2m`.
pub(crate) fn parse_duration_text(text: &str) -> Option<Millis> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let millis_per_unit = match unit {
        unit if unit.starts_with("ms") => 1.0,
        unit if unit.starts_with('m') => 60_000.0,
        unit if unit.starts_with('h') => 3_600_000.0,
        unit if unit.starts_with('s') => 1000.0,
        _ => return None,
    };
    parse_scaled_millis(number, millis_per_unit)
}

fn parse_scaled_millis(text: &str, millis_per_unit: f64) -> Option<Millis> {
    let millis = text.trim().parse::<f64>().ok()? * millis_per_unit;
    if !millis.is_finite() || millis <= 0.0 {
        return None;
    }
    // In range by the minimum; the fraction of a millisecond does not matter.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let millis = millis.min(WAIT_MILLIS_MAX) as u64;
    Some(Millis(millis.max(1)))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, as a span from now.
fn parse_http_date_delay(text: &str, now_unix_seconds: u64) -> Option<Millis> {
    let mut words = text.trim().split([' ', ',']).filter(|word| !word.is_empty());
    let _weekday = words.next()?;
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month_name = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month_name)?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let hour = clock.next()??;
    let minute = clock.next()??;
    let second = clock.next()??;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let date = CivilDate { year, month: u64::try_from(month).ok()? + 1, day };
    let at = date.days_since_1970() * 86_400 + hour * 3600 + minute * 60 + second;
    let seconds = at.checked_sub(now_unix_seconds).filter(|seconds| *seconds > 0)?;
    Some(Millis(seconds.min(DAY_SECONDS) * 1000))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const DAY_SECONDS: u64 = 86_400;

const WAIT_MILLIS_MAX: f64 = 86_400_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn wait(name: &str, value: &str) -> Option<u64> {
        let headers = |asked: &str| (asked == name).then(|| String::from(value));
        parse_retry_after(&headers, 1_700_000_000).map(|millis| millis.0)
    }

    #[test]
    fn retry_delays_are_parsed_and_limited() {
        let table: &[(&str, &str, Option<u64>)] = &[
            ("retry-after", "7", Some(7_000)),
            ("retry-after", " 0.5 ", Some(500)),
            ("retry-after", "-3", None),
            ("retry-after", "0", None),
            ("retry-after", "99999999999999999999", Some(86_400_000)),
            ("retry-after", "inf", None),
            ("retry-after", "NaN", None),
            ("retry-after", "soon", None),
            ("retry-after", "", None),
            ("retry-after-ms", "1250", Some(1_250)),
            // 1,700,000,000 is Tue, 14 Nov 2023 22:13:20 GMT.
            ("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT", Some(30_000)),
            ("retry-after", "Tue, 14 Nov 2023 22:13:20 GMT", None),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", None),
            ("retry-after", "Thu, 29 Feb 2024 00:00:00 GMT", Some(86_400_000)),
            ("retry-after", "Tue, 99 Nov 2023 22:13:50 GMT", None),
            ("retry-after", "Tue, 14 Nov 2023 22:13 GMT", None),
        ];
        for (name, value, expected) in table {
            assert_eq!(wait(name, value), *expected, "{name}: {value}");
        }
    }
}
