//! What an acknowledged record survives, for the journal and for the stored file contents of its
//! session.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process: records are with the operating system.
    Written,
    /// A power loss: records are on the disk.
    #[default]
    Synced,
}
