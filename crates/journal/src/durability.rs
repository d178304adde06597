//! What a record that was acknowledged survives. The journal and the pre-images beside it agree on it.

/// What a record that was acknowledged survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process: records are with the operating system.
    Written,
    /// The loss of power: records are on the disk.
    #[default]
    Synced,
}
