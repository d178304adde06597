//! A folder with its snapshots: ties together root, store and look cache.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cancel_flag::CancelFlag;
use crate::change::{collect_live, collect_uncovered, compare_snapshots, list_uncovered};
use crate::copy::{CopyReport, CopyRequest, copy_snapshot};
use crate::digest::{ContentDigest, SnapshotId};
use crate::disk_hook::DiskHook;
use crate::error::WorkspaceError;
use crate::held_objects::{HeldObjects, measure_lost, take_objects};
use crate::look::{CachedFolder, SnapshotReport, WalkSettings, load_cache, look, save_cache};
use crate::options::{LookDepth, WorkspaceOptions};
use crate::overlay::{
    CarryOver, OverlayPlan, OverlayReport, OverlayTrial, TrialFiles, UncoveredSets, UpperFolder,
    carry_over, plan_copied,
};
use crate::pack::{PackOptions, PackReport, pack_snapshot, unpack_snapshot};
use crate::path_image::{PathChange, PathImage, UncoveredPath};
use crate::raw_stat::device_of;
use crate::relative_path::RelativePath;
use crate::restore::{
    RestoreConsent, RestorePlan, RestoreReport, RestoreSite, SnapshotBatch, build_plan, carry_out,
    finish, has_log, list_batch_changes,
};
use crate::root_folder::RootFolder;
use crate::store::{ContentStore, RestoreLock, StoreUsage};

const CACHE_NAME: &str = "look-cache";

/// One per root and process. Processes share the store of a root.
#[derive(Debug)]
pub struct Workspace {
    root: RootFolder,
    store: ContentStore,
    options: WorkspaceOptions,
    cache: Option<Arc<CachedFolder>>,
    is_cache_saved: bool,
    /// `ContentStore::losses` at the last look of this process; `None` before the first.
    looked_at_losses: Option<u64>,
    /// The file system's times are unreliable: every look reads every file.
    has_poor_times: bool,
    held_objects: HeldObjects,
    hook: DiskHook,
}

impl Workspace {
    /// Opens the store, creating it if it is missing, and loads its index. Does not look at the
    /// tree.
    ///
    /// # Errors
    /// `RootIsHome` for the file system's root, the home folder and everything above it; `Disk`
    /// when the root or the store cannot be opened.
    pub fn open(
        root: &Path,
        store: &Path,
        options: WorkspaceOptions,
    ) -> Result<Self, WorkspaceError> {
        let root = RootFolder::open(root)?;
        let home = options.home.as_ref().and_then(|home| home.canonicalize().ok());
        if root.path.parent().is_none() || home.is_some_and(|home| home.starts_with(&root.path)) {
            return Err(WorkspaceError::RootIsHome(root.path));
        }
        let hook = DiskHook::default();
        let store = ContentStore::open(store, &options.limits, &hook)?;
        let cache = load_cache(&store.folder().join(CACHE_NAME), &root, options.is_overlay);
        let has_poor_times = has_poor_times(&root);
        let held_objects = HeldObjects::new(store.folder());
        let is_cache_saved = cache.is_some() || options.is_overlay;
        Ok(Self {
            root,
            store,
            options,
            cache,
            is_cache_saved,
            looked_at_losses: None,
            has_poor_times,
            held_objects,
            hook,
        })
    }

    /// The root as an absolute path without symlinks.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.path
    }

    /// Takes a snapshot. Its contents are on disk when this returns.
    ///
    /// # Errors
    /// `TooManyPaths` and `TooSlow` above the limits, `Cancelled`, `NoRoom` when not even the
    /// folder records can be stored, and `Disk`.
    pub fn look(
        &mut self,
        depth: LookDepth,
        cancel: &CancelFlag,
    ) -> Result<SnapshotReport, WorkspaceError> {
        self.look_covering(depth, &[], cancel)
    }

    /// A look that also covers what these snapshots cover. Ignore rules may have changed since, and
    /// what a restore is about must not be left out for that.
    fn look_covering(
        &mut self,
        depth: LookDepth,
        covered_in: &[SnapshotId],
        cancel: &CancelFlag,
    ) -> Result<SnapshotReport, WorkspaceError> {
        self.follow_root()?;
        if self.cache.is_none() {
            // The first look reads everything; with git's packs held before, it need not store what
            // they have.
            self.hold_objects(&[RelativePath::root().join(b".git").join(b"objects")]);
        }
        self.store.check_packs();
        let losses = self.store.losses();
        let settings = WalkSettings {
            limits: &self.options.limits,
            ignore_patterns: &self.options.ignore_patterns,
            excluded_folders: &self.options.excluded_folders,
            content_filter: &self.options.content_filter,
            keeps_refused: self.options.keeps_refused,
            refers_to_packs: self.options.refers_to_packs,
            may_trust_cache: depth == LookDepth::Quick && !self.has_poor_times,
            keeps_coverage: self.looked_at_losses.is_some(),
            covered_in,
            must_ask_store: self.looked_at_losses != Some(losses),
            cancel,
        };
        let result = look(&self.root, &self.store, self.cache.as_ref(), settings)?;
        let is_first = self.cache.is_none();
        self.cache = Some(result.cache);
        self.is_cache_saved = self.options.is_overlay;
        self.looked_at_losses = Some(losses);
        self.hold_objects(&result.git_objects);
        if is_first && !self.options.is_overlay {
            self.save_cache();
        }
        Ok(result.report)
    }

    /// Does nothing on an overlay, whose objects are those of the folder below it.
    fn hold_objects(&mut self, folders: &[RelativePath]) {
        let is_there = |objects: &&RelativePath| self.root.open_folder(objects).is_ok();
        let folders: Vec<_> = folders.iter().filter(is_there).collect();
        let mut has_new_packs = false;
        for objects in folders.into_iter().filter(|_| !self.options.is_overlay) {
            let must_keep_packs = self.store.refers_to_packs();
            has_new_packs |= self.held_objects.hold(&self.root, objects, must_keep_packs);
        }
        if has_new_packs {
            self.store.reopen_packs();
        }
    }

    /// The differences between two snapshots, sorted by path. Git's own state is included; see
    /// `RelativePath::is_git_state`.
    ///
    /// # Errors
    /// `NotKept` when a snapshot is not, or no longer, in the store.
    pub fn changes(
        &self,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<Vec<PathChange>, WorkspaceError> {
        compare_snapshots(&self.store, from, to)
    }

    /// Reads a stored content and verifies its digest.
    ///
    /// # Errors
    /// `NotKept` when it is missing or damaged.
    pub fn read(&self, content: &ContentDigest) -> Result<Vec<u8>, WorkspaceError> {
        self.store.read(content)
    }

    /// Whether the store still has this snapshot's root record.
    #[must_use]
    pub fn has_snapshot(&self, snapshot: SnapshotId) -> bool {
        self.store.read_folder(&snapshot.digest()).is_ok()
    }

    /// The uncovered paths of a snapshot, as in `SnapshotReport::uncovered` when it was taken.
    ///
    /// # Errors
    /// `NotKept` when the snapshot is not in the store.
    pub fn uncovered(&self, snapshot: SnapshotId) -> Result<Vec<UncoveredPath>, WorkspaceError> {
        list_uncovered(&self.store, snapshot)
    }

    /// The changes of a batch of effects, without those of other sessions meanwhile.
    ///
    /// # Errors
    /// Those of `changes`.
    pub fn batch_changes(&self, batch: &SnapshotBatch) -> Result<Vec<PathChange>, WorkspaceError> {
        list_batch_changes(&self.store, batch)
    }

    /// Like `plan_batches`, without batches of other sessions.
    ///
    /// # Errors
    /// Those of `plan_batches`.
    pub fn plan(
        &mut self,
        to: SnapshotId,
        ours: &[(SnapshotId, SnapshotId)],
        cancel: &CancelFlag,
    ) -> Result<RestorePlan, WorkspaceError> {
        let alone = |(before, after): &(SnapshotId, SnapshotId)| SnapshotBatch {
            before: *before,
            after: *after,
            beside: Vec::new(),
            proof: None,
        };
        self.plan_batches(to, &ours.iter().map(alone).collect::<Vec<SnapshotBatch>>(), cancel)
    }

    /// Takes a look and plans the restore of a snapshot. `ours` are our batches of effects since
    /// the target, oldest first; every other difference is attributed to other programs.
    ///
    /// # Errors
    /// Those of `look`; `NotKept` when a snapshot is not in the store.
    pub fn plan_batches(
        &mut self,
        to: SnapshotId,
        ours: &[SnapshotBatch],
        cancel: &CancelFlag,
    ) -> Result<RestorePlan, WorkspaceError> {
        let last = ours.last().map(|batch| batch.after);
        let covered_in: Vec<SnapshotId> = [to].into_iter().chain(last).collect();
        let current = self.look_covering(LookDepth::Quick, &covered_in, cancel)?.id;
        build_plan(&self.root, &self.store, &crate::restore::PlanRequest { to, current, ours })
    }

    /// Carries out a plan. When cancelled, stops between two files; the report lists what was done
    /// and what was not.
    ///
    /// # Errors
    /// `InUse` while another process restores, `UnfinishedRestore`, and `Disk` when the restore log
    /// cannot be written; nothing was changed then.
    pub fn carry_out(
        &mut self,
        plan: &RestorePlan,
        consent: &RestoreConsent,
        cancel: &CancelFlag,
    ) -> Result<RestoreReport, WorkspaceError> {
        let _lock = self.lock_restore()?;
        self.follow_root()?;
        self.carry_out_locked(plan, consent, cancel)
    }

    /// One process at a time restores, and only after an interrupted restore was finished.
    fn lock_restore(&self) -> Result<RestoreLock, WorkspaceError> {
        let lock = RestoreLock::acquire(self.store.folder())?;
        match self.has_unfinished_restore() {
            true => Err(WorkspaceError::UnfinishedRestore),
            false => Ok(lock),
        }
    }

    fn carry_out_locked(
        &mut self,
        plan: &RestorePlan,
        consent: &RestoreConsent,
        cancel: &CancelFlag,
    ) -> Result<RestoreReport, WorkspaceError> {
        let mut report = carry_out(&self.restore_site(), plan, consent, cancel)?;
        self.look_after(&mut report, &[plan.target, plan.current]);
        Ok(report)
    }

    /// Takes a look and plans accepting a trial. Paths the trial did not touch are left out, even
    /// if they changed.
    ///
    /// # Errors
    /// Those of `plan`; `Disk` when the overlay's upper folder cannot be read.
    pub fn plan_trial(
        &mut self,
        trial: &OverlayTrial,
        cancel: &CancelFlag,
    ) -> Result<OverlayPlan, WorkspaceError> {
        // The way from the trial's end back to its beginning counts as our batch, so its changes
        // are ours.
        let mut restore = self.plan(trial.after, &[(trial.after, trial.before)], cancel)?;
        let upper = match &trial.files {
            TrialFiles::Overlay(upper) => upper,
            TrialFiles::Copy(_) => {
                plan_copied(&self.store, trial, &mut restore.steps)?;
                return Ok(OverlayPlan { restore, moves: Vec::new() });
            }
        };
        let uncovered = UncoveredSets {
            before: collect_uncovered(&self.store, trial.before)?,
            after: collect_uncovered(&self.store, trial.after)?,
        };
        let upper = UpperFolder::read(upper, &self.root, &uncovered, trial.began)?;
        restore.steps.retain(|step| {
            let is_moved = matches!(step.target, PathImage::Uncovered { .. })
                || uncovered.before.contains(&step.path) && step.target == PathImage::Absent;
            upper.covers(&step.path) && !is_moved
        });
        Ok(OverlayPlan { restore, moves: upper.into_moves() })
    }

    /// Accepts a trial as planned. A kill leaves either `has_unfinished_restore`, or a trial that
    /// can be planned and accepted again.
    ///
    /// # Errors
    /// Those of `carry_out`.
    pub fn accept_trial(
        &mut self,
        trial: &OverlayTrial,
        plan: &OverlayPlan,
        consent: &RestoreConsent,
        cancel: &CancelFlag,
    ) -> Result<OverlayReport, WorkspaceError> {
        // Before the first file: nothing begins while another process restores.
        let _lock = self.lock_restore()?;
        self.follow_root()?;
        // First, because git's objects must exist before the refs that name them.
        let not_moved = match &trial.files {
            TrialFiles::Overlay(upper) => {
                let began = trial.began;
                let root = &self.root;
                let hook = &self.hook;
                carry_over(&CarryOver { root, upper, began, consent, hook }, &plan.moves)
            }
            TrialFiles::Copy(copy) => {
                let paths = plan.restore.steps.iter().map(|step| &step.path);
                take_objects(&self.root, copy, paths);
                Vec::new()
            }
        };
        let restore = self.carry_out_locked(&plan.restore, consent, cancel)?;
        Ok(OverlayReport { restore, not_moved })
    }

    /// Whether a crash interrupted a restore.
    #[must_use]
    pub fn has_unfinished_restore(&self) -> bool {
        has_log(&self.store)
    }

    /// Completes an interrupted restore; `None` if there is none. Call it after `open`.
    ///
    /// # Errors
    /// Those of `carry_out`; `DamagedRestoreLog` when the restore log cannot be read. It is then
    /// set aside, and nothing else is changed.
    pub fn finish(&mut self) -> Result<Option<RestoreReport>, WorkspaceError> {
        let _lock = RestoreLock::acquire(self.store.folder())?;
        self.follow_root()?;
        let Some(mut report) = finish(&self.restore_site())? else { return Ok(None) };
        let before = report.before;
        self.look_after(&mut report, &[before]);
        Ok(Some(report))
    }

    fn restore_site(&self) -> RestoreSite<'_> {
        RestoreSite {
            root: &self.root,
            store: &self.store,
            hook: &self.hook,
            file_bytes: self.options.limits.file_bytes,
        }
    }

    /// The files are restored whether or not this look succeeds, so its failure is not reported.
    fn look_after(&mut self, report: &mut RestoreReport, covered_in: &[SnapshotId]) {
        let cancel = CancelFlag::new();
        if let Ok(looked) = self.look_covering(LookDepth::Quick, covered_in, &cancel) {
            report.after = looked.id;
        }
    }

    /// The folder at the root's path may have been replaced: moved, deleted, or cloned again.
    fn follow_root(&mut self) -> Result<(), WorkspaceError> {
        let found = rustix::fs::stat(&self.root.path)
            .map_err(|error| WorkspaceError::disk("read", &self.root.path, error))?;
        if (device_of(&found), found.st_ino) != (self.root.device, self.root.inode) {
            self.root = RootFolder::open(&self.root.path.clone())?;
            self.cache = None;
            self.has_poor_times = has_poor_times(&self.root);
        }
        Ok(())
    }

    /// Writes a snapshot's files to a new or empty folder outside the root. Uncovered paths are
    /// missing there and listed in the report.
    ///
    /// # Errors
    /// `PlaceNotEmpty`, `PlaceInside`, `NotKept`, `CopyFailed`, `Cancelled`. On failure, what was
    /// written is removed.
    pub fn copy_to(
        &self,
        snapshot: SnapshotId,
        place: &Path,
        cancel: &CancelFlag,
    ) -> Result<CopyReport, WorkspaceError> {
        let request =
            CopyRequest { root: &self.root, store: &self.store, hook: &self.hook, cancel };
        copy_snapshot(request, snapshot, place)
    }

    /// Writes a snapshot as one stream, without ignored files and git's own state.
    ///
    /// # Errors
    /// `NotKept` when a content is missing; `Disk` when writing to `out` fails.
    pub fn pack(
        &self,
        snapshot: SnapshotId,
        options: &PackOptions,
        out: &mut dyn Write,
    ) -> Result<PackReport, WorkspaceError> {
        pack_snapshot(&self.store, snapshot, options, out)
    }

    /// Adds a pack to the store, all of it or nothing. Write its files with `copy_to`.
    ///
    /// # Errors
    /// `NotAPack`, `PackCut` and `PackRefused` for an invalid pack; `NoRoom`.
    pub fn unpack(&mut self, from: &mut dyn Read) -> Result<SnapshotId, WorkspaceError> {
        let own = self.cache.as_ref().map(|cache| SnapshotId::from_digest(cache.record));
        unpack_snapshot(&self.store, &self.options.limits, own, from)
    }

    /// Removes what none of these snapshots needs, and the trash of restores whose snapshot before
    /// is not among them. Returns the bytes freed.
    ///
    /// # Errors
    /// `InUse` while another process uses the store, `UnfinishedRestore`, and `Disk`; contents of
    /// `live` are kept in any case.
    pub fn forget(&mut self, live: &[SnapshotId]) -> Result<u64, WorkspaceError> {
        if self.has_unfinished_restore() {
            return Err(WorkspaceError::UnfinishedRestore);
        }
        let digests = collect_live(&self.store, live)?;
        let trash = crate::restore::empty_trash(&self.store, live);
        Ok(self.store.forget(&digests)? + trash)
    }

    #[must_use]
    pub fn usage(&self) -> StoreUsage {
        let usage = self.store.usage();
        StoreUsage { bytes: usage.bytes + measure_lost(self.store.folder()), ..usage }
    }

    /// For tests: the hook is called before every operation that changes the disk.
    #[doc(hidden)]
    pub fn set_disk_hook(&mut self, hook: impl Fn(&'static str) + Send + Sync + 'static) {
        let has_plain_renames = self.hook.has_plain_renames;
        self.hook = DiskHook::new(hook);
        self.hook.has_plain_renames = has_plain_renames;
        self.store.set_hook(&self.hook);
    }

    /// For tests: the root acts as if its file system could only rename.
    #[doc(hidden)]
    pub fn use_plain_renames(&mut self) {
        self.hook.has_plain_renames = true;
    }

    fn cache_path(&self) -> PathBuf {
        self.store.folder().join(CACHE_NAME)
    }

    /// On failure, the next process only needs a longer look.
    fn save_cache(&mut self) {
        if let Some(cache) = &self.cache {
            self.is_cache_saved = save_cache(&self.cache_path(), &self.root, cache).is_ok();
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.is_cache_saved && !std::thread::panicking() {
            self.save_cache();
        }
    }
}

/// Network and shared file systems use another machine's clock; FAT has a resolution of two seconds.
#[cfg(target_os = "linux")]
const POOR_TIMES: [i64; 17] = [
    0x6969,      // nfs
    0x517b,      // smb
    0xfe53_4d42, // smb2
    0xff53_4d42, // cifs
    0x4d44,      // fat
    0x2011_bab0, // exfat
    0x0102_1997, // 9p, also drives of Windows in WSL 2
    0x6573_5546, // fuse, virtiofs
    0x00c3_6400, // ceph
    0x5346_414f, // afs
    0x0bd0_0bd0, // lustre
    0x1983_0326, // beegfs
    0x4750_4653, // gpfs
    0x2003_0528, // orangefs
    0x786f_4256, // vboxsf
    0x7c7c_6673, // prl_fs
    0x5346_4846, // WSL 1
];

#[cfg(target_os = "linux")]
fn has_poor_times(root: &RootFolder) -> bool {
    rustix::fs::fstatfs(&root.handle).is_ok_and(|system| is_poor(system.f_type))
}

/// The type has 32 bits and may come with its sign.
#[cfg(target_os = "linux")]
fn is_poor(kind: i64) -> bool {
    POOR_TIMES.contains(&(kind & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn has_poor_times(_root: &RootFolder) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::is_poor;

    #[test]
    fn w25_times_of_network_file_systems_and_of_fat_are_not_trusted() {
        for poor in [0x6969, 0x4d44, 0x00c3_6400, 0x6573_5546, i64::from(0xfe53_4d42_u32 as i32)] {
            assert!(is_poor(poor), "{poor:x}");
        }
        // ext4, xfs, btrfs, tmpfs, overlay.
        for good in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert!(!is_poor(good), "{good:x}");
        }
    }
}
