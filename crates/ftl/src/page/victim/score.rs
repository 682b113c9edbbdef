//! Victims by a formula of the description: the highest score is chosen.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};
use crate::formula::{Formula, FormulaError};

/// The names that a formula may use, each with its meaning.
const NAMES: [(&str, &str); 13] = [
    ("u", "share of its mapping units that are valid, 0 to 1"),
    ("valid", "its valid mapping units"),
    ("invalid", "its invalid mapping units"),
    ("age", "superblocks closed since it was closed, in any pool, plus one"),
    ("seconds", "simulated time since it was closed, in seconds"),
    ("erases", "how often it was erased"),
    ("mean_erases", "how often the candidates were erased, on average"),
    ("free", "free superblocks of the pool"),
    ("stream", "number of the write stream that wrote it"),
    ("copies", "1 if collection or wear levelling wrote it"),
    ("youngest", "writes since its youngest mapping unit was written"),
    ("oldest", "writes since its oldest mapping unit was written"),
    ("mean_age", "writes since its mapping units were written, on average"),
];

const MEAN_ERASES: usize = 6;
const YOUNGEST: usize = 10;
const OLDEST: usize = 11;
const MEAN_AGE: usize = 12;

/// The policy that chooses the candidate with the highest value of a formula.
pub(super) struct Score {
    formula: Formula,
}

impl Score {
    pub(super) fn parse(text: &str) -> Result<Self, FormulaError> {
        Formula::parse(text, &NAMES.map(|(name, _)| name)).map(|formula| Self { formula })
    }
}

impl VictimPolicy for Score {
    fn asks_for_unit_ages(&self) -> bool {
        [YOUNGEST, OLDEST, MEAN_AGE].into_iter().any(|name| self.formula.uses(name))
    }

    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        let mean_erases = if self.formula.uses(MEAN_ERASES) { candidates.mean_erases() } else { 0.0 };
        candidates.best(|candidate| {
            self.formula.value(|name| match name {
                0 => candidate.utilization(),
                1 => f64::from(candidate.valid()),
                2 => f64::from(candidate.invalid()),
                3 => candidate.age() as f64,
                4 => candidate.time().as_secs_f64(),
                5 => f64::from(candidate.erases()),
                MEAN_ERASES => mean_erases,
                7 => f64::from(candidates.free()),
                8 => f64::from(candidate.stream()),
                9 => f64::from(u8::from(candidate.is_of_copies())),
                YOUNGEST => f64::from(candidate.youngest()),
                OLDEST => f64::from(candidate.oldest()),
                _ => candidate.mean_age(),
            })
        })
    }
}
