//! Sentences that the first paragraphs of pages share.

use study::summary::Summary;
use study::validity::BEYOND;

/// Turns the text into a sentence, with a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.trim().chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    let whole: String = first.into_iter().chain(letters).collect();
    if whole.is_empty() || whole.ends_with('.') { whole } else { whole + "." }
}

/// Names as a list: `a, b and c`.
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// A warning about a result of a single seed; `None` for more seeds.
pub(crate) fn seeds(count: usize) -> Option<String> {
    (count <= 1).then(|| {
        "It ran with one seed, so nothing here says how far the numbers move from one sample of the workload to the next: a small \
         difference may be chance."
            .to_owned()
    })
}

/// The percentiles that too few requests support, by kind.
pub(crate) fn unsupported(run: &Summary) -> Option<String> {
    let of = |(kind, keys): (&&str, &Vec<&str>)| {
        let names: Vec<String> = keys.iter().map(|key| key.replace('_', ".")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} of {}", list(&names), several(kind))
    };
    let all: Vec<String> = run.validity.unsupported.iter().map(of).collect();
    let why = format!("fewer than {BEYOND} requests lie beyond them, and another sample would give other values");
    (!all.is_empty()).then(|| format!("Do not quote {}: {why}.", all.join("; ")))
}

/// The plural noun for the requests of a kind.
pub(crate) fn several(kind: &str) -> String {
    if kind.ends_with("sh") { format!("{kind}es") } else { format!("{kind}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_sentences_and_lists() {
        assert_eq!(["a b", "A.", ""].map(sentence), ["A b.", "A.", ""]);
        assert_eq!([list(&["a"]), list(&["a", "b"]), list(&["a", "b", "c"])], ["a", "a and b", "a, b and c"]);
        assert_eq!(["read", "flush"].map(several), ["reads", "flushes"]);
        assert!(seeds(1).is_some() && seeds(2).is_none());
    }
}
