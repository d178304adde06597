//! The W3C `traceparent` header.

use windlass_vocabulary::to_hex;

use crate::record::SpanContext;

/// Parses `00-<trace>-<span>-<flags>`. For an unknown version, the first four fields are used; ids
/// that are all zero and version `ff` are invalid.
#[must_use]
pub(crate) fn parse_traceparent(text: &str) -> Option<SpanContext> {
    let mut fields = text.trim().split('-');
    let (version, trace, span, flags) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let [version] = parse_hex::<1>(version)?;
    parse_hex::<1>(flags)?;
    if version == 0xff || (version == 0 && fields.next().is_some()) {
        return None;
    }
    let context = SpanContext { trace: parse_hex(trace)?, span: parse_hex(span)? };
    (context.trace != [0; 16] && context.span != [0; 8]).then_some(context)
}

/// Always with the sampled flag, because we send all spans.
#[must_use]
pub(crate) fn format_traceparent(context: &SpanContext) -> String {
    format!("00-{}-{}-01", to_hex(&context.trace), to_hex(&context.span))
}

fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_place_is_one() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = parse_traceparent(good).unwrap();
        assert_eq!(format_traceparent(&context), good);
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-else";
        assert_eq!(parse_traceparent(later), Some(context));
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01",
        ] {
            assert_eq!(parse_traceparent(bad), None, "{bad}");
        }
    }
}
