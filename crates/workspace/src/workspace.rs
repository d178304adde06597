//! One folder under snapshots, with its store and its cache.

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
use crate::relative_path::RelativePath;
use crate::restore::{
    RestoreConsent, RestorePlan, RestoreReport, RestoreSite, SnapshotBatch, build_plan, carry_out,
    finish, has_log, list_batch_changes,
};
use crate::root_folder::RootFolder;
use crate::store::{ContentStore, RestoreLock, StoreUsage};

const CACHE_NAME: &str = "look-cache";

/// One for each root and process. Processes share the store of a root.
#[derive(Debug)]
pub struct Workspace {
    root: RootFolder,
    store: ContentStore,
    options: WorkspaceOptions,
    cache: Option<Arc<CachedFolder>>,
    is_cache_saved: bool,
    /// What the store had lost when this process last looked; none before its first look.
    looked_at_losses: Option<u64>,
    /// File systems whose times cannot be relied on: every look reads every file.
    has_poor_times: bool,
    held_objects: HeldObjects,
    hook: DiskHook,
}

impl Workspace {
    /// Opens the store, made if it is missing, and reads what it holds. Takes no look.
    ///
    /// # Errors
    /// `RootIsHome` for the home folder and everything above it; `Disk` when the root or the store
    /// cannot be opened.
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

    /// The root as an absolute path without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.path
    }

    /// Takes a snapshot. Its contents are on the disk when this returns.
    ///
    /// # Errors
    /// `TooManyPaths` and `TooSlow` past the bounds, `Cancelled`, `NoRoom` when not even
    /// the list of files can be kept, and `Disk`.
    pub fn look(
        &mut self,
        depth: LookDepth,
        cancel: &CancelFlag,
    ) -> Result<SnapshotReport, WorkspaceError> {
        self.follow_root()?;
        if self.cache.is_none() {
            // What git has need not be stored by the first look, which reads everything.
            self.hold_objects(&[RelativePath::root().join(b".git").join(b"objects")]);
        }
        self.store.check_packs();
        let losses = self.store.losses();
        let settings = WalkSettings {
            limits: &self.options.limits,
            ignore_patterns: &self.options.ignore_patterns,
            content_filter: &self.options.content_filter,
            refers_to_packs: self.options.refers_to_packs,
            may_trust_cache: depth == LookDepth::Quick && !self.has_poor_times,
            keeps_coverage: self.looked_at_losses.is_some(),
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

    /// Those of an overlay are the files of the folder below it.
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

    /// What differs between two snapshots, sorted by path. Git's own state is listed too; see
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

    /// The bytes of a file as they were, checked against their digest.
    ///
    /// # Errors
    /// `NotKept` when they are missing or damaged.
    pub fn read(&self, content: &ContentDigest) -> Result<Vec<u8>, WorkspaceError> {
        self.store.read(content)
    }

    /// Whether the store still has this snapshot's list of files.
    #[must_use]
    pub fn has_snapshot(&self, snapshot: SnapshotId) -> bool {
        self.store.read_folder(&snapshot.digest()).is_ok()
    }

    /// What a snapshot does not cover, as `SnapshotReport::uncovered` said when it was taken.
    ///
    /// # Errors
    /// `NotKept` when the snapshot is not in the store.
    pub fn uncovered(&self, snapshot: SnapshotId) -> Result<Vec<UncoveredPath>, WorkspaceError> {
        list_uncovered(&self.store, snapshot)
    }

    /// What a batch of effects changed, without what others did meanwhile.
    ///
    /// # Errors
    /// As `changes`.
    pub fn batch_changes(&self, batch: &SnapshotBatch) -> Result<Vec<PathChange>, WorkspaceError> {
        list_batch_changes(&self.store, batch)
    }

    /// The same as `plan_batches` where nobody else worked meanwhile.
    ///
    /// # Errors
    /// As `plan_batches`.
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
        };
        self.plan_batches(to, &ours.iter().map(alone).collect::<Vec<SnapshotBatch>>(), cancel)
    }

    /// Takes a look and says what going back to a snapshot would do. `ours` are the batches of effects
    /// since the target, oldest first; every other difference is another program's.
    ///
    /// # Errors
    /// As `look`; `NotKept` when a snapshot is not in the store; `UnfinishedRestore` until `finish`
    /// was called.
    pub fn plan_batches(
        &mut self,
        to: SnapshotId,
        ours: &[SnapshotBatch],
        cancel: &CancelFlag,
    ) -> Result<RestorePlan, WorkspaceError> {
        if self.has_unfinished_restore() {
            return Err(WorkspaceError::UnfinishedRestore);
        }
        let current = self.look(LookDepth::Quick, cancel)?.id;
        build_plan(&self.root, &self.store, &crate::restore::PlanRequest { to, current, ours })
    }

    /// Goes back as planned. Stops between two files when cancelled; both lists, done and not done,
    /// are in the report.
    ///
    /// # Errors
    /// `InUse` while another process goes back, `UnfinishedRestore`, and `Disk` when the list of steps cannot be written; nothing
    /// was changed then.
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

    /// One process at a time goes back, and nothing new begins before what a crash cut off is finished.
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
        self.look_after(&mut report);
        Ok(report)
    }

    /// Takes a look and says what accepting a trial would do. What the trial did not touch is left out,
    /// even if it changed.
    ///
    /// # Errors
    /// As `plan`; `Disk` when what the overlay collected cannot be read.
    pub fn plan_trial(
        &mut self,
        trial: &OverlayTrial,
        cancel: &CancelFlag,
    ) -> Result<OverlayPlan, WorkspaceError> {
        // Going from the trial's end to its beginning would be ours; so is the way there.
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

    /// Accepts a trial as planned. A kill in the middle leaves `has_unfinished_restore`, or a trial that
    /// can be planned and accepted again.
    ///
    /// # Errors
    /// As `carry_out`.
    pub fn accept_trial(
        &mut self,
        trial: &OverlayTrial,
        plan: &OverlayPlan,
        consent: &RestoreConsent,
        cancel: &CancelFlag,
    ) -> Result<OverlayReport, WorkspaceError> {
        // Before the first file is put: where another process goes back, nothing is begun.
        let _lock = self.lock_restore()?;
        self.follow_root()?;
        // First, because git's objects must be there before the refs that name them.
        let not_moved = match &trial.files {
            TrialFiles::Overlay(upper) => {
                let began = trial.began;
                let (root, hook) = (&self.root, &self.hook);
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

    /// Whether a restore was cut off by a crash.
    #[must_use]
    pub fn has_unfinished_restore(&self) -> bool {
        has_log(&self.store)
    }

    /// Completes a restore that was cut off; none when there is none. Call it after `open`.
    ///
    /// # Errors
    /// As `carry_out`; `DamagedRestoreLog` when the list of steps cannot be read. It is set aside
    /// then, and nothing else was changed.
    pub fn finish(&mut self) -> Result<Option<RestoreReport>, WorkspaceError> {
        let _lock = RestoreLock::acquire(self.store.folder())?;
        self.follow_root()?;
        let Some(mut report) = finish(&self.restore_site())? else { return Ok(None) };
        self.look_after(&mut report);
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

    /// The files are back whether or not this look succeeds, so what became of them is told.
    fn look_after(&mut self, report: &mut RestoreReport) {
        if let Ok(looked) = self.look(LookDepth::Quick, &CancelFlag::new()) {
            report.after = looked.id;
        }
    }

    /// The folder at the root's path may be another one since: moved away, deleted, cloned anew.
    fn follow_root(&mut self) -> Result<(), WorkspaceError> {
        let found = rustix::fs::stat(&self.root.path)
            .map_err(|error| WorkspaceError::disk("read", &self.root.path, error))?;
        if (found.st_dev, found.st_ino) != (self.root.device, self.root.inode) {
            self.root = RootFolder::open(&self.root.path.clone())?;
            self.cache = None;
            self.has_poor_times = has_poor_times(&self.root);
        }
        Ok(())
    }

    /// Writes a snapshot's files to a new or an empty folder outside the root. What ignore rules left
    /// uncovered is missing there and named in the report.
    ///
    /// # Errors
    /// `PlaceNotEmpty`, `PlaceInside`, `NotKept`, `CopyFailed`, `Cancelled`. What was written so far
    /// is removed.
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

    /// Writes a snapshot as one stream, without ignored files and without git's own state.
    ///
    /// # Errors
    /// `NotKept` when a content is missing; `Disk` when `out` refuses.
    pub fn pack(
        &self,
        snapshot: SnapshotId,
        options: &PackOptions,
        out: &mut dyn Write,
    ) -> Result<PackReport, WorkspaceError> {
        pack_snapshot(&self.store, snapshot, options, out)
    }

    /// Takes a pack into the store, whole or not at all. The files are then written by `copy_to`.
    ///
    /// # Errors
    /// `NotAPack`, `PackCut` and `PackRefused` for what is no good pack; `NoRoom`.
    pub fn unpack(&mut self, from: &mut dyn Read) -> Result<SnapshotId, WorkspaceError> {
        unpack_snapshot(&self.store, &self.options.limits, from)
    }

    /// Removes what none of these snapshots needs, and the trash of restores whose state before is
    /// not among them. Returns the bytes that were freed.
    ///
    /// # Errors
    /// `InUse` while another process uses the store, and `Disk`; what `live` names is there in any case.
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

    /// For tests: called before every operation that changes the disk.
    #[doc(hidden)]
    pub fn set_disk_hook(&mut self, hook: impl Fn(&'static str) + Send + Sync + 'static) {
        self.hook = DiskHook::new(hook);
        self.store.set_hook(&self.hook);
    }

    fn cache_path(&self) -> PathBuf {
        self.store.folder().join(CACHE_NAME)
    }

    /// A cache that cannot be written costs the next process a longer look.
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

/// Network file systems keep another machine's time; FAT counts in two seconds.
#[cfg(target_os = "linux")]
fn has_poor_times(root: &RootFolder) -> bool {
    /// nfs, smb, smb2, cifs, fat, exfat, 9p, fuse.
    const POOR: [u64; 8] =
        [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x4d44, 0x2011_bab0, 0x0102_1997, 0x6573_5546];
    rustix::fs::fstatfs(&root.handle)
        .is_ok_and(|system| POOR.contains(&(system.f_type.cast_unsigned() & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn has_poor_times(_root: &RootFolder) -> bool {
    false
}
