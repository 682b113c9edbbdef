//! The words that a page explains: the words of the guide's glossary, and metrics by their keys. A word on a page is a
//! link to its line at the end of the page, which the script also shows on hover and on focus.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::escape::escape;

/// The glossary of the guide, the only source of the meanings of words.
const GLOSSARY: &str = include_str!("../glossary.md");

/// Words of the glossary that texts use in their plain sense, too.
const PLAIN: [&str; 40] = [
    "account", "array", "axis", "class", "cause", "core", "event", "fault", "hit", "host", "hot", "interval", "k",
    "level", "load", "map", "mask", "mode", "outcome", "owner", "part", "program", "queue", "question", "rate",
    "ratio", "read", "request", "row", "scrub", "session", "slot", "source", "store", "stream", "switch", "tag",
    "update", "valid", "way",
];

struct GlossaryEntry {
    word: String,
    /// The forms of the word in texts, in lower case.
    forms: Vec<String>,
    says: String,
}

/// The glossary without the lines that only refer to others, longest forms first.
fn glossary() -> &'static [GlossaryEntry] {
    static READ: OnceLock<Vec<GlossaryEntry>> = OnceLock::new();
    READ.get_or_init(|| GLOSSARY.lines().filter_map(entry).collect())
}

fn entry(line: &str) -> Option<GlossaryEntry> {
    let (word, rest) = line.strip_prefix("- **")?.split_once("**")?;
    let (others, says) = if rest.starts_with(" (") { rest.split_once("): ")? } else { rest.split_once(": ")? };
    let says = says.replace(['*', '`'], "");
    if says.starts_with("see ") {
        return None;
    }
    // Brackets enclose other names of the thing, or the paper that introduced the word.
    let others = others.trim().trim_start_matches('(').trim_end_matches(')');
    let is_name = |text: &&str| {
        let mut letters = text.chars();
        let (first, second) = (letters.next(), letters.next());
        let author = first.is_some_and(char::is_uppercase) && second.is_some_and(char::is_lowercase);
        !text.is_empty() && !author && ![" of ", ";", "`", "after "].iter().any(|odd| text.contains(odd))
    };
    let others = others.split(", ").filter(is_name);
    let forms = word.split(", ").chain(others).map(str::to_lowercase);
    let forms = forms.filter(|form| !PLAIN.contains(&form.as_str())).collect();
    Some(GlossaryEntry { word: word.to_owned(), forms, says })
}

/// The words that a page has used so far, with their lines.
#[derive(Default)]
pub(crate) struct Words {
    used: Vec<(String, String)>,
}

impl Words {
    /// The text as HTML, in which each word of the glossary is a link to its line.
    pub(crate) fn mark(&mut self, text: &str) -> String {
        self.marked(text, true)
    }

    /// The text as HTML, in which only the first use of a word on the page is a link. For prose.
    pub(crate) fn mark_first(&mut self, text: &str) -> String {
        self.marked(text, false)
    }

    /// The text as a link to the explanation `says`.
    pub(crate) fn explain(&mut self, text: &str, says: &str) -> String {
        self.link(text, text, says)
    }

    fn marked(&mut self, text: &str, again: bool) -> String {
        let lower = text.to_ascii_lowercase();
        let (mut html, mut at, mut plain) = (String::new(), 0, 0);
        while at < text.len() {
            let begins = text.is_char_boundary(at) && !lower[..at].ends_with(is_letter);
            let found = if begins && lower[at..].starts_with(is_letter) { longest(&lower[at..]) } else { None };
            let Some((entry, length)) = found.filter(|(entry, _)| again || !self.has(&entry.word)) else {
                at += 1;
                continue;
            };
            html.push_str(&escape(&text[plain..at]));
            html.push_str(&self.link(&text[at..at + length], &entry.word, &entry.says));
            at += length;
            plain = at;
        }
        html.push_str(&escape(&text[plain..]));
        html
    }

    fn has(&self, word: &str) -> bool {
        self.used.iter().any(|(used, _)| used == word)
    }

    fn link(&mut self, text: &str, word: &str, says: &str) -> String {
        if !self.has(word) {
            self.used.push((word.to_owned(), says.to_owned()));
        }
        let number = self.used.iter().position(|(used, _)| used == word).unwrap_or_default();
        let text = escape(text);
        format!("<a class=\"term\" href=\"#word-{number}\" aria-describedby=\"says-{number}\">{text}</a>")
    }

    /// The section with the lines of all words that were used; empty without any.
    pub(crate) fn html(&self) -> String {
        if self.used.is_empty() {
            return String::new();
        }
        let mut lines: Vec<_> = self.used.iter().enumerate().collect();
        lines.sort_by_key(|(_, (word, _))| word.to_lowercase());
        let mut html = String::from("<section>\n<h2>Words on this page</h2>\n<dl class=\"terms\">\n");
        for (number, (word, says)) in lines {
            let (word, says) = (escape(word), escape(says));
            let _ = writeln!(html, "<dt id=\"word-{number}\">{word}</dt><dd id=\"says-{number}\">{says}</dd>");
        }
        html + "</dl>\n</section>\n"
    }
}

/// True for a character inside of words and keys.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/')
}

/// The entry with the longest form at the start of this lower-case text, and the length of the word there.
fn longest(text: &str) -> Option<(&'static GlossaryEntry, usize)> {
    let whole = |length: usize| !text[length..].starts_with(is_letter);
    // p99 and p99.9 are percentiles.
    if let Some(digits) = text.strip_prefix('p') {
        let length = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let number = digits[..length].trim_end_matches('.');
        if !number.is_empty() && number.starts_with(|c: char| c.is_ascii_digit()) && whole(1 + number.len()) {
            return glossary().iter().find(|entry| entry.word == "Percentile").map(|entry| (entry, 1 + number.len()));
        }
    }
    let form = |form: &String| {
        let length = form.len();
        if !text.starts_with(form.as_str()) {
            return None;
        }
        [length, length + 1].into_iter().find(|end| {
            let plural = *end > length;
            text.is_char_boundary(*end) && *end <= text.len() && whole(*end) && (!plural || text[length..*end] == *"s")
        })
    };
    let ends = glossary().iter().filter_map(|entry| Some((entry, entry.forms.iter().filter_map(form).max()?)));
    ends.max_by_key(|(_, length)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_glossary_link_to_their_lines() {
        let mut words = Words::default();
        let html = words.mark("write p99.9, WAF");
        let link = |n: u8, text: &str| {
            format!("<a class=\"term\" href=\"#word-{n}\" aria-describedby=\"says-{n}\">{text}</a>")
        };
        assert_eq!(html, format!("write {}, {}", link(0, "p99.9"), link(1, "WAF")));
        assert_eq!(words.mark("write amplifications <b>"), format!("{} &lt;b&gt;", link(1, "write amplifications")));
        // A part of a longer word is no link, nor is a word in its plain sense.
        assert_eq!(words.mark("read die-wait, P/Q, Drives"), format!("read die-wait, P/Q, {}", link(2, "Drives")));
        assert_eq!(words.mark_first("a drive, a die"), format!("a drive, a {}", link(3, "die")));
        let lines = words.html();
        for wanted in [
            "<dd id=\"says-2\">the simulated whole",
            "<dt id=\"word-1\">WAF</dt><dd id=\"says-1\">mapping units programmed per",
            "p99 is the 99th",
        ] {
            assert!(lines.contains(wanted), "{lines}");
        }
        assert!(lines.find("Die<").expect("there") < lines.find("WAF<").expect("there"), "in order: {lines}");
    }

    #[test]
    fn every_line_of_the_glossary_is_read_or_refers_to_another() {
        let lines: Vec<&str> = GLOSSARY.lines().filter(|line| line.starts_with("- **")).collect();
        let others = lines.iter().filter(|line| line.contains("**: see ")).count();
        assert!(lines.len() > 150 && glossary().len() + others == lines.len(), "{} lines", lines.len());
        // A name in `PLAIN` that is not in the glossary would have no effect.
        for plain in PLAIN {
            let of = |line: &&&str| line.to_lowercase().starts_with(&format!("- **{plain}**"));
            assert!(lines.iter().any(|line| of(&line)), "{plain}");
        }
    }
}
