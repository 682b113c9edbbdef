//! The record of a request in every format, and the counts of skipped input.

use std::collections::BTreeMap;
use std::path::Path;

use base::io::IoKind;
use base::units::Span;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::doubt::Doubt;
use super::field::Extent;
use super::volume::Volumes;
use crate::{Pacing, SourceError};

/// A request as it is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceRecord {
    /// Picoseconds on the clock of the file. 128 bits hold a Windows file time exactly.
    pub(crate) at: i128,
    /// The number of the line or record, counted from one.
    pub(crate) line: u64,
    /// The first sector of the request.
    pub(crate) start: u64,
    /// The length in sectors of 512 bytes.
    pub(crate) sectors: u32,
    /// The index of the volume: see [`Volumes`].
    pub(crate) volume: u32,
    /// The index of the request's file: see [`Records::path_of`].
    pub(crate) part: u16,
    /// The placement identifier of a write; 0 for other requests.
    pub(crate) placement: u16,
    /// The submission queue, if the file names it.
    pub(crate) queue: Option<u16>,
    pub(crate) kind: IoKind,
    /// True if the file names bytes that are not whole sectors: see [`Extent`].
    pub(crate) widened: bool,
}

impl TraceRecord {
    /// Creates the record of a request. The reader fills in its place in the file.
    #[inline]
    pub(crate) fn new(at: i128, kind: IoKind, extent: Extent, volume: u32) -> Self {
        let Extent { start, sectors, widened } = extent;
        Self { at, line: 0, start, sectors, volume, part: 0, placement: 0, queue: None, kind, widened }
    }

    #[inline]
    pub(crate) fn flush(at: i128, volume: u32) -> Self {
        Self::new(at, IoKind::Flush, Extent::default(), volume)
    }
}

/// A file in some format; it yields records in the order of the file.
pub(crate) trait Records: Send {
    /// The next request; `None` at the end.
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError>;

    /// The pacing of the requests, unless the user gives another.
    fn pacing(&self) -> Pacing {
        Pacing::Open
    }

    /// The number of requests in the file, if the file states it.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// True if places in the file are records instead of lines of text.
    fn is_binary(&self) -> bool {
        false
    }

    /// The file with this index, if there are several.
    fn path_of(&self, _: u16) -> Option<&Path> {
        None
    }
}

/// State shared by the layers of a reader.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) stats: TraceStats,
    pub(crate) volumes: Volumes,
    /// Facts that the file does not state, with the assumptions made.
    pub(crate) doubts: Vec<Doubt>,
}

impl Context {
    /// Adds a doubt, unless an equal one has been added.
    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// A remedy for wrong times, with the doubts about the trace, one of which may be the cause.
    pub(crate) fn with_doubts(&self, remedy: &str) -> String {
        let doubts = self.doubts.iter().map(|doubt| format!("; note: {doubt}"));
        std::iter::once(remedy.to_owned()).chain(doubts).collect()
    }

    /// Counts an event that is not a request, by its kind.
    pub(crate) fn leave_out(&mut self, kind: &str) -> Skip {
        self.stats.leave_out(kind);
        Skip::Event
    }
}

/// The reason that a line or record yields no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    Blank,
    Comment,
    Header,
    /// An event that [`Context::leave_out`] has counted.
    Event,
    Empty,
}

/// Counts of requests that a reader skipped, corrected or moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TraceStats {
    /// The number of requests read from the file, before `skip` and `limit`.
    pub requests: u64,
    /// The number of blank lines.
    pub blank: u64,
    /// The number of comment lines.
    pub comments: u64,
    /// The number of header and summary lines.
    pub headers: u64,
    /// The number of events that are not requests: other actions of blktrace, other SCSI commands, opening and closing
    /// of files.
    pub other_events: u64,
    /// The other events by kind: pairs of the kind and the number of events.
    #[serde(serialize_with = "pairs")]
    #[schemars(with = "Vec<(String, u64)>")]
    pub left_out: BTreeMap<String, u64>,
    /// The number of requests whose bytes are not whole sectors; they were widened to the sectors that they touch.
    pub widened: u64,
    /// The number of reads, writes and discards of length zero.
    pub empty: u64,
    /// The number of requests of volumes that were not selected.
    pub other_volumes: u64,
    /// The number of requests with an earlier time stamp than the request before in the file; the reader sorted them.
    pub inversions: u64,
    /// The largest step back between time stamps, in picoseconds.
    pub worst_inversion_ps: u64,
    /// The number of time stamps from before the start of a recording that blkparse printed modulo 2^32 seconds; they
    /// were corrected.
    pub wrapped_stamps: u64,
    /// The number of requests with a known wrong time stamp, which got a neighbouring time: see the format's rule.
    pub restamped: u64,
    /// The number of idle gaps that were shortened to the limit.
    pub shortened_gaps: u64,
    /// The number of requests beyond the capacity whose address was taken modulo the capacity.
    pub wrapped_addresses: u64,
    /// The number of wrapped requests that would have crossed the end of the drive and were moved down to end there.
    pub moved_addresses: u64,
    /// The number of requests split because compaction had placed their chunks apart.
    pub split_requests: u64,
    /// The number of files of an archive that were merged.
    pub members: u64,
    /// The names of files of an archive that are not traces.
    pub strangers: Vec<String>,
    /// The event that stands for a request, if the format records several (`Q`, `D`, `I` or `C`).
    pub event: Option<char>,
}

/// Writes a map as pairs. The kinds are not known beforehand, and a schema must list the keys of every object.
fn pairs<S: Serializer>(counts: &BTreeMap<String, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(counts)
}

/// The share of a recording from which on a note states it beside the number of requests.
const MUCH: f64 = 0.01;
/// The most kinds of events that a note names.
const KINDS: usize = 8;

impl TraceStats {
    #[inline]
    pub(crate) fn pass_over(&mut self, why: Skip) {
        match why {
            Skip::Blank => self.blank += 1,
            Skip::Comment => self.comments += 1,
            Skip::Header => self.headers += 1,
            Skip::Event => {}
            Skip::Empty => self.empty += 1,
        }
    }

    pub(crate) fn leave_out(&mut self, kind: &str) {
        self.other_events += 1;
        match self.left_out.get_mut(kind) {
            Some(count) => *count += 1,
            None => drop(self.left_out.insert(kind.to_owned(), 1)),
        }
    }

    /// The events that are not requests, in words, most frequent kind first.
    fn left_out(&self) -> String {
        let mut kinds: Vec<(&str, u64)> = self.left_out.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let more = kinds.len().saturating_sub(KINDS);
        let named: Vec<String> = kinds.iter().take(KINDS).map(|(kind, count)| format!("{count} {kind}")).collect();
        let more = if more > 0 { format!(" and {more} more kinds") } else { String::new() };
        format!("other events, skipped: {} ({}{more})", self.other_events, named.join(", "))
    }

    /// The counts that are not zero, in words. Blank lines, comments and headers are normal and left out.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let worst = Span::from_ps(self.worst_inversion_ps);
        let all = [
            (self.inversions, format!("time stamps out of order by up to {worst}, sorted")),
            (self.wrapped_stamps, "wrapped time stamps, corrected".into()),
            (self.restamped, "wrong time stamps, corrected".into()),
            (self.empty, "requests without length, skipped".into()),
            (self.widened, "requests that are no whole sectors, widened to the sectors that they touch".into()),
            (self.other_volumes, "requests of other volumes, skipped".into()),
            (self.shortened_gaps, "idle gaps, shortened".into()),
            (self.wrapped_addresses, "requests beyond the capacity, wrapped around".into()),
            (self.moved_addresses, "wrapped requests, moved down to end at the capacity".into()),
            (self.split_requests, "requests split by compaction".into()),
        ];
        let counts = all.into_iter().filter(|(count, _)| *count > 0);
        // The share is stated because a trace of which a large part is changed says little about the recorded load.
        let share = |count: u64| match count as f64 / self.requests.max(1) as f64 {
            share if share >= MUCH => format!(" ({:.0}% of the requests)", share * 100.0),
            _ => String::new(),
        };
        let mut notes: Vec<String> = counts.map(|(count, what)| format!("{what}: {count}{}", share(count))).collect();
        if self.other_events > 0 {
            notes.push(self.left_out());
        }
        if self.members > 1 {
            notes.push(format!("files of the archive, merged by time: {}", self.members));
        }
        if let [first, rest @ ..] = &self.strangers[..] {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            notes.push(format!("files of the archive that are not traces, skipped: {first}{more}"));
        }
        notes
    }
}
