//! Git's delta format: copies from a base object and inserted bytes.

use crate::folder_record::ByteReader;

/// Returns the resulting object; `None` when the delta is malformed or not for `base`, or when the
/// result has more than `limit` bytes.
pub(super) fn apply_delta(base: &[u8], delta: &[u8], limit: u64) -> Option<Vec<u8>> {
    let mut reader = ByteReader { rest: delta };
    if take_size(&mut reader)? != base.len() as u64 {
        return None;
    }
    let size = take_size(&mut reader).filter(|size| *size <= limit)?;
    let size = usize::try_from(size).ok()?;
    let mut result = Vec::with_capacity(size);
    while !reader.rest.is_empty() {
        let piece = match reader.take_u8()? {
            0 => return None,
            copy if copy & 0x80 != 0 => {
                let start = take_parts(&mut reader, copy, 4)?;
                let length = match take_parts(&mut reader, copy >> 4, 3)? {
                    0 => 0x1_0000,
                    length => length,
                };
                base.get(start..start.checked_add(length)?)?
            }
            length => reader.take(usize::from(length))?,
        };
        if result.len() + piece.len() > size {
            return None;
        }
        result.extend_from_slice(piece);
    }
    (result.len() == size).then_some(result)
}

/// Seven bits per byte, lowest first.
fn take_size(reader: &mut ByteReader<'_>) -> Option<u64> {
    let mut size = 0;
    for shift in (0..63).step_by(7) {
        let byte = reader.take_u8()?;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}

/// A little-endian number whose zero bytes are left out; `present` has one bit per byte.
fn take_parts(reader: &mut ByteReader<'_>, present: u8, count: u32) -> Option<usize> {
    let mut value = 0;
    for part in 0..count {
        if present & (1 << part) != 0 {
            value |= usize::from(reader.take_u8()?) << (8 * part);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_own_bytes_make_the_newer_object() {
        let base = b"one two three";
        // Copy four bytes from offset 4, insert three, copy five from offset 8.
        let delta = [13, 12, 0x90, 4, 3, b'a', b'n', b'd', 0x91, 8, 5];
        assert_eq!(apply_delta(base, &delta, 100).as_deref(), Some(b"one andthree".as_slice()));
        assert_eq!(apply_delta(base, &delta, 11), None, "more than is wanted");
        assert_eq!(apply_delta(b"another", &delta, 100), None);
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow() {
        let base = [7; 300];
        let mut seed = 1_u64;
        for _ in 0..50_000 {
            let mut delta = vec![0xac, 0x02];
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                delta.push((seed >> 33) as u8);
            }
            let made = apply_delta(&base, &delta, 1_000);
            assert!(made.is_none_or(|bytes| bytes.len() <= 1_000));
        }
    }
}
