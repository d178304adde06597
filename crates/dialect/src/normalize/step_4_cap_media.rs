//! Step 4, cap media: no more images and documents than the provider takes.
//!
//! First each item by itself (type, encoding, size, pixels), then all together: oldest out first.
//! The limits on count and bytes are applied as if the items came in one by one, and make room for
//! a batch each time, so that what was out stays out and the prefix breaks rarely. An item left out
//! leaves words in its place.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Fate, GoBack, MediaFact, Notes, Past, Step};
use crate::law::Law;
use crate::picture;
use crate::projection::{AnswerPart, MediaPart, Projection, UserPart};

/// Runs the step.
///
/// # Errors
///
/// Items sent before have to make room.
pub(crate) fn cap(
    projection: &mut Projection<'_>,
    law: &Law,
    past: &mut Past,
) -> Result<(), GoBack> {
    if !law.media_in_failed_results {
        clear_failed_results(projection, &mut past.notes);
    }
    for (at, part) in projection.parts_mut() {
        judge(part, law, at, &mut past.notes);
    }
    let before = past.media.len();
    let items = projection.parts_mut().filter_map(|(at, part)| fact(part, at, law));
    past.media.extend(items);
    let fates = fates(&past.media, law);
    for (position, (item, fate)) in past.media.iter_mut().zip(&fates).enumerate() {
        if position < before && item.fate != *fate {
            return Err(GoBack(item.at));
        }
        item.fate = *fate;
    }
    let items = projection.parts_mut().filter(|(_, part)| matches!(part, UserPart::Media(_)));
    for ((at, part), fate) in items.zip(fates.iter().skip(before)) {
        match fate {
            Fate::Sent => {}
            Fate::MadeRoom => {
                let why = "newer images and documents took its place";
                leave_out(part, why, Step::MediaWindow, at, &mut past.notes);
            }
            Fate::TooBig => {
                let why = "it is too large to be sent with this many others";
                leave_out(part, why, Step::MediaCrowd, at, &mut past.notes);
            }
        }
    }
    Ok(())
}

fn fates(media: &[MediaFact], law: &Law) -> Vec<Fate> {
    let kept_from = window(media, law);
    let images = media.iter().skip(kept_from).filter(|item| item.is_image).count();
    let is_crowd = images > law.image_crowd;
    let fate = |(position, item): (usize, &MediaFact)| match () {
        () if position < kept_from => Fate::MadeRoom,
        () if is_crowd && item.is_big => Fate::TooBig,
        () => Fate::Sent,
    };
    media.iter().enumerate().map(fate).collect()
}

fn fact(part: &UserPart<'_>, at: usize, law: &Law) -> Option<MediaFact> {
    let UserPart::Media(item) = part else { return None };
    let edge = picture::edge(item.data);
    Some(MediaFact {
        at,
        bytes: item.data.len(),
        is_image: item.media_type.starts_with("image/"),
        is_big: edge.is_some_and(|edge| edge > law.image_crowd_edge_max),
        fate: Fate::Sent,
    })
}

fn clear_failed_results(projection: &mut Projection<'_>, notes: &mut Notes) {
    for exchange in &mut projection.exchanges {
        let at = exchange.start;
        for part in &mut exchange.answer {
            if let AnswerPart::Call(call) = part
                && call.result().is_error()
            {
                for part in call.result_mut().parts_mut() {
                    let why = "the result of a failed call can only hold text";
                    leave_out(part, why, Step::FailedResult, at, notes);
                }
            }
        }
    }
}

/// One item by itself. What it is called need not be what it is.
fn judge(part: &mut UserPart<'_>, law: &Law, at: usize, notes: &mut Notes) {
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
        leave_out(part, &problem, Step::MediaItem, at, notes);
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
fn window(media: &[MediaFact], law: &Law) -> usize {
    let count_low = law.media_count_max.saturating_sub(law.media_count_batch);
    let bytes_low = law.media_total_bytes_max / 4 * 3;
    let (mut start, mut bytes) = (0_usize, 0_usize);
    for (position, item) in media.iter().enumerate() {
        bytes = bytes.saturating_add(item.bytes);
        let count = |start: usize| (position + 1).saturating_sub(start);
        if count(start) <= law.media_count_max && bytes <= law.media_total_bytes_max {
            continue;
        }
        while count(start) > 1 && (count(start) > count_low || bytes > bytes_low) {
            bytes = bytes.saturating_sub(media.get(start).map_or(0, |first| first.bytes));
            start += 1;
        }
    }
    start
}

fn leave_out(part: &mut UserPart<'_>, why: &str, step: Step, at: usize, notes: &mut Notes) {
    if let UserPart::Media(item) = part {
        let text = UserPart::left_out(item.name, why);
        notes.add(step, at, format!("{} was left out: {why}", item.name));
        *part = text;
    }
}
