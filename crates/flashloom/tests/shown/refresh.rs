//! Finds the shown lines of an output again in a changed output.

/// The difference of two lines: each word at another place counts; a different first word counts most.
fn distance(shown: &str, printed: &str) -> usize {
    let words = |line: &str| line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    let (shown, printed) = (words(shown), words(printed));
    let same = shown.iter().zip(&printed).filter(|(a, b)| a == b).count();
    shown.len().max(printed.len()) - same + if shown.first() == printed.first() { 0 } else { 4 }
}

/// The lines of `printed` that replace `shown`, with `...` where `shown` has it, and their distance from `shown`.
pub(crate) fn refreshed(shown: &[String], printed: &str) -> (usize, Vec<String>) {
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let unlike = |wanted: &[String], from: usize| -> usize {
        wanted.iter().enumerate().map(|(i, line)| distance(line, printed.get(from + i).unwrap_or(&""))).sum()
    };
    if !shown.iter().any(|line| line == "...") {
        let more = printed.len().saturating_sub(shown.len());
        return (unlike(shown, 0) + more, printed.iter().map(ToString::to_string).collect());
    }
    let (mut at, mut sum, mut lines, mut is_anywhere) = (0, 0, Vec::new(), false);
    for part in shown.split_inclusive(|line| line == "...") {
        let is_cut = part.last().is_some_and(|line| line == "...");
        let wanted = &part[..part.len() - usize::from(is_cut)];
        let last = printed.len().saturating_sub(wanted.len()).max(at);
        let places = match (is_anywhere, is_cut) {
            (false, _) => at..=at,
            (true, true) => at..=last,
            (true, false) => last..=last,
        };
        let from = places.min_by_key(|from| unlike(wanted, *from)).unwrap_or(at).min(printed.len());
        sum += unlike(wanted, from);
        at = (from + wanted.len()).min(printed.len());
        lines.extend(printed[from..at].iter().map(ToString::to_string));
        lines.extend(is_cut.then(|| "...".to_owned()));
        is_anywhere = is_cut;
    }
    (sum, lines)
}

#[test]
fn a_changed_output_refreshes_the_lines_shown() {
    let lines = |text: &str| text.lines().map(ToOwned::to_owned).collect::<Vec<String>>();
    let printed = "run 2 of it\n\nread 5 7us\nwrite 6 9us\n\nbusy: dies 4%\nhash b\n";
    for (shown, fresh) in [
        ("run 1 of it\n\nread 5 6us\n...", "run 2 of it\n\nread 5 7us\n..."),
        ("...\nwrite 6 8us\n...\nbusy: dies 3%\n...", "...\nwrite 6 9us\n...\nbusy: dies 4%\n..."),
        ("...\nhash a", "...\nhash b"),
        ("run 1 of it", printed.trim_end()),
    ] {
        assert_eq!(refreshed(&lines(shown), printed).1, lines(fresh), "{shown}");
    }
    // Lines of the standard output are not searched in the text that also has the standard error.
    let (stdout, both) = (refreshed(&lines("a 1\nb"), "a 2\nb"), refreshed(&lines("a 1\nb"), "a 2\nb\nnote: c"));
    assert!(stdout.0 < both.0, "{stdout:?} {both:?}");
}
