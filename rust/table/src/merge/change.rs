//! What is to become of one row, and how a change says which row it means.

use super::ordering::OrderingKey;
use super::rows::{Composition, Place};

/// The last word on one key.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A row of one of the batches.
    Row { batch: usize, row: usize },
    /// That row, but for columns that others lent it.
    Mixed { batch: usize, row: usize, columns: Composition },
    Delete {
        /// `None`: delete whatever came before, whatever its ordering value.
        ordering: Option<OrderingKey>,
        /// The row that asked for it, if it was a row.
        row: Option<(usize, usize)>,
    },
}

impl Change {
    pub(super) fn row(&self) -> Option<Place> {
        match self {
            Self::Row { batch, row } | Self::Mixed { batch, row, .. } => Some((*batch, *row)),
            Self::Delete { .. } => None,
        }
    }

    /// Where its columns are; batch 0 is of the base file. `None` for a delete.
    pub(super) fn columns(&self) -> Option<Composition> {
        match self {
            Self::Row { batch, row } => Some(Composition::Whole((batch + 1, *row))),
            Self::Mixed { columns, .. } => Some(columns.clone()),
            Self::Delete { .. } => None,
        }
    }

    pub(super) fn with_columns(winner: Place, columns: Composition) -> Self {
        let (batch, row) = winner;
        match columns {
            Composition::Whole(place) if place == (batch + 1, row) => Self::Row { batch, row },
            columns => Self::Mixed { batch, row, columns },
        }
    }
}

/// Which row a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id<'a> {
    Key(&'a str),
    /// Its place in the base file.
    Position(u64),
}

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => write!(f, "record key '{key}'"),
            Self::Position(position) => write!(f, "row {position} of the base file"),
        }
    }
}
