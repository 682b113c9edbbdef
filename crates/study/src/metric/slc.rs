//! The metrics of a hybrid SLC/MLC drive by name.

use super::commands::{flash, sum_of};
use super::dimension::Dimension;
use crate::summary::SlcMlcSummary;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlcStat {
    Of(&'static str, Dimension),
    Commands(String, Option<String>),
}

const NAMES: [(&str, Dimension); 23] = [
    ("small", Dimension::Share),
    ("accepted", Dimension::Share),
    ("throttled", Dimension::Count),
    ("unplaced", Dimension::Count),
    ("updates", Dimension::Share),
    ("threshold", Dimension::Count),
    ("k", Dimension::Count),
    ("alpha", Dimension::Plain),
    ("n1", Dimension::Plain),
    ("n2", Dimension::Plain),
    ("n3", Dimension::Plain),
    ("n4", Dimension::Plain),
    ("p1", Dimension::Plain),
    ("p2", Dimension::Plain),
    ("expected", Dimension::Time),
    ("switches", Dimension::Count),
    ("levelled", Dimension::Count),
    ("wear", Dimension::Plain),
    ("cost", Dimension::Plain),
    ("tables", Dimension::Count),
    ("spread", Dimension::Count),
    ("mode", Dimension::Count),
    ("mode-pages", Dimension::Count),
];

impl SlcStat {
    /// The metric whose name has these parts after `slc`.
    pub(super) fn parse(name: &[&str]) -> Option<Self> {
        match name {
            ["commands", op] => flash(op, None).map(|(op, cause)| Self::Commands(op, cause)),
            ["commands", op, cause] => flash(op, Some(cause)).map(|(op, cause)| Self::Commands(op, cause)),
            [name] => NAMES.iter().find(|(known, _)| known == name).map(|(name, unit)| Self::Of(name, *unit)),
            _ => None,
        }
    }

    pub(super) const fn dimension(&self) -> Dimension {
        match self {
            Self::Commands(..) => Dimension::Count,
            Self::Of(_, unit) => *unit,
        }
    }

    pub(super) fn of(&self, of: &SlcMlcSummary) -> Option<f64> {
        let name = match self {
            Self::Commands(op, cause) => {
                return Some(sum_of(&of.slc_flash, op, cause.as_deref(), |row| row.commands));
            }
            Self::Of(name, _) => *name,
        };
        match name {
            "small" => of.small,
            "accepted" => of.accepted,
            "throttled" => Some(of.throttled as f64),
            "unplaced" => Some(of.unplaced as f64),
            "updates" => of.updates,
            "threshold" => Some(f64::from(of.threshold)),
            "k" => Some(f64::from(of.k)),
            "alpha" => Some(of.factors.alpha),
            "n1" => Some(of.factors.n1),
            "n2" => Some(of.factors.n2),
            "n3" => Some(of.factors.n3),
            "n4" => Some(of.factors.n4),
            "p1" => Some(of.factors.p1),
            "p2" => Some(of.factors.p2),
            "expected" => Some(of.expected_page_write_us),
            "switches" => Some(of.switches as f64),
            "levelled" => Some(of.levelled as f64),
            "wear" => of.wear_ratio,
            "cost" => of.cost,
            "tables" => Some(of.table_bytes as f64),
            "spread" => of.slc_erases.map(|[least, most]| f64::from(most - least)),
            "mode" => Some(f64::from(of.slc_mode)),
            "mode-pages" => Some(of.slc_mode_pages as f64),
            _ => None,
        }
    }
}
