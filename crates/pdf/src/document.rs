//! Document structure: where the objects are, and which of them are pages.
//!
//! Objects are found by scanning, not through the cross-reference tables, which are the part most
//! often broken. Of objects with the same number the last one counts, because it is the newest.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use crate::filter::decode_stream;
use crate::font::PdfFont;
use crate::object::{PdfDictionary, PdfObject, PdfObjectReader};
use crate::page_text;

const OBJECTS_MAX: usize = 1_000_000;
const PAGES_MAX: usize = 20_000;
const PACKED_MAX: usize = 20_000;
const PACKED_BYTES_MAX: usize = 256 * 1024 * 1024;
const REFERENCE_STEPS_MAX: usize = 16;

#[derive(Debug)]
pub struct PdfDocument<'a> {
    bytes: &'a [u8],
    object_offsets: HashMap<u32, usize>,
    packed_objects: HashMap<u32, PdfObject>,
    pages: Vec<PdfDictionary>,
}

impl<'a> PdfDocument<'a> {
    /// Reads the structure, or returns why it cannot be read.
    pub fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let places = find_object_offsets(bytes);
        let mut document = Self {
            bytes,
            object_offsets: places,
            packed_objects: HashMap::new(),
            pages: Vec::new(),
        };
        if document.is_encrypted() {
            return Err("encrypted");
        }
        document.unpack_object_streams();
        document.find_pages();
        match document.pages.is_empty() {
            true => Err("damaged: no pages were found in it"),
            false => Ok(document),
        }
    }

    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The text of a page, counted from 0.
    pub fn page_text(&self, page: usize) -> String {
        let Some(page) = self.pages.get(page) else { return String::new() };
        let mut content = Vec::new();
        let parts = match page.get("Contents").map(|it| self.resolve(it)) {
            Some((_, PdfObject::Array(parts))) => parts,
            Some(_) => page.get("Contents").cloned().into_iter().collect(),
            None => Vec::new(),
        };
        for part in &parts {
            content.extend(self.read_stream(part).unwrap_or_default());
            content.push(b'\n');
        }
        let resources =
            page.get("Resources").map(|it| self.resolve(it).1).unwrap_or(PdfObject::Null);
        page_text::extract_text(self, &content, &resources)
    }

    /// The fonts of a page or form, by the names its content uses.
    pub(crate) fn load_fonts(&self, resources: &PdfObject) -> HashMap<String, PdfFont> {
        let fonts =
            resources.as_dictionary().and_then(|it| it.get("Font")).map(|it| self.resolve(it).1);
        let fonts = fonts.as_ref().and_then(PdfObject::as_dictionary);
        let fonts = fonts.into_iter().flatten().take(FONTS_MAX).filter_map(|(name, font)| {
            let (_, font) = self.resolve(font);
            Some((name.clone(), PdfFont::new(self, font.as_dictionary()?)))
        });
        fonts.collect()
    }

    /// Follows references. Returns the value, and the number of the object that contains it.
    pub(crate) fn resolve(&self, object: &PdfObject) -> (Option<u32>, PdfObject) {
        let mut object = object.clone();
        let mut number = None;
        for _ in 0..REFERENCE_STEPS_MAX {
            let PdfObject::Reference(id) = object else { return (number, object) };
            number = Some(id);
            object = self.read_object(id);
        }
        (number, PdfObject::Null)
    }

    fn read_object(&self, id: u32) -> PdfObject {
        if let Some(place) = self.object_offsets.get(&id) {
            return PdfObjectReader::new(self.bytes, *place).read_next().unwrap_or(PdfObject::Null);
        }
        self.packed_objects.get(&id).cloned().unwrap_or(PdfObject::Null)
    }

    pub(crate) fn read_stream(&self, object: &PdfObject) -> Option<Vec<u8>> {
        let (Some(id), PdfObject::Dictionary(map)) = self.resolve(object) else { return None };
        self.read_stream_of(id, &map)
    }

    fn read_stream_of(&self, id: u32, map: &PdfDictionary) -> Option<Vec<u8>> {
        let mut reader = PdfObjectReader::new(self.bytes, *self.object_offsets.get(&id)?);
        reader.read_next()?;
        let rest = self.bytes.get(reader.position..)?;
        let start = memmem::find(rest.get(..64).unwrap_or(rest), b"stream")? + 6;
        let rest = rest.get(start..)?;
        let rest = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(rest);
        let declared_length = map.get("Length").and_then(|it| self.resolve(it).1.as_index());
        let is_end = |at: usize| {
            let after = rest.get(at..).unwrap_or_default();
            memmem::find(after.get(..32).unwrap_or(after), b"endstream").is_some()
        };
        let end = match declared_length.filter(|at| is_end(*at)) {
            Some(end) => end,
            None => memmem::find(rest, b"endstream")?,
        };
        decode_stream(map, rest.get(..end)?)
    }

    fn is_encrypted(&self) -> bool {
        memmem::find_iter(self.bytes, b"/Encrypt").any(|at| {
            let next = self.bytes.get(at + 8).copied().unwrap_or(b' ');
            next == b' ' || next == b'<' || next.is_ascii_whitespace()
        })
    }

    fn unpack_object_streams(&mut self) {
        let ids: Vec<u32> = self.object_offsets.keys().copied().collect();
        let mut bytes_left = PACKED_BYTES_MAX;
        let mut streams_left = PACKED_MAX;
        for id in ids {
            let PdfObject::Dictionary(map) = self.read_object(id) else { continue };
            if map.get("Type").and_then(PdfObject::as_name) != Some("ObjStm") || streams_left == 0 {
                continue;
            }
            streams_left -= 1;
            let Some(content) = self.read_stream_of(id, &map) else { continue };
            if content.len() > bytes_left {
                return;
            }
            bytes_left -= content.len();
            let count = map.get("N").and_then(PdfObject::as_index).unwrap_or(0).min(OBJECTS_MAX);
            let first = map.get("First").and_then(PdfObject::as_index).unwrap_or(0);
            let mut head = PdfObjectReader::new(&content, 0);
            for _ in 0..count {
                let (Some(id), Some(at)) = (head.read_next(), head.read_next()) else { break };
                let (Some(id), Some(at)) = (id.as_index(), at.as_index()) else { break };
                let object = PdfObjectReader::new(&content, first.saturating_add(at)).read_next();
                if let (Ok(id), Some(object)) = (u32::try_from(id), object) {
                    self.packed_objects.insert(id, object);
                }
            }
        }
    }

    /// Walks the page tree from the catalog down; inherited resources are passed to the children.
    fn find_pages(&mut self) {
        let ids = self.object_offsets.keys().chain(self.packed_objects.keys());
        let mut catalogs: Vec<(u32, PdfObject)> = ids
            .map(|id| (*id, self.read_object(*id)))
            .filter(|(_, it)| it.as_dictionary().is_some_and(|it| type_name(it) == Some("Catalog")))
            .collect();
        catalogs.sort_by_key(|(id, _)| *id);
        let mut seen = HashSet::new();
        for (_, catalog) in catalogs.into_iter().rev() {
            let Some(root) = catalog.as_dictionary().and_then(|it| it.get("Pages")).cloned() else {
                continue;
            };
            let mut open = vec![(root, PdfDictionary::new())];
            while let Some((node, inherited)) = open.pop() {
                let (id, node) = self.resolve(&node);
                if id.is_some_and(|id| !seen.insert(id)) || self.pages.len() >= PAGES_MAX {
                    continue;
                }
                let PdfObject::Dictionary(mut node) = node else { continue };
                if let Some(resources) = inherited.get("Resources") {
                    node.entry("Resources".to_owned()).or_insert_with(|| resources.clone());
                }
                let kids = node.get("Kids").map(|it| self.resolve(it).1);
                match kids.as_ref().and_then(PdfObject::as_array) {
                    Some(kids) => {
                        let handed: PdfDictionary =
                            node.remove_entry("Resources").into_iter().collect();
                        open.extend(kids.iter().rev().map(|kid| (kid.clone(), handed.clone())));
                    }
                    None => self.pages.push(node),
                }
            }
            if !self.pages.is_empty() {
                return;
            }
        }
    }
}

const FONTS_MAX: usize = 500;

fn type_name(map: &PdfDictionary) -> Option<&str> {
    map.get("Type").and_then(PdfObject::as_name)
}

/// Finds everything that looks like the start of an object: two numbers and `obj`.
fn find_object_offsets(bytes: &[u8]) -> HashMap<u32, usize> {
    let mut places = HashMap::new();
    for at in memmem::find_iter(bytes, b"obj") {
        let before = bytes.get(at.saturating_sub(24)..at).unwrap_or_default();
        let mut words = before.rsplit(|byte| byte.is_ascii_whitespace() || *byte == 0);
        // There may be no whitespace between the generation number and `obj`, or more than one
        // character.
        let mut next = || words.find(|word| !word.is_empty());
        let (Some(generation), Some(id)) = (next(), next()) else { continue };
        if !generation.iter().all(u8::is_ascii_digit) {
            continue;
        }
        let start = id.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        let digits = id.get(start..).and_then(|id| std::str::from_utf8(id).ok());
        if let Some(id) = digits.and_then(|digits| digits.parse().ok()) {
            places.insert(id, at + 3);
        }
        if places.len() >= OBJECTS_MAX {
            break;
        }
    }
    places
}
