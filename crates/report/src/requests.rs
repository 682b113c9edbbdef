//! The request log: one row per request, in Parquet.

use std::fs::File;
use std::io::{self, BufWriter};

use study::output::{OutFile, OutputError, REQUESTS};
use study::run::{Record, RequestLog};
use study::summary::Provenance;

use super::columns::Rows;
use super::table::{Table, UnitOfMeasure};

const GROUP: usize = 1 << 16;

/// A Parquet file with a row for each request, in the order of completion.
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
    pub fn create(out: OutFile, about: &Provenance) -> Result<Self, OutputError> {
        let rows = Rows::create(BufWriter::new(out.duplicate()?), REQUESTS, about, &table(&[]).fields());
        let rows = rows.map_err(|error| out.failed(&io::Error::other(error)))?;
        Ok(Self { out, rows, pending: Vec::with_capacity(GROUP) })
    }

    fn flush(&mut self) -> io::Result<()> {
        let table = table(&self.pending);
        self.pending.clear();
        self.rows.write(table.columns()).map_err(io::Error::other)
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

/// The rows of the log.
pub(crate) fn table(records: &[Record]) -> Table {
    let mut table = Table::default();
    let number = "Number of the request, from zero, in the order of arrival";
    table.count("request", UnitOfMeasure::None, number, records.iter().map(|r| r.tag));
    table.text(
        "kind",
        "`read`, `write`, `flush`, `discard`, or a kind of zones",
        records.iter().map(|r| r.io.kind.name()),
    );
    table.count(
        "start_sector",
        UnitOfMeasure::Sectors,
        "First sector of 512 bytes",
        records.iter().map(|r| r.io.start.get()),
    );
    table.count("sectors", UnitOfMeasure::Sectors, "Number of sectors", records.iter().map(|r| r.io.sectors.get()));
    let outcomes = "`done`, `uncorrectable`, `read_only`, `out_of_range`, or a status of zones";
    table.text("outcome", outcomes, records.iter().map(|r| r.status.name()));
    let mut time = |name, meaning, of: fn(&Record) -> u64| {
        table.count(name, UnitOfMeasure::Picoseconds, meaning, records.iter().map(of));
    };
    time("arrival_ps", "Submission, in simulated time", |r| r.arrival.as_ps());
    time("start_ps", "When it left its submission queue", |r| r.start.as_ps());
    time("end_ps", "Completion", |r| r.end.as_ps());
    time("queue_wait_ps", "`start_ps` less `arrival_ps`", |r| (r.start - r.arrival).as_ps());
    let commands = "Flash commands issued for it before its acknowledgement";
    table.count("flash_commands", UnitOfMeasure::None, commands, records.iter().map(|r| u64::from(r.commands)));
    let wait = "The longest wait of one of them";
    table.count("flash_wait_ps", UnitOfMeasure::Picoseconds, wait, records.iter().map(|r| r.flash_wait.as_ps()));
    let mask = "Bit n is set if it waited behind commands of the n-th cause: 0 host, 1 gc, 2 merge, 3 wear, 4 map, 5 flush, \
                6 pad, 7 recovery, 8 fold";
    let bits = |r: &Record| r.waited_for.iter().map(|cause| 1 << cause as u8).sum();
    table.count("waited_for_mask", UnitOfMeasure::None, mask, records.iter().map(bits));
    table.count(
        "flow",
        UnitOfMeasure::None,
        "Number of its flow, from zero",
        records.iter().map(|r| u64::from(r.flow)),
    );
    let queue = "Number of its submission queue, from zero";
    table.count("queue", UnitOfMeasure::None, queue, records.iter().map(|r| u64::from(r.queue.get())));
    let placement = "The placement identifier of a write";
    table.count("placement", UnitOfMeasure::None, placement, records.iter().map(|r| u64::from(r.io.placement.get())));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::io::IoKind;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use study::oracle::Blank;
    use study::output::{Kind, Outputs, publish};
    use study::run::Rules;
    use testkit::{List, small};
    use workload::Pacing;

    #[test]
    fn every_request_has_a_row() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("requests.parquet");
        let out = Outputs::new([""; 0], false).file("--requests", &path, Kind::Requests).expect("writable");
        let mut file = RequestFile::create(out, &Provenance::default()).expect("writable");
        let count = GROUP as u64 + 10;
        let mut source = List::cycle(&[IoKind::Read], count, 8, 256, 0, Pacing::Closed { depth: 8 });
        Rules { log: Some(&mut file), ..Rules::default() }
            .run(&mut small::four_servers(), &mut source, &mut Blank)
            .expect("it runs");
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
