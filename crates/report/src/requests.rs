//! The request log: one row per request, in Parquet.

use std::fs::File;
use std::io::{self, BufWriter};

use ssd::Status;

use study::output::{OutFile, OutputError, REQUESTS};
use study::run::{Record, RequestLog};
use study::summary::About;

use super::columns::{Column, Rows};

/// Rows in a group.
const GROUP: usize = 1 << 16;

/// A Parquet file with the columns `request`, `kind`, `start_sector`, `sectors`, `outcome`, `arrival_ps`, `start_ps`,
/// `end_ps`, `queue_wait_ps`, `flash_commands`, `flash_wait_ps`, `waited_for_mask`, `flow` and `queue`, in the order of
/// completion. The mask has bit n set if the request waited behind commands of the n-th cause: host, gc, merge, wear,
/// map, flush, pad, recovery.
///
/// The file gets its final name after [`RequestFile::finish`].
pub struct RequestFile {
    out: OutFile,
    rows: Rows<BufWriter<File>>,
    pending: Vec<Record>,
}

impl RequestFile {
    /// Creates the log in `out`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(out: OutFile, about: &About) -> Result<Self, OutputError> {
        let rows = Rows::create(BufWriter::new(out.duplicate()?), REQUESTS, about, &columns(&[]));
        let rows = rows.map_err(|error| out.failed(&io::Error::other(error)))?;
        Ok(Self { out, rows, pending: Vec::with_capacity(GROUP) })
    }

    fn flush(&mut self) -> io::Result<()> {
        let columns = columns(&self.pending);
        self.pending.clear();
        self.rows.write(columns.iter().map(|(_, column)| column)).map_err(io::Error::other)
    }

    /// Writes the remaining rows and the footer; the returned file can then be renamed to its final name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<OutFile, OutputError> {
        let written = if self.pending.is_empty() { Ok(()) } else { self.flush() };
        let written = written.and_then(|()| self.rows.finish().map_err(io::Error::other));
        written.map_err(|error| self.out.failed(&error))?;
        Ok(self.out)
    }
}

impl RequestLog for RequestFile {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.pending.push(*record);
        if self.pending.len() == GROUP { self.flush() } else { Ok(()) }
    }
}

/// The name of an outcome in files.
const fn outcome(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Uncorrectable => "uncorrectable",
        Status::ReadOnly => "read_only",
        Status::OutOfRange => "out_of_range",
    }
}

pub(crate) fn columns(records: &[Record]) -> [(&'static str, Column); 14] {
    let counts = |of: fn(&Record) -> u64| Column::Count(records.iter().map(of).collect());
    let texts =
        |of: fn(&Record) -> &'static str| Column::Text(records.iter().map(|record| of(record).into()).collect());
    [
        ("request", counts(|r| r.tag)),
        ("kind", texts(|r| r.io.kind.name())),
        ("start_sector", counts(|r| r.io.start.get())),
        ("sectors", counts(|r| r.io.sectors.get())),
        ("outcome", texts(|r| outcome(r.status))),
        ("arrival_ps", counts(|r| r.arrival.as_ps())),
        ("start_ps", counts(|r| r.start.as_ps())),
        ("end_ps", counts(|r| r.end.as_ps())),
        ("queue_wait_ps", counts(|r| (r.start - r.arrival).as_ps())),
        ("flash_commands", counts(|r| u64::from(r.commands))),
        ("flash_wait_ps", counts(|r| r.flash_wait.as_ps())),
        ("waited_for_mask", counts(|r| r.waited_for.iter().map(|cause| 1 << cause as u8).sum())),
        ("flow", counts(|r| u64::from(r.flow))),
        ("queue", counts(|r| u64::from(r.queue.get()))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::io::IoKind;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use study::oracle::Blank;
    use study::output::{Kind, Outputs, publish};
    use study::run::Runner;
    use testkit::{List, small};
    use workload::Pacing;

    #[test]
    fn every_request_has_a_row() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("requests.parquet");
        let out = Outputs::new([""; 0], false).file("--requests", &path, Kind::Requests).expect("writable");
        let mut file = RequestFile::create(out, &About::default()).expect("writable");
        let count = GROUP as u64 + 10;
        let mut source = List::cycle(&[IoKind::Read], count, 8, 256, 0, Pacing::Closed { depth: 8 });
        Runner::new().log(&mut file).run(&mut small::four_servers(), &mut source, &mut Blank).expect("it runs");
        assert!(!path.exists());
        publish(vec![file.finish().expect("written")], None).expect("named");

        let reader = SerializedFileReader::new(File::open(&path).expect("there")).expect("Parquet");
        assert_eq!(reader.num_row_groups(), 2);
        let last = reader.get_row_iter(None).expect("rows").last().expect("some").expect("a row");
        assert_eq!(last.get_ulong(0).expect("request"), count - 1);
        assert_eq!(last.get_string(1).expect("kind"), "read");
        assert_eq!(last.get_ulong(8).expect("queue wait"), 100_000_000);
        assert_eq!(last.get_ulong(11).expect("causes"), 1);
    }
}
