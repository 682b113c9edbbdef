//! Cautions: the warnings and notes of several runs, each text listed once.

use crate::summary::Summary;

/// A warning or a note, and where it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution<'a> {
    /// The text, with the numbers of the first run that has it.
    pub text: &'a str,
    /// True for a warning. False for a note, which states an assumption or an omission.
    pub is_warning: bool,
    /// The numbers of the runs, or of the groups of runs, that have the caution, in ascending order.
    pub of: Vec<usize>,
}

/// The number of first words that distinguish warnings. Numbers in a warning differ from run to run; its first words do
/// not.
const WORDS: usize = 4;

/// The first words of a text that have no digits.
fn opening(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit())).take(WORDS).collect()
}

/// The cautions of these runs, warnings first. Each run comes with the number of its group: the seed, the drive or the
/// point.
pub fn cautions<'a>(runs: impl IntoIterator<Item = (usize, &'a Summary)>) -> Vec<Caution<'a>> {
    let mut all: Vec<Caution<'a>> = Vec::new();
    for (group, run) in runs {
        let warnings = run.validity.warnings.iter().map(|text| (text, true));
        for (text, is_warning) in warnings.chain(run.notes.iter().map(|text| (text, false))) {
            let same =
                |known: &&mut Caution<'a>| known.is_warning == is_warning && opening(known.text) == opening(text);
            match all.iter_mut().find(same) {
                Some(known) if known.of.last() == Some(&group) => {}
                Some(known) => known.of.push(group),
                None => all.push(Caution { text, is_warning, of: vec![group] }),
            }
        }
    }
    all.sort_by_key(|caution| !caution.is_warning);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settled, summary};

    #[test]
    fn a_caution_is_said_once_with_the_groups_that_have_it() {
        let plain = summary(&settled(testkit::small::mixed()));
        let with = |warnings: &[&str], notes: &[&str]| {
            let mut run = plain.clone();
            run.validity.warnings = warnings.iter().map(ToString::to_string).collect();
            run.notes = notes.iter().map(ToString::to_string).collect();
            run
        };
        let runs = [
            (0, with(&[], &["7 requests beyond the capacity, wrapped around"])),
            (
                1,
                with(
                    &["requests failed: 98.7% of all (3 were refused)"],
                    &["12 requests beyond the capacity, wrapped around"],
                ),
            ),
            (1, with(&["requests failed: 99.1% of all (4 were refused)"], &[])),
            (2, with(&["no steady state: 1.2"], &["requests failed: a note is no warning"])),
        ];
        let found = cautions(runs.iter().map(|(group, run)| (*group, run)));
        let said: Vec<_> = found.iter().map(|caution| (caution.text, caution.is_warning, &caution.of[..])).collect();
        assert_eq!(
            said,
            [
                ("requests failed: 98.7% of all (3 were refused)", true, &[1][..]),
                ("no steady state: 1.2", true, &[2][..]),
                ("7 requests beyond the capacity, wrapped around", false, &[0, 1][..]),
                ("requests failed: a note is no warning", false, &[2][..]),
            ]
        );
    }
}
