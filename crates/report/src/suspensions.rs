//! The lines with the number of suspensions of programs and erases, their cost, and their gain.

use study::summary::{FlashRow, Summary};
use study::text::{count, duration};

/// The suspensions of a run by operation, the mean time of each, and the time to suspend and to resume. A second line
/// has the gain: the mean time that a command which suspended an operation would have waited longer for the operation's
/// end. `None` without suspensions.
pub(crate) fn suspensions(summary: &Summary) -> Option<String> {
    let of = |op: &str| {
        let rows = || summary.flash.iter().filter(move |row| row.op == op);
        let suspensions: u64 = rows().map(|row| row.suspensions).sum();
        let stood: f64 = rows().map(|row| row.suspended_s).sum();
        let mean = duration(stood * 1e6 / suspensions as f64);
        (suspensions > 0).then(|| format!("{} x {mean} of {op}s", count(suspensions as f64)))
    };
    let all: Vec<String> = ["program", "erase"].into_iter().filter_map(of).collect();
    let sum = |of: fn(&FlashRow) -> f64| summary.flash.iter().map(of).sum::<f64>() * 1e6;
    let overhead = duration(sum(|row| row.suspend_overhead_s));
    let gain = duration(sum(|row| row.suspend_gain_s) / sum(|row| row.suspensions as f64 * 1e-6));
    let gain = format!("a command that suspended one began {gain} sooner");
    (!all.is_empty()).then(|| format!("suspensions: {}; overhead {overhead}\n{gain}", all.join(", ")))
}

/// The lines of all stages of a run, for below the parts of the time of requests.
#[must_use]
pub fn suspensions_text(stages: &[Summary]) -> String {
    let lines: Vec<String> = stages.iter().filter_map(suspensions).collect();
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n\n" }
}

/// True if operations of these rows were suspended.
pub(crate) fn any(rows: &[FlashRow]) -> bool {
    rows.iter().any(|row| row.suspensions > 0)
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::run::{page, table};
    use crate::testing::{reported, settled};

    #[test]
    fn the_line_and_the_columns_of_suspensions_are_there_where_there_are_any() {
        reported(&settled(small::suspending()), &[], |report, summary| {
            let line = suspensions(summary).expect("suspensions");
            assert!(
                line.starts_with("suspensions: ") && line.contains(" of programs, ") && line.contains(" of erases; ")
            );
            assert!(line.contains("\na command that suspended one began "), "{line}");
            assert!(line.lines().all(|line| line.len() <= 80) && table(summary).contains(&line), "{line}");
            assert!(page(&[(report, summary)]).html().contains("stood still"));
        });
        reported(&settled(small::with_log_blocks()), &[], |_, summary| {
            assert_eq!(suspensions(summary), None);
            assert!(!table(summary).contains("suspen"));
        });
        assert_eq!(suspensions_text(&[]), "");
    }
}
