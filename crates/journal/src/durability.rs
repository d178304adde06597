//! What an acknowledged record survives, for the journal and for the pre-images of its session.

/// What a record that was acknowledged survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process: records are with the operating system.
    Written,
    /// The loss of power: records are on the disk.
    #[default]
    Synced,
}
