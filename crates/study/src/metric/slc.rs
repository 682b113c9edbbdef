//! A hybrid SLC/MLC disk by name.

use super::commands::{flash, sum_of};
use super::unit::Unit;
use crate::summary::HybridSummary;

/// A number of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlcStat {
    Of(&'static str, Unit),
    /// Commands of the SLC flash.
    Commands(String, Option<String>),
}

const NAMES: [(&str, Unit); 23] = [
    ("small", Unit::Share),
    ("accepted", Unit::Share),
    ("throttled", Unit::Count),
    ("unplaced", Unit::Count),
    ("updates", Unit::Share),
    ("threshold", Unit::Count),
    ("k", Unit::Count),
    ("alpha", Unit::Plain),
    ("n1", Unit::Plain),
    ("n2", Unit::Plain),
    ("n3", Unit::Plain),
    ("n4", Unit::Plain),
    ("p1", Unit::Plain),
    ("p2", Unit::Plain),
    ("expected", Unit::Time),
    ("switches", Unit::Count),
    ("levelled", Unit::Count),
    ("wear", Unit::Plain),
    ("cost", Unit::Plain),
    ("tables", Unit::Count),
    ("spread", Unit::Count),
    ("mode", Unit::Count),
    ("mode-pages", Unit::Count),
];

impl SlcStat {
    /// The number that these parts of a name, those behind `slc`, stand for.
    pub(super) fn parse(name: &[&str]) -> Option<Self> {
        match name {
            ["commands", op] => flash(op, None).map(|(op, cause)| Self::Commands(op, cause)),
            ["commands", op, cause] => flash(op, Some(cause)).map(|(op, cause)| Self::Commands(op, cause)),
            [name] => NAMES.iter().find(|(known, _)| known == name).map(|(name, unit)| Self::Of(name, *unit)),
            _ => None,
        }
    }

    pub(super) const fn unit(&self) -> Unit {
        match self {
            Self::Commands(..) => Unit::Count,
            Self::Of(_, unit) => *unit,
        }
    }

    pub(super) fn of(&self, of: &HybridSummary) -> Option<f64> {
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
            "alpha" => Some(of.alpha),
            "n1" => Some(of.n1),
            "n2" => Some(of.n2),
            "n3" => Some(of.n3),
            "n4" => Some(of.n4),
            "p1" => Some(of.p1),
            "p2" => Some(of.p2),
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
