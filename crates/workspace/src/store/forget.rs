//! Removes contents that no live snapshot refers to.
//!
//! Wasteful segments are rewritten: the live records are copied and synced before the old file is
//! removed. A kill in between leaves duplicates, never a loss.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::pack_names::{DigestHalf, PackRow, to_half};
use super::{ContentStore, HEADER_BYTES, RecordPlace, StoreState, read_table, segment_path};
use crate::digest::ContentDigest;
use crate::error::WorkspaceError;
use crate::held_objects::forget_lost;
use crate::store::segment::{read_header, read_stored};

impl ContentStore {
    /// Keeps only the contents in `live`. Returns the bytes freed; fails with `InUse` while another
    /// process uses the store.
    pub(crate) fn forget(&self, live: &HashSet<ContentDigest>) -> Result<u64, WorkspaceError> {
        self.lock.run_alone(|| self.forget_alone(live))
    }

    fn forget_alone(&self, live: &HashSet<ContentDigest>) -> Result<u64, WorkspaceError> {
        self.sync()?;
        // Includes contents other processes have added since this one opened the store.
        self.load_added()?;
        let before = self.state().total();
        let halves: HashSet<DigestHalf> = live.iter().map(to_half).collect();
        let old = self.find_wasteful_segments(&halves);
        let freed = match old.is_empty() {
            true => 0,
            false => {
                self.state().is_forgetting = true;
                let rewritten = self.rewrite_segments(&old, &halves, before);
                self.state().is_forgetting = false;
                rewritten?
            }
        };
        self.state().pack_names.retain(&halves);
        self.forget_packs(!live.is_empty());
        Ok(freed)
    }

    /// Removes held packs that the repository no longer has, except those that contents are read
    /// from.
    fn forget_packs(&self, has_snapshots: bool) {
        let packs = self.packs();
        let needed = packs.retain_shared().list_missing(self.state().pack_names.list_names());
        forget_lost(&self.folder, has_snapshots, &packs.find_holders(&needed));
        self.reopen_packs();
    }

    fn rewrite_segments(
        &self,
        old: &HashSet<u32>,
        live: &HashSet<DigestHalf>,
        before: u64,
    ) -> Result<u64, WorkspaceError> {
        self.copy_live_records(old, live)?;
        self.copy_live_names(old, live);
        self.sync()?;
        let mut state = self.state();
        state.pack_names.tables.retain(|(segment, _)| !old.contains(segment));
        state.index.retain(|_, place| !old.contains(&place.segment));
        state.losses += 1;
        for number in old {
            state.segments.remove(number);
            let path = segment_path(&self.folder, *number);
            self.hook.before("remove segment");
            std::fs::remove_file(&path)
                .map_err(|error| WorkspaceError::disk("remove", &path, error))?;
        }
        let freed = before.saturating_sub(state.total());
        // Freed bytes no longer count towards the session's limit.
        state.added = state.added.saturating_sub(freed);
        drop(state);
        self.sync_folder()?;
        self.measure_room()?;
        Ok(freed)
    }

    /// Segments of which at least a quarter can be freed. Fully live segments are kept.
    fn find_wasteful_segments(&self, live: &HashSet<DigestHalf>) -> HashSet<u32> {
        let mut state = self.state();
        let mut live_bytes: HashMap<u32, u64> = HashMap::new();
        for (half, place) in &state.index {
            let length = live
                .contains(half)
                .then(|| state.segments.get(&place.segment))
                .flatten()
                .and_then(|segment| read_header(&segment.file, place.offset))
                .map_or(0, |header| HEADER_BYTES as u64 + u64::from(header.stored_length));
            *live_bytes.entry(place.segment).or_default() += length;
        }
        for (segment, rows) in state.read_tables() {
            let alive = rows.iter().filter(|row| live.contains(&row.half)).count() as u64;
            *live_bytes.entry(segment).or_default() += alive * PackRow::BYTES;
        }
        let wasteful: HashSet<u32> = state
            .segments
            .iter()
            .filter(|(number, segment)| {
                let alive = live_bytes.get(number).copied().unwrap_or(0);
                (segment.length.saturating_sub(alive)) * 4 >= segment.length.max(1)
            })
            .map(|(number, _)| *number)
            .collect();
        // Copied records must go to a segment that stays.
        if state.current.is_some_and(|current| wasteful.contains(&current)) {
            state.current = None;
        }
        wasteful
    }

    fn copy_live_names(&self, old: &HashSet<u32>, live: &HashSet<DigestHalf>) {
        let mut state = self.state();
        for (segment, rows) in state.read_tables() {
            let rows = rows.into_iter().filter(|row| live.contains(&row.half));
            rows.filter(|_| old.contains(&segment)).for_each(|row| state.pack_names.add(row));
        }
        state.is_synced = false;
    }

    fn copy_live_records(
        &self,
        old: &HashSet<u32>,
        live: &HashSet<DigestHalf>,
    ) -> Result<(), WorkspaceError> {
        let mut moving: Vec<(DigestHalf, RecordPlace)> = self
            .state()
            .index
            .iter()
            .filter(|(half, place)| old.contains(&place.segment) && live.contains(*half))
            .map(|(half, place)| (*half, *place))
            .collect();
        // In the order of the files, so that they are read from start to end.
        moving.sort_unstable_by_key(|(_, place)| (place.segment, place.offset));
        for (half, RecordPlace { segment: number, offset }) in moving {
            let mut state = self.state();
            let Some(segment) = state.segments.get(&number) else { continue };
            let file = Arc::clone(&segment.file);
            let copied = read_header(&file, offset)
                .and_then(|header| Some((header, read_stored(&file, offset, &header)?)));
            // A damaged record is not copied and becomes unavailable.
            let Some((header, stored)) = copied else {
                state.index.remove(&half);
                continue;
            };
            let mut record = header.encode();
            record.extend_from_slice(&stored);
            // Copied records do not count towards the session's limit.
            let added = state.added;
            self.append(&mut state, Some(header.digest), &record)?;
            state.added = added;
        }
        Ok(())
    }
}

impl StoreState {
    /// Every readable table with its segment.
    fn read_tables(&self) -> Vec<(u32, Vec<PackRow>)> {
        let read = |(segment, offset): &(u32, u32)| {
            Some((*segment, read_table(&self.segments.get(segment)?.file, *offset)?))
        };
        self.pack_names.tables.iter().filter_map(read).collect()
    }
}
