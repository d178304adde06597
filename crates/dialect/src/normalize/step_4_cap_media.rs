//! Step 4, cap media: no more images and documents than the provider takes.
//!
//! First each item by itself (type, encoding, size, pixels), then all together: oldest out first.
//! The limits on count and bytes are applied as if the items came in one by one, and make room for
//! a batch each time, so that what was out stays out and the prefix breaks rarely. An item left out
//! leaves words in its place.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Notes;
use crate::law::Law;
use crate::picture;
use crate::projection::{AnswerPart, MediaPart, Projection, UserPart};

/// Runs the step.
pub(crate) fn cap(projection: &mut Projection<'_>, law: &Law, notes: &mut Notes) {
    if !law.media_in_failed_results {
        clear_failed_results(projection, notes);
    }
    for part in projection.parts_mut() {
        judge(part, law, notes);
    }
    let mut media: Vec<&mut UserPart<'_>> =
        projection.parts_mut().filter(|part| matches!(part, UserPart::Media(_))).collect();
    let kept_from = window(&media, law);
    for part in media.iter_mut().take(kept_from) {
        leave_out(part, "newer images and documents took its place", notes);
    }
    let images = media.iter().filter(|part| is_image(part)).count();
    if images > law.image_crowd {
        for part in &mut media {
            let too_big = matches!(part, UserPart::Media(item)
                if picture::edge(item.data).is_some_and(|edge| edge > law.image_crowd_edge_max));
            if too_big {
                leave_out(part, "it is too large to be sent with this many others", notes);
            }
        }
    }
}

fn clear_failed_results(projection: &mut Projection<'_>, notes: &mut Notes) {
    for part in projection.exchanges.iter_mut().flat_map(|exchange| &mut exchange.answer) {
        if let AnswerPart::Call(call) = part
            && call.result().is_error()
        {
            for part in call.result_mut().parts_mut() {
                leave_out(part, "the result of a failed call can only hold text", notes);
            }
        }
    }
}

/// One item by itself. What it is called need not be what it is.
fn judge<'a>(part: &mut UserPart<'a>, law: &Law, notes: &mut Notes) {
    let UserPart::Media(item) = part else { return };
    let problem = match real_type(item, law) {
        Err(problem) => Some(String::from(problem)),
        Ok(_) if item.data.len() > law.media_item_bytes_max => {
            Some(format!("it is over {} bytes", law.media_item_bytes_max))
        }
        Ok(_) if picture::edge(item.data).is_some_and(|edge| edge > law.image_edge_max) => {
            Some(format!("it is over {} pixels wide or high", law.image_edge_max))
        }
        Ok(media_type) => {
            item.media_type = media_type;
            None
        }
    };
    if let Some(problem) = problem {
        leave_out(part, &problem, notes);
    }
}

fn real_type<'a>(item: &MediaPart<'a>, law: &Law) -> Result<&'a str, &'static str> {
    if !picture::is_base64(item.data) {
        return Err("its encoding is broken");
    }
    let sniffed = picture::sniff(item.data);
    let allowed = |list: &'static [&'static str], name: &str| {
        list.iter().find(|allowed| **allowed == name).copied()
    };
    if let Some(image) = sniffed.and_then(|name| allowed(law.image_types, name)) {
        return Ok(image);
    }
    if let Some(document) = sniffed.and_then(|name| allowed(law.document_types, name)) {
        return Ok(document);
    }
    if sniffed.is_some() || allowed(law.document_types, item.media_type).is_none() {
        return Err("the provider does not take this type");
    }
    Err("it is not what it is called")
}

/// Where the window of kept items begins.
fn window(media: &[&mut UserPart<'_>], law: &Law) -> usize {
    let count_low = law.media_count_max.saturating_sub(law.media_count_batch);
    let bytes_low = law.media_total_bytes_max / 4 * 3;
    let (mut kept, mut bytes): (VecDeque<usize>, usize) = (VecDeque::new(), 0);
    for part in media {
        kept.push_back(size(part));
        bytes = bytes.saturating_add(size(part));
        if kept.len() <= law.media_count_max && bytes <= law.media_total_bytes_max {
            continue;
        }
        while kept.len() > 1 && (kept.len() > count_low || bytes > bytes_low) {
            bytes = bytes.saturating_sub(kept.pop_front().unwrap_or(0));
        }
    }
    media.len().saturating_sub(kept.len())
}

fn size(part: &UserPart<'_>) -> usize {
    match part {
        UserPart::Media(item) => item.data.len(),
        UserPart::Text(_) => 0,
    }
}

fn is_image(part: &UserPart<'_>) -> bool {
    matches!(part, UserPart::Media(item) if item.media_type.starts_with("image/"))
}

fn leave_out(part: &mut UserPart<'_>, why: &str, notes: &mut Notes) {
    if let UserPart::Media(item) = part {
        let text = UserPart::left_out(item.name, why);
        notes.add(format!("{} was left out: {why}", item.name));
        *part = text;
    }
}
