//! Describes metrics in words, for titles and for readers who do not know their names.

use super::catalogue::catalogue;
use super::{KINDS, Metric};

impl Metric {
    /// The meaning of the metric, as a sentence.
    #[must_use]
    pub fn meaning(&self) -> String {
        let meanings: Vec<String> = self.names().map(|name| meaning(name, false)).collect();
        meanings.join("; divided by: ")
    }

    /// A title for the metric, of a few words.
    #[must_use]
    pub fn title(&self) -> String {
        let titles: Vec<String> = self.names().map(|name| meaning(name, true)).collect();
        titles.join(" / ")
    }

    /// The name of the metric; for a quotient, the names of dividend and divisor.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').map(str::trim)
    }
}

/// The meaning of a name in the catalogue; `short` shortens it to the words that a title needs.
fn meaning(name: &str, short: bool) -> String {
    let (group, stat) = name.split_once('.').unwrap_or(("", name));
    if let Some((flow, number)) = stat.split_once('.').filter(|(flow, _)| group == "flow" && *flow != "NAME") {
        let (number, alone) = number.strip_prefix("alone.").map_or((number, ""), |number| (number, " alone"));
        let general = if number.ends_with("slowdown") { format!("flow.NAME.{number}") } else { number.to_owned() };
        return format!("{}, flow {flow}{alone}", meaning(&general, short));
    }
    let kind = KINDS.contains(&group).then_some(group);
    let parts: Vec<&str> = stat.split('.').collect();
    let (general, about) = match (kind, group, &parts[..]) {
        (Some(kind), ..) => (format!("KIND.{stat}"), format!(" of {}", several(kind))),
        (None, "commands" | "slots", [op]) => (format!("{group}.OP"), format!(": {op}")),
        (None, "commands" | "slots", [op, cause]) => (format!("{group}.OP.CAUSE"), format!(": {op}, cause {cause}")),
        (None, "outcomes", [outcome]) => ("outcomes.OUTCOME".into(), format!(": {}", outcome.replace('_', "-"))),
        (None, "slc", ["commands", op]) => ("slc.commands.OP".into(), format!(": {op}")),
        (None, "slc", ["commands", op, cause]) => ("slc.commands.OP.CAUSE".into(), format!(": {op}, cause {cause}")),
        _ => (name.to_owned(), String::new()),
    };
    let groups = catalogue();
    let entries = groups.iter().flat_map(|group| group.entries.iter().map(move |entry| (group.title, entry)));
    let Some((_, entry)) = entries.into_iter().find(|(_, entry)| entry.name == general) else { return name.to_owned() };
    let first = match group {
        "busy" => "Busy share: ",
        "map" => "Map unit: ",
        "slc" => "SLC flash: ",
        "log" | "merges" => "Merges: ",
        _ => "",
    };
    // The title names the operation in place of "of an operation".
    let text = entry.meaning.split(" of an operation").next().unwrap_or(entry.meaning);
    let ends = [": ", "; ", ", ", " ("].iter().filter_map(|end| text.find(end));
    let (head, rest) = text.split_at(ends.min().unwrap_or(text.len()));
    let rest = if short { "" } else { rest };
    format!("{first}{head}{about}{rest}")
}

/// The plural noun for the requests of a kind.
fn several(kind: &str) -> String {
    if kind.ends_with("sh") { format!("{kind}es") } else { format!("{kind}s") }
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn every_metric_has_a_title_and_a_meaning() {
        let metric = |text: &str| text.parse::<Metric>().expect(text);
        for (name, title) in [
            ("read.p99_9", "99.9th percentile of the response time of reads"),
            ("flush.mean", "Mean response time of flushes"),
            ("waf", "Write amplification"),
            ("flow.reader.alone.read.mean", "Mean response time of reads, flow reader alone"),
            ("flow.reader.rate-slowdown", "Requests per second alone by those beside the other flows, flow reader"),
            ("busy.dies", "Busy share: The dies"),
            ("commands.erase.gc", "Flash commands: erase, cause gc"),
            (
                "write.service / read.service",
                "Mean time from leaving the submission queue to completion of writes / \
              Mean time from leaving the submission queue to completion of reads",
            ),
        ] {
            assert_eq!(metric(name).title(), title);
        }
        assert!(metric("waf").meaning().contains("no buffer absorbed"));
        assert_eq!(metric("read.mean").meaning(), "Mean response time of reads, from submission to completion");
        for name in names() {
            assert_ne!(metric(&name).title(), name, "no metric is its own title");
        }
    }
}
