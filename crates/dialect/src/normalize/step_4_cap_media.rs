//! Step 4, cap media: no more images and documents than the provider takes.
//!
//! First each item by itself (type, encoding, size, pixels), then all together: oldest out first.
//! The limits on count and bytes are applied as if the items came in one by one, and make room for
//! a batch each time, so that what was out stays out and the prefix breaks rarely. An item left out
//! leaves words in its place.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    MediaDecision, MediaItemRecord, NormalizationNotes, NormalizationStep, NormalizedHistory,
    RestartFrom,
};
use crate::media_probe;
use crate::normalized_conversation::{AnswerPart, MediaPart, NormalizedConversation, UserPart};
use crate::provider_rules::ProviderRules;

/// Runs the step.
///
/// # Errors
///
/// Items sent before have to make room.
pub(crate) fn cap_media(
    projection: &mut NormalizedConversation<'_>,
    rules: &ProviderRules,
    history: &mut NormalizedHistory,
) -> Result<(), RestartFrom> {
    if !rules.media.allowed_in_failed_results {
        clear_failed_results(projection, &mut history.notes);
    }
    for (at, part) in projection.parts_mut() {
        check_media_item(part, rules, at, &mut history.notes);
    }
    let before = history.media.len();
    let items = projection.parts_mut().filter_map(|(at, part)| read_media_item(part, at, rules));
    history.media.extend(items);
    let fates = decide_media(&history.media, rules);
    for (position, (item, fate)) in history.media.iter_mut().zip(&fates).enumerate() {
        if position < before && item.decision != *fate {
            return Err(RestartFrom(item.answer_start));
        }
        item.decision = *fate;
    }
    let items = projection.parts_mut().filter(|(_, part)| matches!(part, UserPart::Media(_)));
    for ((at, part), fate) in items.zip(fates.iter().skip(before)) {
        match fate {
            MediaDecision::Sent => {}
            MediaDecision::Evicted => {
                let why = "newer images and documents took its place";
                omit_media(part, why, NormalizationStep::MediaWindow, at, &mut history.notes);
            }
            MediaDecision::TooBig => {
                let why = "it is too large to be sent with this many others";
                omit_media(part, why, NormalizationStep::ManyImages, at, &mut history.notes);
            }
        }
    }
    Ok(())
}

fn decide_media(media: &[MediaItemRecord], rules: &ProviderRules) -> Vec<MediaDecision> {
    let kept_from = find_window_start(media, rules);
    let images = media.iter().skip(kept_from).filter(|item| item.is_image).count();
    let has_many_images = images > rules.media.many_images_threshold;
    let fate = |(position, item): (usize, &MediaItemRecord)| match () {
        () if position < kept_from => MediaDecision::Evicted,
        () if has_many_images && item.is_big => MediaDecision::TooBig,
        () => MediaDecision::Sent,
    };
    media.iter().enumerate().map(fate).collect()
}

fn read_media_item(
    part: &UserPart<'_>,
    at: usize,
    rules: &ProviderRules,
) -> Option<MediaItemRecord> {
    let UserPart::Media(item) = part else { return None };
    let edge = media_probe::read_longest_edge(item.data);
    Some(MediaItemRecord {
        answer_start: at,
        bytes: item.data.len(),
        is_image: item.media_type.starts_with("image/"),
        is_big: edge.is_some_and(|edge| edge > rules.media.many_images_edge_max),
        decision: MediaDecision::Sent,
    })
}

fn clear_failed_results(
    projection: &mut NormalizedConversation<'_>,
    notes: &mut NormalizationNotes,
) {
    for exchange in &mut projection.exchanges {
        let at = exchange.start;
        for part in &mut exchange.answer {
            if let AnswerPart::Call(call) = part
                && call.result().is_error()
            {
                for part in call.result_mut().parts_mut() {
                    let why = "the result of a failed call can only hold text";
                    omit_media(part, why, NormalizationStep::FailedResult, at, notes);
                }
            }
        }
    }
}

/// One item by itself. What it is called need not be what it is.
fn check_media_item(
    part: &mut UserPart<'_>,
    rules: &ProviderRules,
    at: usize,
    notes: &mut NormalizationNotes,
) {
    let UserPart::Media(item) = part else { return };
    let problem = match detect_media_type(item, rules) {
        Err(problem) => Some(String::from(problem)),
        Ok(_) if item.data.len() > rules.media.item_bytes_max => {
            Some(format!("it is over {} bytes", rules.media.item_bytes_max))
        }
        Ok(_)
            if media_probe::read_longest_edge(item.data)
                .is_some_and(|edge| edge > rules.media.image_edge_max) =>
        {
            Some(format!("it is over {} pixels wide or high", rules.media.image_edge_max))
        }
        Ok(media_type) => {
            item.media_type = media_type;
            None
        }
    };
    if let Some(problem) = problem {
        omit_media(part, &problem, NormalizationStep::MediaItem, at, notes);
    }
}

fn detect_media_type<'a>(
    item: &MediaPart<'a>,
    rules: &ProviderRules,
) -> Result<&'a str, &'static str> {
    if !media_probe::is_base64(item.data) {
        return Err("its encoding is broken");
    }
    let sniffed = media_probe::sniff_media_type(item.data);
    let allowed = |list: &'static [&'static str], name: &str| {
        list.iter().find(|allowed| **allowed == name).copied()
    };
    if let Some(image) = sniffed.and_then(|name| allowed(rules.media.image_types, name)) {
        return Ok(image);
    }
    if let Some(document) = sniffed.and_then(|name| allowed(rules.media.document_types, name)) {
        return Ok(document);
    }
    if sniffed.is_some() || allowed(rules.media.document_types, item.media_type).is_none() {
        return Err("the provider does not take this type");
    }
    Err("its data does not match its media type")
}

/// Where the window of kept items begins.
fn find_window_start(media: &[MediaItemRecord], rules: &ProviderRules) -> usize {
    let count_low = rules.media.count_max.saturating_sub(rules.media.count_batch);
    let bytes_low = rules.media.total_bytes_max / 4 * 3;
    let mut start = 0_usize;
    let mut bytes = 0_usize;
    for (position, item) in media.iter().enumerate() {
        bytes = bytes.saturating_add(item.bytes);
        let count = |start: usize| (position + 1).saturating_sub(start);
        if count(start) <= rules.media.count_max && bytes <= rules.media.total_bytes_max {
            continue;
        }
        while count(start) > 1 && (count(start) > count_low || bytes > bytes_low) {
            bytes = bytes.saturating_sub(media.get(start).map_or(0, |first| first.bytes));
            start += 1;
        }
    }
    start
}

fn omit_media(
    part: &mut UserPart<'_>,
    why: &str,
    step: NormalizationStep,
    at: usize,
    notes: &mut NormalizationNotes,
) {
    if let UserPart::Media(item) = part {
        let text = UserPart::omitted_media(item.name, why);
        notes.add(step, at, format!("{} was left out: {why}", item.name));
        *part = text;
    }
}
