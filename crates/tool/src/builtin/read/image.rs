//! Shows an image, reduced if it is too large.
//!
//! `image_fit` decides what fits; this module reads the file up to a limit and builds the answer.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use windlass_vocabulary::{Json, MediaContent, ToolOutcome, ToolResultPart};

use crate::file::{self, FileContext, OpenedFile};
use crate::image_fit::{self, ImageLimits};

const IMAGE_BYTES_MAX: u64 = 30_000_000;

pub(super) fn show_image(
    files: &FileContext,
    opened: &OpenedFile,
    path: &Path,
    kind: &'static str,
) -> Result<ToolOutcome, String> {
    let bytes = opened.metadata.len();
    if bytes > IMAGE_BYTES_MAX {
        return Err(format!(
            "`{}` is an image of {bytes} bytes; at most {IMAGE_BYTES_MAX} can be shown. Make a \
             smaller copy first.",
            path.display()
        ));
    }
    let content = file::read_bounded(&opened.file, IMAGE_BYTES_MAX)
        .map_err(|error| format!("`{}` could not be read: {error}.", path.display()))?;
    files.remember_file(
        path.to_path_buf(),
        file::known_file_from_content(&opened.metadata, &content),
    );
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let fitted = image_fit::fit_image_bytes(&name, kind, &content, &ImageLimits::default())
        .map_err(|why| format!("`{}` cannot be shown. {why}", path.display()))?;
    let (media_type, shown, note) = match fitted.replacement {
        Some(change) => (change.media_type, change.bytes.unwrap_or(content), Some(change.note)),
        None => (kind, content, None),
    };
    let data = BASE64_STANDARD.encode(shown);
    let structured = json!({"type": "image", "file": {
        "base64": data, "type": media_type, "originalSize": bytes, "dimensions": {
            "originalWidth": fitted.original_size.width, "originalHeight": fitted.original_size.height,
            "displayWidth": fitted.sent_size.width, "displayHeight": fitted.sent_size.height,
        },
    }});
    let media =
        MediaContent { media_type: media_type.into(), data: data.into(), name: name.into() };
    let note = note.map(|note| ToolResultPart::Text(format!("[{note}]")));
    Ok(ToolOutcome {
        content: note.into_iter().chain([ToolResultPart::Media(media)]).collect(),
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::from_text("")
    })
}
