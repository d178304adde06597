//! Carries out a restore in phases: move away leaves, remove empty folders, create folders,
//! exchange files, set modes. Git's own state comes after the other files. Every phase can be
//! repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::place::{StepPlace, set_folder_mode};
use super::plan::is_git_locked;
use super::restore_log::{LoggedStep, RestoreLog};
use super::{
    PathStanding, RestoreConsent, RestoreOutcome, RestorePlan, RestoreReport, RestoreResult,
    RestoreSite, RestoreStep,
};
use crate::cancel_flag::CancelFlag;
use crate::digest::SnapshotId;
use crate::error::WorkspaceError;
use crate::folder_record::MODE_MASK;
use crate::held_objects::give_back;
use crate::path_image::PathImage;
use crate::raw_stat::mode_of;
use crate::relative_path::RelativePath;
use crate::store::{ContentStore, TRASH_NAME};

const OWNER_ALL: u32 = 0o700;

pub(crate) fn carry_out(
    site: &RestoreSite<'_>,
    plan: &RestorePlan,
    consent: &RestoreConsent,
    cancel: &CancelFlag,
) -> Result<RestoreReport, WorkspaceError> {
    let may_go = choose_steps(site, plan, consent);
    let steps: Vec<LoggedStep> = plan
        .steps
        .iter()
        .zip(&may_go)
        .filter(|(_, may_go)| **may_go)
        .map(|(step, _)| LoggedStep {
            path: step.path.clone(),
            target: step.target.clone(),
            current: step.current.clone(),
        })
        .collect();
    let mut report = RestoreReport {
        before: plan.current,
        after: plan.current,
        outcomes: Vec::new(),
        is_cancelled: false,
    };
    let mut results = Vec::new();
    if !steps.is_empty() {
        let folder_modes = find_closed_folders(site, &steps);
        let log = RestoreLog { before: plan.current, steps, folder_modes };
        let trash = open_trash(site, &log)?;
        log.write(site.store, site.hook)?;
        (results, report.is_cancelled) = run_log(site, &log, trash, cancel)?;
    }
    let mut results = results.into_iter();
    for (step, may_go) in plan.steps.iter().zip(may_go) {
        let result = match may_go {
            true => results.next().unwrap_or(RestoreResult::NotDone),
            false => RestoreResult::Skipped,
        };
        report.outcomes.push(RestoreOutcome { path: step.path.clone(), result });
    }
    Ok(report)
}

/// Completes a restore that was interrupted by a kill.
pub(crate) fn finish(site: &RestoreSite<'_>) -> Result<Option<RestoreReport>, WorkspaceError> {
    let Some(log) = RestoreLog::read(site.store)? else { return Ok(None) };
    let trash = open_trash(site, &log)?;
    let (results, is_cancelled) = run_log(site, &log, trash, &CancelFlag::new())?;
    let outcomes = log
        .steps
        .iter()
        .zip(results)
        .map(|(step, result)| RestoreOutcome { path: step.path.clone(), result })
        .collect();
    Ok(Some(RestoreReport { before: log.before, after: log.before, outcomes, is_cancelled }))
}

/// Git's state needs consent for each of its paths that others changed: it is restored whole or not
/// at all.
fn choose_steps(site: &RestoreSite<'_>, plan: &RestorePlan, consent: &RestoreConsent) -> Vec<bool> {
    let may_go = |step: &RestoreStep| match step.standing {
        PathStanding::Unchanged => true,
        PathStanding::ChangedByOthers => consent.covers(&step.path),
        PathStanding::NotKept | PathStanding::GitLocked => false,
    };
    let mut repositories: BTreeMap<RelativePath, bool> = BTreeMap::new();
    for step in &plan.steps {
        if let Some(folder) = step.path.git_folder() {
            let is_free = !is_git_locked(site.root, &folder);
            let is_held = !may_go(step)
                && (step.standing != PathStanding::NotKept || step.target != PathImage::Absent);
            let allowed = repositories.entry(folder).or_insert(is_free);
            *allowed &= !is_held;
        }
    }
    let is_allowed = |step: &RestoreStep| {
        step.path.git_folder().is_none_or(|folder| repositories.get(&folder) == Some(&true))
    };
    plan.steps.iter().map(|step| may_go(step) && is_allowed(step)).collect()
}

/// Folders without owner write access: opened for the restore and closed at its end.
fn find_closed_folders(site: &RestoreSite<'_>, steps: &[LoggedStep]) -> Vec<(RelativePath, u32)> {
    let mut modes = BTreeMap::new();
    for step in steps {
        let Some((folder, _)) = step.path.split_last() else { continue };
        if folder.is_root() || modes.contains_key(&folder) {
            continue;
        }
        let stat = site.root.open_folder(&folder).and_then(|handle| Ok(rustix::fs::fstat(handle)?));
        if let Ok(stat) = stat {
            modes.insert(folder, mode_of(&stat) & MODE_MASK);
        }
    }
    modes.retain(|_, mode| *mode & OWNER_ALL != OWNER_ALL);
    modes.into_iter().collect()
}

/// Returns the result of each step, and whether the restore was cancelled.
fn run_log(
    site: &RestoreSite<'_>,
    log: &RestoreLog,
    trash: OwnedFd,
    cancel: &CancelFlag,
) -> Result<(Vec<RestoreResult>, bool), WorkspaceError> {
    let mut run = RestoreRun {
        site: *site,
        log,
        cancel,
        trash,
        results: vec![None; log.steps.len()],
        is_cancelled: false,
    };
    for (path, mode) in &log.folder_modes {
        // A failure shows in the results of the files in it.
        let _ = set_folder_mode(site, path, mode | OWNER_ALL);
    }
    run.clear_temporaries();
    let (git, files): (Vec<usize>, Vec<usize>) = (0..log.steps.len())
        .partition(|index| log.steps.get(*index).is_some_and(|step| step.path.is_git_state()));
    run.run_phases(&files)?;
    run.run_phases(&git)?;
    run.give_objects_back(&git);
    run.set_modes();
    site.hook.before("sync file system");
    site.root.sync_file_system()?;
    RestoreLog::remove(site.store, site.hook)?;
    let results = run.results.into_iter().map(|result| result.unwrap_or(RestoreResult::NotDone));
    Ok((results.collect(), run.is_cancelled))
}

struct RestoreRun<'a> {
    site: RestoreSite<'a>,
    log: &'a RestoreLog,
    cancel: &'a CancelFlag,
    trash: OwnedFd,
    results: Vec<Option<RestoreResult>>,
    is_cancelled: bool,
}

impl RestoreRun<'_> {
    /// Distinguishes the temporary files of this step from those of other steps and other restores.
    fn name_part(&self, index: usize) -> String {
        let before = self.log.before.to_string();
        format!("{}-{index}", before.get(..8).unwrap_or_default())
    }

    fn clear_temporaries(&mut self) {
        for (index, step) in self.log.steps.iter().enumerate() {
            if let Ok(place) = StepPlace::open(self.site, step, &self.name_part(index), &self.trash)
                && let Err(error) = place.clear_temporary()
            {
                self.record(index, RestoreResult::Failed(error.kind()));
            }
        }
    }

    /// Restored refs may name objects that the repository has lost since.
    fn give_objects_back(&self, indices: &[usize]) {
        let steps = indices.iter().filter_map(|index| self.log.steps.get(*index));
        let folders: BTreeSet<RelativePath> =
            steps.filter_map(|step| step.path.git_folder()).collect();
        for folder in folders {
            self.site.hook.before("give objects back");
            // Best effort: on failure, the repository is as it would be without this step.
            let _ = give_back(self.site.root, self.site.store.folder(), &folder);
        }
    }

    /// # Errors
    /// The replacements cannot be written to the disk; nothing is in its place yet then.
    fn run_phases(&mut self, indices: &[usize]) -> Result<(), WorkspaceError> {
        let mut deepest_first = indices.to_vec();
        deepest_first.sort_by_key(|index| {
            std::cmp::Reverse(self.log.steps.get(*index).map_or(0, |step| step.path.depth()))
        });
        let shallow_first: Vec<usize> = deepest_first.iter().rev().copied().collect();
        for index in deepest_first.iter().copied() {
            self.run_step(
                index,
                |step| step.current.is_leaf() && !step.target.is_leaf(),
                |place| place.remove().map(Some),
            );
        }
        for index in deepest_first.iter().copied() {
            self.run_step(
                index,
                |step| step.current.is_folder() && !step.target.is_folder(),
                |place| place.remove_folder().map(Some),
            );
        }
        for index in shallow_first.iter().copied() {
            self.run_step(
                index,
                |step| step.target.is_folder() && !step.current.is_folder(),
                |place| place.make_folder().map(Some),
            );
        }
        let mut prepared = Vec::new();
        for index in shallow_first {
            if self.run_step(index, |step| step.target.is_leaf(), |place| place.prepare()) {
                prepared.push(index);
            }
        }
        if prepared.is_empty() {
            return Ok(());
        }
        // All at once: a file whose bytes are not on the disk yet must not be in its place, and
        // syncing each by itself would take longer than everything else.
        self.site.hook.before("sync replacements");
        self.site.root.sync_file_system()?;
        for index in prepared {
            self.run_step(index, |_| true, |place| place.put_in_place().map(Some));
            if self.results.get(index) == Some(&Some(RestoreResult::NotDone)) {
                self.drop_prepared(index);
            }
        }
        Ok(())
    }

    /// Runs one phase of a step, unless an earlier phase of it failed. Returns whether another one
    /// must follow, which is when `act` gives no result.
    fn run_step(
        &mut self,
        index: usize,
        is_meant: impl Fn(&LoggedStep) -> bool,
        act: impl Fn(&StepPlace<'_>) -> io::Result<Option<RestoreResult>>,
    ) -> bool {
        let Some(step) = self.log.steps.get(index).filter(|step| is_meant(step)) else {
            return false;
        };
        let result = self.results.get(index).copied().flatten();
        let is_over = result.is_some_and(|result| !result.is_restored());
        if is_over {
            return false;
        }
        if self.cancel.is_cancelled() {
            self.is_cancelled = true;
            self.record(index, RestoreResult::NotDone);
            return false;
        }
        let result = match StepPlace::open(self.site, step, &self.name_part(index), &self.trash) {
            Ok(place) => {
                act(&place).unwrap_or_else(|error| Some(RestoreResult::Failed(error.kind())))
            }
            Err(error) if self.is_gone(step, &error) => Some(RestoreResult::AlreadyThere),
            Err(_) => Some(RestoreResult::NotReachable),
        };
        result.map(|result| self.record(index, result)).is_none()
    }

    /// The replacement of a step that was cancelled. On failure the next restore clears it.
    fn drop_prepared(&self, index: usize) {
        if let Some(step) = self.log.steps.get(index)
            && let Ok(place) = StepPlace::open(self.site, step, &self.name_part(index), &self.trash)
        {
            let _ = place.unlink_temporary();
        }
    }

    /// The parent folder is gone, or has become the file again that it was in the target.
    fn is_gone(&self, step: &LoggedStep, error: &io::Error) -> bool {
        let is_below_file = || {
            let mut leaves = self.log.steps.iter().filter(|other| other.target.is_leaf());
            leaves.any(|other| step.path.is_below(&other.path))
        };
        step.target == PathImage::Absent
            && (error.kind() == io::ErrorKind::NotFound
                || error.kind() == io::ErrorKind::NotADirectory && is_below_file())
    }

    fn record(&mut self, index: usize, result: RestoreResult) {
        if let Some(place) = self.results.get_mut(index) {
            // A step with two phases counts as restored if one of them changed something.
            let was_restored = *place == Some(RestoreResult::Restored);
            let keeps = was_restored && result == RestoreResult::AlreadyThere;
            *place = Some(if keeps { RestoreResult::Restored } else { result });
        }
    }

    /// In reverse order: a folder is closed only after everything below it is done.
    fn set_modes(&mut self) {
        for (path, mode) in self.log.folder_modes.iter().rev() {
            let _ = set_folder_mode(&self.site, path, *mode);
        }
        for index in (0..self.log.steps.len()).rev() {
            let Some(step) = self.log.steps.get(index) else { continue };
            let PathImage::Folder { mode } = step.target else { continue };
            let is_made = match self.results.get(index).copied().flatten() {
                // No phase applied to it: only its mode differs.
                None => step.current.is_folder(),
                Some(result) => result.is_restored(),
            };
            if is_made {
                let result = match set_folder_mode(&self.site, &step.path, mode) {
                    Ok(()) => RestoreResult::Restored,
                    Err(error) => RestoreResult::Failed(error.kind()),
                };
                self.record(index, result);
            }
        }
    }
}

/// Creates the folder for what this restore moves away, named after the snapshot before it.
fn open_trash(site: &RestoreSite<'_>, log: &RestoreLog) -> Result<OwnedFd, WorkspaceError> {
    let trash = site.store.folder().join(TRASH_NAME);
    let make = || -> io::Result<OwnedFd> {
        std::fs::create_dir_all(&trash)?;
        let folder = create_numbered(&trash, log.before)?;
        let mut list = String::new();
        for (index, step) in log.steps.iter().enumerate() {
            list.push_str(&format!("{index} {}\n", step.path));
        }
        std::fs::write(folder.join("paths"), list)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&folder, flags, Mode::empty())?)
    };
    make().map_err(|error| WorkspaceError::disk("create", &trash, error))
}

fn create_numbered(trash: &Path, before: SnapshotId) -> io::Result<PathBuf> {
    for number in 0..u32::MAX {
        let folder = trash.join(format!("{before}-{number}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes the trash of restores whose snapshot before is not in `live`. Returns the bytes freed;
/// what cannot be removed stays until the next call.
pub(crate) fn empty_trash(store: &ContentStore, live: &[SnapshotId]) -> u64 {
    let before = store.usage().trash_bytes;
    let folders = std::fs::read_dir(store.folder().join(TRASH_NAME)).into_iter().flatten();
    for folder in folders.flatten() {
        let name = folder.file_name();
        let snapshot = name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
        if !snapshot.is_some_and(|snapshot: SnapshotId| live.contains(&snapshot)) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
    before.saturating_sub(store.usage().trash_bytes)
}
