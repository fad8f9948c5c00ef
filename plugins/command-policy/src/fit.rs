//! How surely a pattern fits: what holes in a text stand for is not known.

/// From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// Whatever the holes stand for, it does not.
    No,
    /// It depends on them.
    Maybe,
    /// Whatever they stand for, it does.
    Yes,
}

impl Fit {
    /// For what has no holes.
    pub(crate) fn certain(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }

    /// Tries first whether it surely fits, then whether it may.
    pub(crate) fn tried(fits: impl Fn(Certainty) -> bool) -> Self {
        if fits(Certainty::Sure) {
            return Self::Yes;
        }
        if fits(Certainty::Possible) { Self::Maybe } else { Self::No }
    }
}

/// What is asked of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// Does it fit whatever the holes stand for?
    Sure,
    /// Can it fit?
    Possible,
}
