//! Claims as a table for other programs: one row per expectation.

use study::execute::{Claim, ExpectationResult};

use crate::table::{Table, UnitOfMeasure};

/// The expectations of all claims.
#[must_use]
pub fn claims(claims: &[Claim]) -> Table {
    let rows: Vec<(&Claim, &ExpectationResult)> =
        claims.iter().flat_map(|claim| claim.findings.iter().map(move |finding| (claim, finding))).collect();
    let each = || rows.iter();
    let mut table = Table::default();
    table.text("claim", "The claim's name", each().map(|(claim, _)| claim.id.clone()));
    table.text("source", "Where the claim is made", each().map(|(claim, _)| claim.source.clone()));
    table.text("says", "The claim in words", each().map(|(claim, _)| claim.says.clone()));
    table.text("study", "The study that measured it", each().map(|(_, finding)| finding.study.clone()));
    table.text("metric", "The metric that was measured", each().map(|(_, finding)| finding.metric.clone()));
    table.text("paper", "The paper's value", each().map(|(_, finding)| finding.paper.clone()));
    table.text("measured", "The measured value", each().map(|(_, finding)| finding.measured.clone()));
    table.text("band", "How much is asked for", each().map(|(_, finding)| finding.sharpness.band.clone()));
    let width = "Half the width of a band with two ends, as a share of its middle";
    table.number("width", UnitOfMeasure::Share, width, each().map(|(_, finding)| finding.sharpness.width));
    let verdict = "`holds`, `differs`, `fails` or `stale`";
    table.text("verdict", verdict, each().map(|(_, finding)| finding.verdict.name().to_lowercase()));
    let whole = "The verdict on all expectations of the claim; `partly` if some hold";
    table.text("claim_verdict", whole, each().map(|(claim, _)| claim.verdict.name().to_lowercase()));
    let reason = "The known reason for a difference";
    table.text("reason", reason, each().map(|(_, finding)| finding.reason.clone().unwrap_or_default()));
    table
}

#[cfg(test)]
mod tests {
    use testkit::small::{CLAIMS, STUDY};

    use super::*;
    use crate::testing::studied;

    #[test]
    fn each_expectation_is_a_row() {
        let judged = study::execute::claims(&[studied(&[STUDY, CLAIMS].concat())]);
        let table = claims(&judged);
        assert_eq!(table.rows(), judged.iter().map(|claim| claim.findings.len()).sum::<usize>());
        let text = table.csv();
        assert!(text.contains("\nB1,") && text.contains(",fails,fails,"), "{text}");
    }
}
