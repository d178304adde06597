//! Protects the keys in the environment and memory of this process.

/// Keeps other processes of the same user, such as commands of a model, from reading this one's
/// environment and memory, and keeps both out of core files.
pub fn forbid_process_inspection() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Best effort: on failure the keys stay readable, but nothing else depends on it.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
