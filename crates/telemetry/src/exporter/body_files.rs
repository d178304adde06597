//! Writes whole requests and answers to the folder that the user named.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use crate::record::{AttributeValue, BodyFile, EventRecord};

/// Writes the body of an event, if it has one, and puts the file's path in its place.
///
/// The event goes without it if that fails: the user wanted files, so the body is not sent instead.
pub(super) fn write_body_file(event: &mut EventRecord) -> Result<(), String> {
    let Some(file) = event.body_file.take() else { return Ok(()) };
    let path = file.path.display().to_string();
    write(&file).map_err(|error| format!("a body was not written to {path}: {error}"))?;
    event.attributes.0.push(("body_ref".into(), AttributeValue::Text(path)));
    Ok(())
}

/// Only the user may read it.
fn write(file: &BodyFile) -> io::Result<()> {
    if let Some(folder) = file.path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut opened =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
    opened.write_all(file.text.as_bytes())
}
