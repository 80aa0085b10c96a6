//! What a search for the next record found, where the one before it was invalid.

/// Positions are counted from the beginning of the window that was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    At(usize),
    Nowhere,
    /// The window must reach this far beyond `from`, where the search goes on.
    NeedMore {
        from: usize,
        length: usize,
    },
}
