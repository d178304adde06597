//! How large the terminal is.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScreenSize {
    /// In cells.
    pub width: usize,
    pub rows: usize,
}
