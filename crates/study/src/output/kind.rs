//! Kinds of output files, and the marks by which Flashloom recognises its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::snapshot;

/// A kind of file that Flashloom writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An HTML page with charts.
    Page,
    /// The results of a run, a study or a comparison, as JSON.
    Results,
    /// A table or a configuration, as text.
    Text,
    /// The results of a study or a comparison, as Parquet.
    Columns,
    /// One row per request, as Parquet.
    Requests,
    /// A trace, as Parquet.
    Trace,
    /// The activity of every resource, as JSON.
    Timeline,
    /// The state of a drive.
    Snapshot,
    /// Claims, as JUnit XML.
    JUnit,
    /// A manual page in roff.
    Manual,
    /// The journal of a recorded run.
    Journal,
}

/// The first line of every text.
pub const TEXT: &str = "# Written by Flashloom\n";

/// The mark in the head of every page.
pub const PAGE: &str = "<meta name=\"generator\" content=\"Flashloom\">";

/// The first bytes of every timeline.
pub const TIMELINE: &str = "{\"otherData\":{\"generator\":\"Flashloom\"},";

/// The first attribute of every report in JUnit XML.
pub const JUNIT: &str = "name=\"flashloom claims\"";

/// The first line of every manual page.
pub const MANUAL: &str = ".\\\" Written by Flashloom\n";

/// The first bytes of every journal of a recorded run.
pub const JOURNAL: [u8; 18] = *b"flashloom journal\n";

/// The first characters of JSON results, without white space and opening brackets.
const RESULTS: &str = "\"schema\": \"flashloom-";

/// The creator that a Parquet file of results names.
pub const COLUMNS: &str = "flashloom results";

/// The creator that a Parquet file of requests names.
pub const REQUESTS: &str = "flashloom request log";

/// Extensions that promise a format to the reader of a file's name.
pub(super) const FORMATS: [&str; 14] =
    ["csv", "gif", "htm", "html", "json", "md", "parquet", "pdf", "png", "svg", "toml", "txt", "xlsx", "xml"];

/// The mark of a page lies within this many bytes from its start.
const HEAD: u64 = 1024;

/// The bytes of the footer's length and the magic at the end of a Parquet file.
const TAIL: u64 = 8;

/// The longest footer that Flashloom writes; a longer one is foreign.
const FOOTER: u64 = 64 << 20;

impl Kind {
    const ALL: [Self; 11] = [
        Self::Page,
        Self::Results,
        Self::Text,
        Self::Columns,
        Self::Requests,
        Self::Trace,
        Self::Timeline,
        Self::Snapshot,
        Self::JUnit,
        Self::Manual,
        Self::Journal,
    ];

    /// The kind's name, with its article.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "a report page",
            Self::Results => "a result as JSON",
            Self::Text => "a table or a configuration",
            Self::Columns => "a result as Parquet",
            Self::Requests => "a request log",
            Self::Trace => "a converted trace",
            Self::Timeline => "a timeline",
            Self::Snapshot => "a snapshot",
            Self::JUnit => "a report in JUnit XML",
            Self::Manual => "a manual page",
            Self::Journal => "a journal",
        }
    }

    /// The usual extensions of the kind's files, if other programs read the format.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Page => &["html", "htm"],
            Self::Results | Self::Timeline => &["json"],
            Self::Columns | Self::Requests | Self::Trace => &["parquet"],
            Self::JUnit => &["xml"],
            Self::Text => &["txt", "toml"],
            Self::Snapshot | Self::Manual | Self::Journal => &[],
        }
    }

    /// The format that a path's extension stands for, and a remedy, if the kind has another format. A path without an
    /// extension stands for none.
    pub(super) fn promised(self, path: &Path) -> Option<(String, String)> {
        let extension = path.extension()?.to_str()?;
        let is = |known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(extension));
        let own = self.extensions();
        if is(own) || own.is_empty() && !is(&FORMATS) {
            return None;
        }
        let remedy = match own {
            [] => "give it another extension, or none".to_owned(),
            [first, ..] => format!("end it in .{first}, or leave the extension out"),
        };
        Some((extension.to_owned(), remedy))
    }

    /// The kind of an existing file; `None` if another program wrote it, or the file is changed beyond recognition.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        let creator = if head.starts_with(b"PAR1") { footer(&mut file)? } else { Vec::new() };
        let opening = |byte: &u8| byte.is_ascii_whitespace() || b"[{".contains(byte);
        let inside = &head[head.iter().take_while(|byte| opening(byte)).count()..];
        let says = |kind: &Self| match kind {
            Self::Page => has(&head, PAGE),
            Self::Results => inside.starts_with(RESULTS.as_bytes()),
            Self::Text => head.starts_with(TEXT.as_bytes()),
            Self::Columns => has(&creator, COLUMNS),
            Self::Requests => has(&creator, REQUESTS),
            Self::Trace => has(&creator, workload::trace::CREATOR),
            Self::Timeline => head.starts_with(TIMELINE.as_bytes()),
            Self::Snapshot => head.starts_with(&snapshot::MAGIC),
            Self::JUnit => head.starts_with(b"<?xml") && has(&head, JUNIT),
            Self::Manual => head.starts_with(MANUAL.as_bytes()),
            Self::Journal => head.starts_with(&JOURNAL),
        };
        Ok(Self::ALL.into_iter().find(says))
    }
}

fn has(bytes: &[u8], mark: &str) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
}

/// The undecoded footer of a Parquet file; empty for another file.
fn footer(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(TAIL) else { return Ok(Vec::new()) };
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, ref mark @ ..] = tail;
    let long = u64::from(u32::from_le_bytes([a, b, c, d]));
    if mark != b"PAR1" || long > FOOTER.min(end) {
        return Ok(Vec::new());
    }
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(end - long))?;
    file.take(long).read_to_end(&mut footer)?;
    Ok(footer)
}

/// The file whose presence marks a folder with the result of a run.
pub const MARK: &str = "summary.json";
/// The file whose presence marks a folder with the result of studies.
pub const STUDY_MARK: &str = "study.json";

/// The kind of a result file with this name.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    match name.rsplit_once('/').map_or(name, |(_, name)| name) {
        MARK | STUDY_MARK => Some(Kind::Results),
        "report.html" => Some(Kind::Page),
        "table.txt" | "claims.txt" | "command.txt" => Some(Kind::Text),
        name if name.ends_with(".toml") => Some(Kind::Text),
        name if name.ends_with(".parquet") => Some(Kind::Columns),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_file_is_not_taken_for_an_output_of_flashloom() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("it");
        let foreign: [&[u8]; 12] = [
            b"",
            b"dear diary, today I ran Flashloom",
            b"{\"schema\": \"mine-1\"}",
            b"# Written by me\n",
            b"<!doctype html>\n<title>Flashloom</title>",
            b"PAR1",
            b"PAR1flashloom request logPAR1",
            b"PAR1flashloom request log\xFF\xFF\xFF\xFFPAR1",
            b"flashloom media\n",
            b"<?xml version=\"1.0\"?>\n<testsuites name=\"mine\">",
            b".TH flashloom 1\n",
            &zstd::encode_all(&b"dear diary"[..], 1).expect("compressed"),
        ];
        for text in foreign {
            std::fs::write(&path, text).expect("written");
            assert_eq!(Kind::of(&path).expect("read"), None, "{:?}", String::from_utf8_lossy(text));
        }
    }
}
