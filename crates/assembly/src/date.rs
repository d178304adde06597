//! Today's date, for the model, which cannot know it. A day is as fine as it gets: anything finer
//! would make every request differ from the last and spoil the provider's prompt cache.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_vocabulary::CivilDate;

/// Today, in UTC, as year, month and day.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or_default();
    format!("{} (UTC)", CivilDate::from_unix_millis(millis))
}
