//! Many journals of one process that want to be safe at the same time: one wait for the whole file
//! system serves them all, where a wait for each would make them stand in line.
//!
//! A few wait each for its own file, as if nobody else were there. From [`FEW`] on they form a crowd:
//! whoever comes first waits for the file system on behalf of everybody who came before it began, and
//! those who come meanwhile form the next crowd. A wait for the file system that fails says nothing of
//! any one file, so then everybody asks for his own.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many may wait each for its own file.
const FEW: usize = 4;

/// The crowds of this process.
static HERE: Crowd = Crowd::new();

/// Returns when everything written to the file is on the disk. Blocks.
pub(super) fn sync(file: &File) -> io::Result<()> {
    HERE.sync(file)
}

struct Crowd {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: usize,
    /// The file system the crowds are for.
    device: u64,
    is_led: bool,
    /// The crowd that is forming.
    forming: u64,
    /// The last crowd that was served.
    served: u64,
    /// The last crowd whose wait failed.
    failed: u64,
}

impl Crowd {
    const fn new() -> Self {
        let state =
            State { waiting: 0, device: 0, is_led: false, forming: 1, served: 0, failed: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let device = file.metadata()?.dev();
        let mut state = self.state();
        if state.waiting == 0 {
            state.device = device;
        }
        let is_alone = state.device != device || state.waiting < FEW;
        state.waiting += 1;
        let is_safe = match is_alone {
            true => {
                drop(state);
                false
            }
            false => self.joined(state, file),
        };
        let result = if is_safe { Ok(()) } else { file.sync_data() };
        self.state().waiting -= 1;
        result
    }

    /// Waits with a crowd; says whether it was served.
    fn joined<'a>(&'a self, mut state: MutexGuard<'a, State>, file: &File) -> bool {
        let ours = state.forming;
        while state.served < ours {
            if state.is_led {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // Everybody in it has written before now; who comes later belongs to the next.
            state.is_led = true;
            let crowd = state.forming;
            state.forming += 1;
            drop(state);
            let is_done = whole(file);
            state = self.state();
            state.is_led = false;
            state.served = crowd;
            if !is_done {
                state.failed = crowd;
            }
            self.changed.notify_all();
        }
        state.failed < ours
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the whole file system, where the system can; says whether it did.
#[cfg(target_os = "linux")]
fn whole(file: &File) -> bool {
    rustix::fs::syncfs(file).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn whole(_file: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_crowd_is_served_together_and_nobody_is_left_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let crowd = Crowd::new();
        let (threads, rounds) = (32, 8);
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            for number in 0..threads {
                let (crowd, barrier, folder) = (&crowd, &barrier, &folder);
                scope.spawn(move || {
                    let path = folder.path().join(number.to_string());
                    let mut file = File::create(path).unwrap();
                    barrier.wait();
                    for _ in 0..rounds {
                        file.write_all(b"line\n").unwrap();
                        crowd.sync(&file).unwrap();
                    }
                });
            }
        });
        let state = crowd.state();
        assert_eq!((state.waiting, state.is_led), (0, false));
        assert!(state.served > 0, "no crowd was ever formed");
        assert!(state.served < (threads * rounds) as u64 / 2, "{} crowds", state.served);
    }
}
