//! System calls that the kernel passes to the supervisor, and the answers (seccomp user
//! notification).

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use seccompiler::BpfProgram;

/// The kernel's end of a filter. Calls fail with `ENOSYS` once it is closed.
#[derive(Debug)]
pub(super) struct NotificationListener {
    descriptor: OwnedFd,
}

/// A call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallNotification {
    id: u64,
    pub(super) thread: u32,
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

#[derive(Debug)]
pub(super) enum CallAnswer {
    /// The kernel performs the call, and checks it as always.
    Native,
    /// The supervisor has performed it.
    Done,
    Failed(Errno),
    /// The call returns this open file.
    Opened {
        file: OwnedFd,
        close_on_exec: bool,
    },
}

impl NotificationListener {
    /// Applies a filter to this thread and to what it starts.
    #[allow(unsafe_code, reason = "no library has this flag")]
    pub(super) fn install(program: &BpfProgram) -> io::Result<Self> {
        let mut list: Vec<libc::sock_filter> = program
            .iter()
            .map(|one| libc::sock_filter { code: one.code, jt: one.jt, jf: one.jf, k: one.k })
            .collect();
        let len = u16::try_from(list.len()).map_err(io::Error::other)?;
        let text = libc::sock_fprog { len, filter: list.as_mut_ptr() };
        // A signal must not interrupt a call that the supervisor has begun: it would be repeated.
        let flags =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        // SAFETY: the kernel copies the program, which lives until the call returns.
        let opened = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const text)
        };
        let opened = RawFd::try_from(opened).map_err(io::Error::other)?;
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was opened just now, and nothing else knows its number.
        let listener = Self { descriptor: unsafe { OwnedFd::from_raw_fd(opened) } };
        listener.run_in_turns();
        Ok(listener)
    }

    /// Caller and supervisor run in turns, so the kernel need not wake another processor. Older
    /// kernels cannot do that.
    #[allow(unsafe_code, reason = "no library has this request")]
    fn run_in_turns(&self) {
        // SAFETY: the argument is a number.
        unsafe {
            libc::ioctl(self.descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, 1_u64);
        }
    }

    /// The next call. Blocks; `None` when no supervised process is left.
    pub(super) fn receive(&self) -> Option<CallNotification> {
        loop {
            let mut wanted = [PollFd::new(&self.descriptor, PollFlags::IN)];
            let polled = rustix::event::poll(&mut wanted, None);
            let [listener] = &wanted;
            match polled {
                Ok(_) if listener.revents().contains(PollFlags::HUP) => return None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
            let mut told = NOTHING;
            match self.request(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut told) {
                Ok(_) => {
                    return Some(CallNotification {
                        id: told.id,
                        thread: told.pid,
                        number: told.data.nr.into(),
                        arguments: told.data.args,
                    });
                }
                // The process was killed meanwhile.
                Err(Errno::NOENT | Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Does the thread still wait? If not, its number may belong to another one.
    pub(super) fn is_waiting(&self, call: &CallNotification) -> bool {
        self.request(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut call.id.clone()).is_ok()
    }

    pub(super) fn send(&self, call: &CallNotification, answer: CallAnswer) {
        let mut reply = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 };
        match answer {
            CallAnswer::Native => reply.flags = CONTINUE,
            CallAnswer::Done => {}
            CallAnswer::Failed(error) => reply.error = -error.raw_os_error(),
            CallAnswer::Opened { file, close_on_exec } => {
                let passed = self.pass_file(call, &file, close_on_exec);
                // Before the caller goes on: it could not execute a file that is open for writing.
                drop(file);
                match passed {
                    Ok(number) => reply.val = number.into(),
                    Err(error) => reply.error = -error.raw_os_error(),
                }
            }
        }
        // Fails if the process was killed meanwhile.
        let _ = self.request(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut reply);
    }

    /// Opens a file in the waiting process. Returns its number there.
    fn pass_file(
        &self,
        call: &CallNotification,
        file: &OwnedFd,
        close_on_exec: bool,
    ) -> rustix::io::Result<i32> {
        let mut passed = libc::seccomp_notif_addfd {
            id: call.id,
            flags: 0,
            srcfd: file.as_raw_fd().unsigned_abs(),
            newfd: 0,
            newfd_flags: if close_on_exec { libc::O_CLOEXEC.unsigned_abs() } else { 0 },
        };
        self.request(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut passed)
    }

    #[allow(unsafe_code, reason = "no library has these requests")]
    fn request<T>(&self, request: libc::Ioctl, argument: &mut T) -> rustix::io::Result<i32> {
        // SAFETY: each request above is called with the structure that it reads or fills.
        let result = unsafe {
            libc::ioctl(self.descriptor.as_raw_fd(), request, std::ptr::from_mut(argument))
        };
        if result < 0 {
            let error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            return Err(Errno::from_raw_os_error(error));
        }
        Ok(result)
    }
}

const CONTINUE: u32 = 1;

/// The kernel wants zeros.
const NOTHING: libc::seccomp_notif = libc::seccomp_notif {
    id: 0,
    pid: 0,
    flags: 0,
    data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
};
