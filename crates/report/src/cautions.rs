//! Warnings and notes of several runs, as lines of a table's text and as sentences of a page.

use study::caution::Caution;
use study::execute::StudyOutcome;
use study::plan::Label;

use crate::grid::folded;
use crate::sentence::{list, sentence};

/// The cautions as text below a table. `place` names the runs that have a caution; it is empty if all have it.
pub(crate) fn text(cautions: &[Caution<'_>], place: impl Fn(&Caution<'_>) -> String, width: usize) -> String {
    let line = |caution: &Caution<'_>| {
        let (word, place) = (if caution.is_warning { "WARNING" } else { "note" }, place(caution));
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        folded(&format!("{word}{place}: {}", caution.text), width)
    };
    cautions.iter().map(line).collect()
}

/// The cautions as sentences, each followed by the runs that have it.
pub(crate) fn sentences(cautions: &[Caution<'_>], place: impl Fn(&Caution<'_>) -> String) -> Vec<String> {
    let said = |caution: &Caution<'_>| {
        let place = place(caution);
        let place = if place.is_empty() { place } else { format!("{place}: ") };
        sentence(&format!("{place}{}", caution.text))
    };
    cautions.iter().map(said).collect()
}

/// The names of the drives that have a caution, and the drive whose numbers it states.
pub(crate) fn drives(caution: &Caution<'_>, names: &[&str]) -> String {
    let of: Vec<&str> = caution.of.iter().filter_map(|row| names.get(*row).copied()).collect();
    match of[..] {
        [first, _, ..] => format!("{}; numbers of {first}", list(&of)),
        _ => list(&of),
    }
}

/// The number of runs, of `all`, that have a caution, in words.
pub(crate) fn share(caution: &Caution<'_>, all: usize) -> String {
    format!("{} of {all} runs", caution.of.len())
}

/// The number of points of a study that have a caution, in words, with the first of them.
pub(crate) fn points(caution: &Caution<'_>, outcome: &StudyOutcome) -> String {
    let (all, first) = (outcome.plan.points.len(), caution.of.first().copied().unwrap_or_default());
    let labels: Vec<&str> = outcome.labels(first).iter().map(Label::as_str).collect();
    let at = if labels.is_empty() { String::new() } else { format!(", e.g. {}", labels.join(", ")) };
    format!("{} of {all} {}{at}", caution.of.len(), if all == 1 { "point" } else { "points" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caution_names_the_drives_that_have_it() {
        let caution = |of: &[usize]| Caution { text: "requests failed: 3%", is_warning: true, of: of.to_vec() };
        let names = ["worn", "fresh", "new"];
        assert_eq!(drives(&caution(&[1]), &names), "fresh");
        assert_eq!(drives(&caution(&[0, 2]), &names), "worn and new; numbers of worn");
        let all = [caution(&[0]), Caution { is_warning: false, ..caution(&[1]) }];
        let text = text(&all, |caution| drives(caution, &names), 80);
        assert_eq!(text, "WARNING (worn): requests failed: 3%\nnote (fresh): requests failed: 3%\n");
        assert_eq!(sentences(&all[..1], |caution| share(caution, 4)), ["1 of 4 runs: requests failed: 3%."]);
    }
}
