//! Decodes stream filters, with a limit on the output.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

use crate::object::{PdfDictionary, PdfObject};

const UNPACKED_BYTES_MAX: usize = 32 * 1024 * 1024;
const FILTERS_MAX: usize = 4;

/// The decoded content of a stream; `None` for an unsupported filter.
pub(super) fn decode_stream(map: &PdfDictionary, packed: &[u8]) -> Option<Vec<u8>> {
    let filters: Vec<&str> = match map.get("Filter") {
        None | Some(PdfObject::Null) => Vec::new(),
        Some(PdfObject::Array(list)) => list.iter().filter_map(PdfObject::as_name).collect(),
        Some(one) => one.as_name().into_iter().collect(),
    };
    let parameters =
        map.get("DecodeParms").map(|it| it.as_array().and_then(<[_]>::last).unwrap_or(it));
    let mut content = packed.to_vec();
    for filter in filters.into_iter().take(FILTERS_MAX) {
        content = match filter {
            "FlateDecode" | "Fl" => inflate(&content)?,
            "ASCIIHexDecode" | "AHx" => decode_hex(&content),
            "ASCII85Decode" | "A85" => decode_ascii85(&content),
            _ => return None,
        };
    }
    let number = |name: &str| parameters?.as_dictionary()?.get(name)?.as_index();
    match number("Predictor") {
        Some(10..) => Some(undo_predictor(&content, number("Columns").unwrap_or(1))),
        _ => Some(content),
    }
}

/// On an error, keeps what was decompressed before it.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    match decompress_to_vec_zlib_with_limit(packed, UNPACKED_BYTES_MAX) {
        Ok(content) => Some(content),
        Err(error) if error.status == TINFLStatus::HasMoreOutput => None,
        Err(error) if !error.output.is_empty() => Some(error.output),
        Err(_) => None,
    }
}

fn decode_hex(packed: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = packed
        .iter()
        .take_while(|byte| **byte != b'>')
        .filter_map(|byte| char::from(*byte).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

fn decode_ascii85(packed: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut group: Vec<u8> = Vec::new();
    for byte in packed {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => content.extend([0; 4]),
            b'!'..=b'u' => group.push(byte - b'!'),
            _ => {}
        }
        if group.len() == 5 {
            content.extend(ascii85_group_to_bytes(&group));
            group.clear();
        }
    }
    if group.len() > 1 {
        let length = group.len() - 1;
        group.resize(5, 84);
        content.extend(ascii85_group_to_bytes(&group).into_iter().take(length));
    }
    content
}

fn ascii85_group_to_bytes(group: &[u8]) -> [u8; 4] {
    let number = group
        .iter()
        .fold(0_u32, |number, digit| number.wrapping_mul(85).wrapping_add(u32::from(*digit)));
    number.to_be_bytes()
}

/// Undoes the PNG row predictors Sub and Up, which cross-reference and object streams use.
fn undo_predictor(content: &[u8], columns: usize) -> Vec<u8> {
    let columns = columns.clamp(1, 4_096);
    let mut above = vec![0_u8; columns];
    let mut whole = Vec::with_capacity(content.len());
    for row in content.chunks(columns + 1) {
        let Some((kind, row)) = row.split_first() else { break };
        let mut left = 0_u8;
        let mut current = Vec::with_capacity(columns);
        for (byte, up) in row.iter().zip(&above) {
            let byte = match kind {
                1 => byte.wrapping_add(left),
                2 => byte.wrapping_add(*up),
                _ => *byte,
            };
            left = byte;
            current.push(byte);
        }
        whole.extend_from_slice(&current);
        current.resize(columns, 0);
        above = current;
    }
    whole
}
