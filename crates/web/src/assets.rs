//! The four files of the page, embedded in the program. Request paths are only compared with known
//! ones and never reach the disk; `--assets` reads the same files from a folder, for work on the
//! page.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use windlass_http_request::HttpRequest;

use crate::bundle_scripts::bundle_scripts;
use crate::content_hash::sha256_base64;
use crate::server::http_response::HttpResponse;

struct EmbeddedAsset {
    path: &'static str,
    name: &'static str,
    content_type: &'static str,
    compressed: &'static [u8],
}

static EMBEDDED_ASSETS: [EmbeddedAsset; 4] = [
    EmbeddedAsset {
        path: "/",
        name: "index.html",
        content_type: "text/html; charset=utf-8",
        compressed: include_bytes!(concat!(env!("OUT_DIR"), "/index.html.gz")),
    },
    EmbeddedAsset {
        path: "/app.js",
        name: "app.js",
        content_type: "text/javascript; charset=utf-8",
        compressed: include_bytes!(concat!(env!("OUT_DIR"), "/app.js.gz")),
    },
    EmbeddedAsset {
        path: "/style.css",
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        compressed: include_bytes!(concat!(env!("OUT_DIR"), "/style.css.gz")),
    },
    EmbeddedAsset {
        path: "/icon.svg",
        name: "icon.svg",
        content_type: "image/svg+xml",
        compressed: include_bytes!(concat!(env!("OUT_DIR"), "/icon.svg.gz")),
    },
];

/// The response for an asset; `None` if the path is not that of an asset.
pub(crate) fn answer_asset(request: &HttpRequest, folder: Option<&Path>) -> Option<HttpResponse> {
    let asset = EMBEDDED_ASSETS.iter().find(|asset| asset.path == request.path())?;
    if let Some(folder) = folder {
        return Some(match read_from_folder(folder, asset.name) {
            Ok(bytes) => HttpResponse::new(200, asset.content_type, bytes),
            Err(error) => HttpResponse::error(500, "failed", &error.to_string()),
        });
    }
    let etag = format!("\"{}\"", sha256_base64(asset.compressed));
    // Revalidated on each request: another version of the program may listen on the same port
    // later.
    if request.single_header("if-none-match") == Some(etag.as_str()) {
        let answer = HttpResponse::new(304, asset.content_type, Vec::new());
        return Some(answer.with_header("etag", etag).with_header("cache-control", "no-cache"));
    }
    let answer = if request.header_contains("accept-encoding", "gzip") {
        HttpResponse::new(200, asset.content_type, asset.compressed.to_vec())
            .with_header("content-encoding", "gzip")
    } else {
        match decompress(asset.compressed) {
            Ok(bytes) => HttpResponse::new(200, asset.content_type, bytes),
            Err(error) => HttpResponse::error(500, "failed", &error.to_string()),
        }
    };
    Some(
        answer
            .with_header("etag", etag)
            .with_header("vary", "accept-encoding")
            .with_header("cache-control", "no-cache"),
    )
}

/// The text of an asset, for the export as one file.
pub(crate) fn load_asset_text(name: &str) -> io::Result<String> {
    let asset = EMBEDDED_ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| io::Error::other(format!("there is no asset {name}")))?;
    String::from_utf8(decompress(asset.compressed)?).map_err(io::Error::other)
}

fn read_from_folder(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    match name {
        "app.js" => bundle_scripts(folder).map(String::into_bytes),
        other => std::fs::read(folder.join(other)),
    }
}

fn decompress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut raw = Vec::new();
    GzDecoder::new(bytes).take(ASSET_BYTES_MAX).read_to_end(&mut raw)?;
    Ok(raw)
}

/// Larger than any asset.
const ASSET_BYTES_MAX: u64 = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stays_small() {
        let all: usize = EMBEDDED_ASSETS.iter().map(|asset| asset.compressed.len()).sum();
        assert!(all <= 150 << 10, "{all} bytes compressed, at most 150 KiB");
    }

    #[test]
    fn every_asset_unpacks_and_no_script_is_left_cut_up() {
        for asset in &EMBEDDED_ASSETS {
            assert!(!load_asset_text(asset.name).unwrap().is_empty(), "{}", asset.name);
        }
        let script = load_asset_text("app.js").unwrap();
        let is_cut = |line: &&str| line.starts_with("import ") || line.starts_with("export ");
        assert_eq!(script.lines().find(is_cut), None);
    }
}
