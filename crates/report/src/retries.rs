//! The lines with the bit error rate, and the share of reads that were repeated.

use study::summary::Summary;
use study::text::{count, percent};

/// The raw bit error rate and the share of the reads that were repeated. If any needed soft decoding, a second line
/// gives their share. `None` without errors.
pub(crate) fn retries(summary: &Summary) -> Option<String> {
    let errors = summary.errors.as_ref()?;
    let rber = errors.rber.map_or_else(|| "-".into(), |rber| format!("{rber:.1e}"));
    let mut text = format!("raw bit error rate: {rber}; read again: {} of the reads", percent(errors.retried()?));
    let again: u64 = errors.by_retries.iter().skip(1).sum();
    if again > 0 {
        let each = errors.retries() as f64 / again as f64;
        text += &format!(", {each:.1} times each, {} at most", errors.by_retries.len() - 1);
    }
    if errors.soft + errors.uncorrectable > 0 {
        let (soft, lost) = (count(errors.soft as f64), count(errors.uncorrectable as f64));
        text += &format!("\nsoft decoding: {soft} reads; uncorrectable: {lost} mapping units");
    }
    Some(text)
}

/// The lines of all stages of a run, for below the parts of the time of requests.
#[must_use]
pub fn retries_text(stages: &[Summary]) -> String {
    let lines: Vec<String> = stages.iter().filter_map(retries).collect();
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n\n" }
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::run::table;
    use crate::testing::{reported, settled};

    #[test]
    fn the_line_of_bit_errors_is_there_where_there_are_any() {
        reported(&settled(small::with_errors()), &[], |_, summary| {
            let line = retries(summary).expect("errors");
            assert!(line.starts_with("raw bit error rate: ") && line.contains(" times each, "), "{line}");
            assert!(line.lines().all(|line| line.len() <= 90) && table(summary).contains(&line), "{line}");
        });
        reported(&settled(small::with_log_blocks()), &[], |_, summary| {
            assert_eq!(retries(summary), None);
            assert!(!table(summary).contains("bit error"));
        });
        assert_eq!(retries_text(&[]), "");
    }
}
