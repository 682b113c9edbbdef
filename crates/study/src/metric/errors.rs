//! The metrics of bit errors by name.

use super::dimension::Dimension;
use crate::summary::ErrorSummary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorStat {
    Retries,
    Retried,
    Rber,
    Soft,
    Uncorrectable,
}

impl ErrorStat {
    /// The metric whose name has these parts after `errors`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "retries" => Self::Retries,
            "retried" => Self::Retried,
            "rber" => Self::Rber,
            "soft" => Self::Soft,
            "uncorrectable" => Self::Uncorrectable,
            _ => return None,
        })
    }

    pub(super) const fn dimension(self) -> Dimension {
        match self {
            Self::Retried => Dimension::Share,
            Self::Rber => Dimension::Plain,
            Self::Retries | Self::Soft | Self::Uncorrectable => Dimension::Count,
        }
    }

    pub(super) fn of(self, errors: &ErrorSummary) -> Option<f64> {
        match self {
            Self::Retries => Some(errors.retries() as f64),
            Self::Retried => errors.retried(),
            Self::Rber => errors.rber,
            Self::Soft => Some(errors.soft as f64),
            Self::Uncorrectable => Some(errors.uncorrectable as f64),
        }
    }
}
