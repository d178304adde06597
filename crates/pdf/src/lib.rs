//! Extracts the text of PDF documents, page by page.
//!
//! Supports what most documents use: plain and packed objects, compressed streams, fonts with a
//! mapping to characters. It renders nothing, runs nothing, and rejects encrypted documents. Time,
//! memory and recursion are bounded whatever a file claims. `object` parses values, `document`
//! finds them, `font` and `glyph` map codes to characters, `page_text` interprets the content of a
//! page.

mod document;
mod filter;
mod font;
mod glyph;
mod object;
mod page_text;

pub use document::PdfDocument;
