//! Compares the schema in `docs/` with the one generated from the types; rewrites it on request.

use std::path::Path;

use crate::settings::SettingsFile;

#[test]
fn the_schema_in_docs_is_that_of_the_types() {
    let mut schema = schemars::schema_for!(SettingsFile);
    schema.insert("title".to_owned(), "Windlass settings".into());
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.schema.json");
    if std::env::var_os("WINDLASS_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/settings.schema.json is not that of the types; write it anew: \
         WINDLASS_WRITE_SCHEMA=1 cargo test -p windlass-settings schema"
    );
}
