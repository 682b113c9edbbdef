//! Tests of the verifier: contents that a drive may return, and violations that are found.

mod honest;
mod zones;

use super::*;

/// A command of a client, with the content that it brings.
#[derive(Clone, Debug, PartialEq)]
struct TestRequest {
    command: ClientCommand,
    data: Vec<u8>,
}

/// A command without content.
const fn bare(command: ClientCommand) -> TestRequest {
    TestRequest { command, data: Vec::new() }
}

const READ: TestRequest = bare(ClientCommand::Read);
const FLUSH: TestRequest = bare(ClientCommand::Flush);
const DISCARD: TestRequest = bare(ClientCommand::Discard);

const VOLATILE: Promise =
    Promise { is_volatile: true, discards_durably: false, granularity: Sectors::new(4), zones: None };

/// A verifier, for tests whose requests mostly end at once.
struct Bench(Verifier, u64);

impl Bench {
    fn new(promise: Promise) -> Self {
        Self(Verifier::new(promise, true), 0)
    }

    fn at(&mut self) -> Time {
        self.1 += 1;
        Time::ZERO + base::units::Span::from_ms(self.1)
    }

    fn begin(&mut self, request: &TestRequest, start: u64, sectors: u64) -> Ticket {
        let at = self.at();
        self.0.begin(at, request.command, start..start + sectors, &request.data)
    }

    fn end(&mut self, ticket: Ticket, request: &TestRequest, start: u64, sectors: u64) {
        let at = self.at();
        self.0.end(at, ticket, request.command, start..start + sectors, Ok(&[]));
    }

    fn alone(&mut self, request: &TestRequest, start: u64, sectors: u64) {
        let ticket = self.begin(request, start, sectors);
        self.end(ticket, request, start, sectors);
    }

    fn write(&mut self, start: u64, bytes: &[u8]) {
        self.alone(&write(bytes), start, bytes.len() as u64);
    }

    fn flush(&mut self) {
        self.alone(&FLUSH, 0, 0);
    }

    /// Ends a read with `bytes`; returns the violations.
    fn found(&mut self, ticket: Ticket, start: u64, bytes: &[u8]) -> Vec<String> {
        let at = self.at();
        let sectors = start..start + bytes.len() as u64;
        self.0.end(at, ticket, ClientCommand::Read, sectors, Ok(&data(bytes)));
        self.0.take_violations().iter().map(ToString::to_string).collect()
    }

    /// Reads without other requests under way; returns the violations.
    fn read(&mut self, start: u64, bytes: &[u8]) -> Vec<String> {
        let ticket = self.begin(&READ, start, bytes.len() as u64);
        self.found(ticket, start, bytes)
    }

    #[track_caller]
    fn right(&mut self, start: u64, bytes: &[u8]) {
        assert_eq!(self.read(start, bytes), Vec::<String>::new());
    }

    #[track_caller]
    fn wrong(&mut self, start: u64, bytes: &[u8], wanted: &str) {
        let said = self.read(start, bytes).join("\n");
        assert!(said.contains(wanted), "`{said}`");
    }
}

/// Sectors, each filled with a byte.
fn data(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [*byte; 512]).collect()
}

fn write(bytes: &[u8]) -> TestRequest {
    TestRequest { command: ClientCommand::Write { fua: false }, data: data(bytes) }
}

#[test]
fn a_read_finds_the_newest_write() {
    let mut bench = Bench::new(VOLATILE);
    bench.right(4094, &[0; 4]);
    bench.write(4094, &[1, 2, 3, 4]);
    bench.write(4095, &[5, 6]);
    bench.right(4093, &[0, 1, 5, 6, 4, 0]);
    bench.wrong(
        4093,
        &[0, 1, 2, 6, 4, 0],
        "sector 4095 holds older data, written at 0.003 s at 0.010 s; expected data written at",
    );
    // A violation is reported once.
    bench.right(4093, &[0, 1, 2, 6, 4, 0]);
    bench.flush();
    bench.wrong(4096, &[3, 9], "sector 4096 holds data that no known write brought");
    bench.wrong(4094, &[0], "sector 4094 reads as zeros");
    bench.wrong(5000, &[7], "expected the zeros that it held before it was verified");
    let status = bench.0.status();
    assert_eq!((status.violations, status.first_violations.len(), status.adopted), (5, 5, 0));
}

#[test]
fn sectors_that_are_wrong_for_one_reason_are_one_violation() {
    let mut bench = Bench::new(VOLATILE);
    bench.write(8, &[1, 2, 3, 4]);
    bench.write(100, &[5, 6, 7, 8]);
    bench.flush();
    bench.wrong(
        8,
        &[5, 6, 7, 8],
        "sectors 8 to 11 hold the data of sector 100 at 0.008 s; expected data written at 0.001 s (durable)",
    );
    assert_eq!(bench.0.status().violations, 4);
}

#[test]
fn of_two_writes_at_once_either_may_win_and_the_first_read_says_which() {
    let (one, two) = (write(&[1, 1]), write(&[2, 2]));
    for (wins, loses) in [(1, 2), (2, 1)] {
        let mut bench = Bench::new(VOLATILE);
        let tickets = [bench.begin(&one, 0, 2), bench.begin(&two, 0, 2)];
        bench.end(tickets[0], &one, 0, 2);
        bench.end(tickets[1], &two, 0, 2);
        // The content of each sector is settled by itself.
        bench.right(0, &[wins, loses]);
        bench.right(0, &[wins, loses]);
        bench.wrong(0, &[loses], "sector 0 holds older data");
    }
}

#[test]
fn a_read_at_the_same_time_finds_the_old_or_the_new() {
    for is_flushed in [false, true] {
        let mut bench = Bench::new(VOLATILE);
        bench.write(0, &[1; 2]);
        bench.flush();
        let two = write(&[2; 2]);
        let reads = [(); 4].map(|()| bench.begin(&READ, 0, 2));
        let ticket = bench.begin(&two, 0, 2);
        assert!(bench.found(reads[0], 0, &[2, 1]).is_empty());
        assert!(bench.found(reads[1], 0, &[1, 2]).is_empty());
        bench.end(ticket, &two, 0, 2);
        if is_flushed {
            bench.flush();
        }
        assert!(bench.found(reads[2], 0, &[1, 1]).is_empty(), "it came before the write");
        assert!(!bench.found(reads[3], 0, &[3, 2]).is_empty());
        bench.write(0, &[4; 2]);
        bench.wrong(0, &[4, 2], "sector 1 holds older data, written at 0.009 s");
    }
}

#[test]
fn after_a_cut_a_sector_holds_nothing_older_than_what_was_flushed() {
    for seen in 0..4_u8 {
        let mut bench = Bench::new(VOLATILE);
        bench.write(0, &[1]);
        bench.flush();
        bench.write(0, &[2]);
        let three = write(&[3]);
        bench.begin(&three, 0, 1);
        bench.0.power_cut();
        match seen {
            0 => bench.wrong(0, &[0], "sector 0 reads as zeros at 0.009 s, after a power cut; expected data written at 0.005 s (not flushed) or data written at 0.007 s (not answered) or data written at 0.001 s (durable)"),
            _ => bench.right(0, &[seen]),
        }
        // The content that was read stays, after another cut too.
        bench.right(0, &[seen]);
        bench.0.power_cut();
        bench.right(0, &[seen]);
        bench.wrong(0, &[seen + 1], "sector 0 holds");
    }
}

#[test]
fn a_flush_covers_what_was_answered_before_it_came() {
    let mut bench = Bench::new(VOLATILE);
    let (one, two) = (write(&[1]), write(&[2]));
    let late = bench.begin(&one, 0, 1);
    bench.write(1, &[2]);
    let flush = bench.begin(&FLUSH, 0, 0);
    bench.end(late, &one, 0, 1);
    let after = bench.begin(&two, 2, 1);
    bench.end(after, &two, 2, 1);
    bench.end(flush, &FLUSH, 0, 0);
    bench.0.power_cut();
    bench.right(0, &[0]);
    bench.right(2, &[0]);
    bench.wrong(1, &[0], "(durable)");
    // A failed write replaces nothing.
    bench.write(3, &[7]);
    let flush = bench.begin(&FLUSH, 0, 0);
    let at = bench.at();
    bench.0.end(at, flush, ClientCommand::Flush, 0..0, Err(Status::ReadOnly));
    bench.0.power_cut();
    bench.right(3, &[0]);
}

#[test]
fn forced_unit_access_an_orderly_end_and_a_drive_without_a_buffer_make_durable() {
    let fua = TestRequest { command: ClientCommand::Write { fua: true }, data: data(&[1]) };
    let zeros = bare(ClientCommand::WriteZeroes { fua: true });
    let mut bench = Bench::new(VOLATILE);
    bench.write(0, &[9, 9, 9, 9]);
    bench.alone(&fua, 0, 1);
    bench.alone(&zeros, 1, 1);
    bench.0.power_cut();
    bench.wrong(0, &[9], "expected data written at 0.003 s (durable)");
    bench.wrong(1, &[9], "expected zeros written at 0.005 s (durable)");
    bench.right(2, &[9]);
    bench.right(3, &[0]);
    bench.write(2, &[8]);
    bench.0.power_off();
    bench.wrong(2, &[9], "expected data written at");
    let mut bench = Bench::new(Promise { is_volatile: false, ..VOLATILE });
    bench.write(0, &[9]);
    bench.0.power_cut();
    bench.wrong(0, &[0], "(durable)");
}

#[test]
fn a_discard_reads_as_zeros_until_the_power_goes_and_then_promises_nothing() {
    let mut bench = Bench::new(VOLATILE);
    bench.write(0, &[1; 16]);
    bench.flush();
    bench.alone(&DISCARD, 3, 6);
    bench.right(0, &[1, 1, 1, 1, 0, 0, 0, 0, 1, 1]);
    bench.wrong(5, &[1], "sector 5 holds older data");
    bench.flush();
    for byte in [1, 7, 0] {
        bench.0.power_cut();
        bench.right(0, &[1, 1, 1, 1, byte, byte, byte, byte, 1, 1]);
        bench.wrong(4, &[9], "sector 4 holds");
    }
    // A write that is not durable does not end the doubt.
    bench.write(4, &[5]);
    bench.0.power_cut();
    bench.right(4, &[6]);
    bench.0.power_cut();
    bench.right(4, &[7]);
    bench.write(4, &[5]);
    bench.flush();
    bench.0.power_cut();
    bench.wrong(4, &[7], "(durable)");
    bench.alone(&DISCARD, 1, 2);
    bench.right(0, &[1, 1, 1, 1]);
    let mut bench = Bench::new(Promise { discards_durably: true, ..VOLATILE });
    bench.alone(&TestRequest { command: ClientCommand::Write { fua: true }, data: data(&[1; 4]) }, 0, 4);
    bench.alone(&DISCARD, 0, 4);
    bench.0.power_cut();
    bench.wrong(0, &[1], "expected zeros written at 0.003 s (durable)");
}

#[test]
fn a_torn_sector_is_found() {
    let mut bench = Bench::new(VOLATILE);
    bench.write(0, &[1]);
    bench.flush();
    bench.write(0, &[2]);
    bench.0.power_cut();
    let ticket = bench.begin(&READ, 0, 1);
    let at = bench.at();
    bench.0.end(at, ticket, ClientCommand::Read, 0..1, Ok(&[[1; 256], [2; 256]].concat()));
    let found = bench.0.take_violations();
    assert_eq!((found.len(), found[0].start, found[0].found), (1, Lba::new(0), FoundContent::Unknown));
}

#[test]
fn a_write_that_failed_may_have_done_its_work_and_a_read_that_failed_counts() {
    let two = write(&[2, 2]);
    let mut bench = Bench::new(VOLATILE);
    bench.write(0, &[1, 1]);
    bench.flush();
    let ticket = bench.begin(&two, 0, 2);
    let at = bench.at();
    bench.0.end(at, ticket, two.command, 0..2, Err(Status::ReadOnly));
    bench.flush();
    bench.right(0, &[2, 1]);
    bench.wrong(0, &[1], "sector 0 holds older data");
    bench.wrong(1, &[2], "sector 1 holds");
    let ticket = bench.begin(&READ, 0, 4);
    let at = bench.at();
    bench.0.end(at, ticket, ClientCommand::Read, 0..4, Err(Status::Uncorrectable));
    assert_eq!(bench.0.status().unreadable, 4);
    bench.right(2, &[0]);
    bench.write(3, &[3]);
    assert_eq!(bench.0.status().unreadable, 2);
    // As long as there is power the content cannot change without a write.
    bench.wrong(2, &[5], "sector 2 holds");
    bench.0.power_cut();
    bench.right(0, &[77]);
}

#[test]
fn what_nobody_knows_is_believed_once() {
    let mut bench = Bench(Verifier::new(VOLATILE, false), 0);
    bench.write(1, &[4]);
    bench.right(0, &[3, 4, 5]);
    bench.right(0, &[3, 4, 5]);
    bench.wrong(2, &[6], "expected the data that it held before it was verified");
    bench.0.power_cut();
    bench.wrong(0, &[0], "expected the data");
    bench.right(1, &[9]);
    bench.wrong(1, &[4], "sector 1 holds");
    assert_eq!(bench.0.status().adopted, 3);
}

#[test]
fn memory_is_that_of_the_regions_in_use_and_of_what_is_not_flushed() {
    let mut bench = Bench::new(VOLATILE);
    for n in 0..1000 {
        bench.write(n * 100, &[1; 8]);
    }
    let before = bench.0.status().memory_bytes;
    assert!((64_000..400_000).contains(&before), "{before}");
    bench.flush();
    let after = bench.0.status().memory_bytes;
    // 100,000 sectors are 25 regions of 48 KiB.
    assert_eq!(after, 25 * 48 * 1024);
    assert_eq!(after, Verifier::memory_of(Sectors::new(100_000)));
    // Only some of the writes of a sector are remembered, and always the newest.
    for n in 0..10_000_u32 {
        bench.write(5, &[n as u8]);
    }
    assert!(bench.0.status().memory_bytes < after + 10_000, "{:?}", bench.0.status());
    bench.wrong(5, &[77], "sector 5 holds");
    bench.write(5, &[78]);
    bench.right(5, &[78]);
    bench.write(5, &[79]);
    bench.flush();
    bench.0.power_cut();
    bench.wrong(5, &[78], "expected data written at");
    assert_eq!(bench.0.status().adopted, 0);
}

#[test]
fn after_a_cut_what_too_many_writes_had_overwritten_is_believed() {
    let mut bench = Bench::new(VOLATILE);
    for n in 0..100 {
        bench.write(5, &[n]);
    }
    bench.0.power_cut();
    bench.right(5, &[2]);
    assert_eq!(bench.0.status().adopted, 1);
    // Also for many concurrent writes.
    let one = write(&[1]);
    let tickets: Vec<_> = (0..100).map(|_| bench.begin(&one, 6, 1)).collect();
    tickets.into_iter().for_each(|ticket| bench.end(ticket, &one, 6, 1));
    bench.right(6, &[1]);
    bench.wrong(6, &[2], "sector 6 holds");
}
