//! The text of PDF documents, page by page.
//!
//! Reads what most documents are made of: objects plain or packed in streams, compressed content,
//! fonts that say which characters they show. It draws nothing, runs nothing, and does not open
//! what is encrypted. Whatever a file claims, time and memory are bounded and nothing recurses
//! without end. `object` reads values, `document` finds them, `font` and `glyph` turn codes into
//! characters, `page_text` follows a page as it is written.

mod document;
mod filter;
mod font;
mod glyph;
mod object;
mod page_text;

pub use document::PdfDocument;
