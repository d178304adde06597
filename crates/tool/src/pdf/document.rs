//! A document: where its objects are, and which of them are its pages.
//!
//! Objects are found by looking for them, not by the tables at the end: those are what is most
//! often broken. The last object of a number counts, as it is the newest.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::content;
use super::filter::unpacked;
use super::font::Font;
use super::object::{Map, Object, Reader};

const OBJECTS_MAX: usize = 1_000_000;
const PAGES_MAX: usize = 20_000;
/// Streams of objects that are unpacked.
const PACKED_MAX: usize = 20_000;
/// Bytes of all of them.
const PACKED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A reference to a reference to a reference.
const STEPS_MAX: usize = 16;

/// A document.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    bytes: &'a [u8],
    /// Where objects begin.
    places: HashMap<u32, usize>,
    /// Objects that were packed.
    packed: HashMap<u32, Object>,
    pages: Vec<Map>,
}

impl<'a> Document<'a> {
    /// Reads its structure, or says why it cannot be read.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let places = places(bytes);
        let mut document = Self { bytes, places, packed: HashMap::new(), pages: Vec::new() };
        if document.is_encrypted() {
            return Err("encrypted");
        }
        document.unpack();
        document.find_pages();
        match document.pages.is_empty() {
            true => Err("damaged: no pages were found in it"),
            false => Ok(document),
        }
    }

    /// How many pages it has.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The text of a page; the first is 0.
    pub(crate) fn text(&self, page: usize) -> String {
        let Some(page) = self.pages.get(page) else { return String::new() };
        let mut content = Vec::new();
        let parts = match page.get("Contents").map(|it| self.resolved(it)) {
            Some((_, Object::List(parts))) => parts,
            Some(_) => page.get("Contents").cloned().into_iter().collect(),
            None => Vec::new(),
        };
        for part in &parts {
            content.extend(self.stream(part).unwrap_or_default());
            content.push(b'\n');
        }
        let resources = page.get("Resources").map(|it| self.resolved(it).1).unwrap_or(Object::Null);
        content::text(self, &content, &resources)
    }

    /// The fonts of a page or of a part of one, by the names it uses.
    pub(super) fn fonts(&self, resources: &Object) -> HashMap<String, Font> {
        let fonts = resources.map().and_then(|it| it.get("Font")).map(|it| self.resolved(it).1);
        let fonts = fonts.as_ref().and_then(Object::map);
        let fonts = fonts.into_iter().flatten().take(FONTS_MAX).filter_map(|(name, font)| {
            let (_, font) = self.resolved(font);
            Some((name.clone(), Font::new(self, font.map()?)))
        });
        fonts.collect()
    }

    /// A value with references followed, and the number of the object it was found in.
    pub(super) fn resolved(&self, object: &Object) -> (Option<u32>, Object) {
        let mut object = object.clone();
        let mut number = None;
        for _ in 0..STEPS_MAX {
            let Object::Reference(id) = object else { return (number, object) };
            number = Some(id);
            object = self.object(id);
        }
        (number, Object::Null)
    }

    fn object(&self, id: u32) -> Object {
        if let Some(place) = self.places.get(&id) {
            return Reader::new(self.bytes, *place).next().unwrap_or(Object::Null);
        }
        self.packed.get(&id).cloned().unwrap_or(Object::Null)
    }

    /// What is in a stream.
    pub(super) fn stream(&self, object: &Object) -> Option<Vec<u8>> {
        let (Some(id), Object::Map(map)) = self.resolved(object) else { return None };
        self.stream_of(id, &map)
    }

    fn stream_of(&self, id: u32, map: &Map) -> Option<Vec<u8>> {
        let mut reader = Reader::new(self.bytes, *self.places.get(&id)?);
        reader.next()?;
        let rest = self.bytes.get(reader.at..)?;
        let start = memmem::find(rest.get(..64).unwrap_or(rest), b"stream")? + 6;
        let rest = rest.get(start..)?;
        let rest = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(rest);
        let said = map.get("Length").and_then(|it| self.resolved(it).1.index());
        let is_end = |at: usize| {
            let after = rest.get(at..).unwrap_or_default();
            memmem::find(after.get(..32).unwrap_or(after), b"endstream").is_some()
        };
        let end = match said.filter(|at| is_end(*at)) {
            Some(end) => end,
            None => memmem::find(rest, b"endstream")?,
        };
        unpacked(map, rest.get(..end)?)
    }

    fn is_encrypted(&self) -> bool {
        memmem::find_iter(self.bytes, b"/Encrypt").any(|at| {
            let next = self.bytes.get(at + 8).copied().unwrap_or(b' ');
            next == b' ' || next == b'<' || next.is_ascii_whitespace()
        })
    }

    /// Objects that are packed into streams.
    fn unpack(&mut self) {
        let ids: Vec<u32> = self.places.keys().copied().collect();
        let mut bytes_left = PACKED_BYTES_MAX;
        let mut streams_left = PACKED_MAX;
        for id in ids {
            let Object::Map(map) = self.object(id) else { continue };
            if map.get("Type").and_then(Object::name) != Some("ObjStm") || streams_left == 0 {
                continue;
            }
            streams_left -= 1;
            let Some(content) = self.stream_of(id, &map) else { continue };
            if content.len() > bytes_left {
                return;
            }
            bytes_left -= content.len();
            let count = map.get("N").and_then(Object::index).unwrap_or(0).min(OBJECTS_MAX);
            let first = map.get("First").and_then(Object::index).unwrap_or(0);
            let mut head = Reader::new(&content, 0);
            for _ in 0..count {
                let (Some(id), Some(at)) = (head.next(), head.next()) else { break };
                let (Some(id), Some(at)) = (id.index(), at.index()) else { break };
                let object = Reader::new(&content, first.saturating_add(at)).next();
                if let (Ok(id), Some(object)) = (u32::try_from(id), object) {
                    self.packed.insert(id, object);
                }
            }
        }
    }

    /// From the catalog down; what is inherited goes along.
    fn find_pages(&mut self) {
        let ids = self.places.keys().chain(self.packed.keys());
        let mut catalogs: Vec<(u32, Object)> = ids
            .map(|id| (*id, self.object(*id)))
            .filter(|(_, it)| it.map().is_some_and(|it| kind(it) == Some("Catalog")))
            .collect();
        catalogs.sort_by_key(|(id, _)| *id);
        let mut seen = HashSet::new();
        for (_, catalog) in catalogs.into_iter().rev() {
            let Some(root) = catalog.map().and_then(|it| it.get("Pages")).cloned() else {
                continue;
            };
            let mut open = vec![(root, Map::new())];
            while let Some((node, inherited)) = open.pop() {
                let (id, node) = self.resolved(&node);
                if id.is_some_and(|id| !seen.insert(id)) || self.pages.len() >= PAGES_MAX {
                    continue;
                }
                let Object::Map(mut node) = node else { continue };
                if let Some(resources) = inherited.get("Resources") {
                    node.entry("Resources".to_owned()).or_insert_with(|| resources.clone());
                }
                let kids = node.get("Kids").map(|it| self.resolved(it).1);
                match kids.as_ref().and_then(Object::list) {
                    Some(kids) => {
                        let handed: Map = node.remove_entry("Resources").into_iter().collect();
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

fn kind(map: &Map) -> Option<&str> {
    map.get("Type").and_then(Object::name)
}

/// Everything that looks like the beginning of an object: two numbers and a word.
fn places(bytes: &[u8]) -> HashMap<u32, usize> {
    let mut places = HashMap::new();
    for at in memmem::find_iter(bytes, b"obj") {
        let before = bytes.get(at.saturating_sub(24)..at).unwrap_or_default();
        let mut words = before.rsplit(|byte| byte.is_ascii_whitespace() || *byte == 0);
        // Between the number and the word there may be no space, or several.
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
