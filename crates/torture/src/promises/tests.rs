//! The oracle accepts every content that a drive may hold, and no other.

use base::units::Time;

use super::super::cut::CutKind;
use super::super::journal::{ClientAnswer, JournalHeader};
use super::super::stamp::stamps;
use super::*;

/// A journal of single-sector requests, written as `asked` and `answered` letters.
struct Book {
    journal: Journal,
}

impl Book {
    fn new() -> Self {
        let header = JournalHeader { device: String::new(), seed: 0, precondition: Vec::new() };
        let journal = Journal {
            header,
            requests: Vec::new(),
            submissions: Vec::new(),
            lines: Vec::new(),
            events: Vec::new(),
            end: None,
        };
        Self { journal }
    }

    fn now(&self) -> Time {
        Time::from_ps(self.journal.events.len() as u64)
    }

    fn ask(&mut self, kind: RequestKind, start: u64, sectors: u64) -> u32 {
        let (at, of) = (self.now(), self.journal.requests.len() as u32);
        self.journal.requests.push(ClientRequest {
            at,
            kind,
            start: Lba::new(start),
            sectors: Sectors::new(sectors),
            content: 0,
            position: self.journal.events.len() as u32,
            answered: None,
        });
        self.journal.events.push((at, JournalEvent::Asked(of)));
        of
    }

    fn answer(&mut self, of: u32, good: bool) {
        let (at, position) = (self.now(), self.journal.events.len() as u32);
        self.journal.requests[of as usize].answered = Some(ClientAnswer { at, position, good });
        self.journal.events.push((at, JournalEvent::Answered(of)));
    }

    fn done(&mut self, kind: RequestKind, start: u64, sectors: u64) -> u32 {
        let of = self.ask(kind, start, sectors);
        self.answer(of, true);
        of
    }

    /// The broken promises of a drive that holds these stamps after all records.
    fn wrong(&self, held: &[Option<Stamp>]) -> Vec<(u64, SectorContent, Option<u32>)> {
        let after = self.journal.events.len();
        self.wrong_at(after, held)
    }

    fn wrong_at(&self, after: usize, held: &[Option<Stamp>]) -> Vec<(u64, SectorContent, Option<u32>)> {
        let promises = Promises::new(&self.journal, Sectors::new(1_000));
        assert_eq!(promises.extents.len(), held.len());
        let cut = Cut { after, at: self.now(), kind: CutKind::Random };
        let found = promises.broken(&cut, &RecoveredDrive::holding(held.to_vec()));
        let each = |found: BrokenPromise| {
            (0..found.sectors.get()).map(move |more| (found.start.get() + more, found.held, found.promised))
        };
        found.into_iter().flat_map(each).collect()
    }
}

const WRITE: RequestKind = RequestKind::Write { fua: false };
const FUA: RequestKind = RequestKind::Write { fua: true };

fn by(of: u32) -> Option<Stamp> {
    Some(stamps(of, 0, 1)[0])
}

const ZEROS: Option<Stamp> = Some(Stamp(0));

#[test]
fn a_write_is_promised_by_a_flush_that_came_after_its_answer() {
    let mut book = Book::new();
    let write = book.done(WRITE, 5, 1);
    assert_eq!(book.wrong(&[ZEROS]), [], "nothing is promised");
    let flush = book.ask(RequestKind::Flush, 0, 0);
    assert_eq!(book.wrong(&[ZEROS]), [], "the flush is not answered");
    book.answer(flush, true);
    assert_eq!(book.wrong(&[by(write)]), []);
    assert_eq!(book.wrong(&[ZEROS]), [(5, SectorContent::Zeros, Some(write))]);
    assert_eq!(book.wrong_at(book.journal.len() - 1, &[ZEROS]), [], "before the answer");
    let newer = book.ask(WRITE, 5, 1);
    assert_eq!(book.wrong(&[by(write)]), []);
    assert_eq!(book.wrong(&[by(newer)]), [], "it may be durable before its answer");
    assert_eq!(book.wrong_at(book.journal.len() - 1, &[by(newer)]), [(5, SectorContent::Unknown, Some(write))]);
}

#[test]
fn a_flush_does_not_promise_writes_that_were_not_answered_when_it_came() {
    let mut book = Book::new();
    let late = book.ask(WRITE, 5, 1);
    let flush = book.ask(RequestKind::Flush, 0, 0);
    book.answer(late, true);
    book.answer(flush, true);
    assert_eq!(book.wrong(&[ZEROS]), []);
    // The later flush promises the write, although the earlier one is not answered yet.
    let slow = book.ask(RequestKind::Flush, 0, 0);
    let fast = book.done(RequestKind::Flush, 0, 0);
    assert!(fast > slow);
    assert_eq!(book.wrong(&[ZEROS]), [(5, SectorContent::Zeros, Some(late))]);
}

#[test]
fn a_failed_flush_or_write_promises_nothing() {
    let mut book = Book::new();
    book.done(WRITE, 5, 1);
    let flush = book.ask(RequestKind::Flush, 0, 0);
    book.answer(flush, false);
    let fua = book.ask(FUA, 6, 1);
    book.answer(fua, false);
    assert_eq!(book.wrong(&[ZEROS, ZEROS]), []);
    book.done(RequestKind::Flush, 0, 0);
    assert_eq!(book.wrong(&[ZEROS, ZEROS]), [(5, SectorContent::Zeros, Some(0))]);
}

#[test]
fn forced_unit_access_promises_its_own_data_alone() {
    let mut book = Book::new();
    book.done(WRITE, 5, 1);
    let fua = book.done(FUA, 6, 1);
    assert_eq!(book.wrong(&[ZEROS, ZEROS]), [(6, SectorContent::Zeros, Some(fua))]);
    let zeros = book.done(RequestKind::WriteZeroes { fua: true }, 6, 1);
    assert_eq!(book.wrong(&[ZEROS, ZEROS]), []);
    assert_eq!(book.wrong(&[ZEROS, by(zeros)]), []);
    assert_eq!(
        book.wrong(&[ZEROS, by(fua)]),
        [(6, SectorContent::Request(fua), Some(zeros))],
        "older content came back"
    );
}

#[test]
fn nothing_older_than_a_promise_comes_back_and_nothing_foreign_comes() {
    let mut book = Book::new();
    let old = book.done(WRITE, 5, 2);
    let new = book.done(WRITE, 5, 1);
    book.done(RequestKind::Flush, 0, 0);
    let both = stamps(old, 0, 2);
    assert_eq!(book.wrong(&[by(new), Some(both[1])]), []);
    assert_eq!(book.wrong(&[Some(both[0]), Some(both[1])]), [(5, SectorContent::Request(old), Some(new))]);
    assert_eq!(book.wrong(&[Some(both[1]), Some(both[1])]), [(5, SectorContent::Other(Lba::new(6)), Some(new))]);
    assert_eq!(book.wrong(&[by(new), None]), [(6, SectorContent::Unreadable, Some(old))]);
    let foreign = <Stamp as flash::nand::Sector>::preconditioned(Lba::new(77), 1);
    assert_eq!(book.wrong(&[by(new), Some(foreign)]), [(6, SectorContent::Other(Lba::new(77)), Some(old))]);
    assert_eq!(book.wrong(&[by(new), by(900)]), [(6, SectorContent::Unknown, Some(old))]);
}

#[test]
fn writes_at_the_same_time_may_end_in_either_order() {
    let mut book = Book::new();
    let (one, two) = (book.ask(WRITE, 5, 1), book.ask(WRITE, 5, 1));
    book.answer(two, true);
    book.answer(one, true);
    book.done(RequestKind::Flush, 0, 0);
    assert_eq!(book.wrong(&[by(one)]), []);
    assert_eq!(book.wrong(&[by(two)]), []);
    assert_eq!(book.wrong(&[ZEROS]).len(), 1);
}

#[test]
fn a_discard_allows_what_was_there_until_the_sector_is_durably_written() {
    let mut book = Book::new();
    let old = book.done(WRITE, 5, 1);
    let new = book.done(WRITE, 5, 1);
    book.done(RequestKind::Flush, 0, 0);
    book.done(RequestKind::Discard, 0, 100);
    for held in [by(old), by(new), ZEROS] {
        assert_eq!(book.wrong(&[held]), []);
    }
    let last = book.done(FUA, 5, 1);
    assert_eq!(book.wrong(&[by(last)]), []);
    for held in [by(old), by(new), ZEROS] {
        assert_eq!(book.wrong(&[held]).len(), 1, "{held:?}");
    }
}

#[test]
fn one_sector_and_several_are_told_in_their_number() {
    let broken = |sectors, held| {
        let promise = BrokenPromise { start: Lba::new(5), sectors: Sectors::new(sectors), held, promised: Some(2) };
        promise.to_string()
    };
    assert_eq!(broken(1, SectorContent::Zeros), "sector 5 reads as zeros; request 2 was durable");
    assert_eq!(broken(3, SectorContent::Zeros), "sectors 5 to 7 read as zeros; request 2 was durable");
    assert_eq!(broken(1, SectorContent::Request(1)), "sector 5 holds the content of request 1; request 2 was durable");
    assert_eq!(
        broken(2, SectorContent::Unknown),
        "sectors 5 to 6 hold a content that was never written; request 2 was durable"
    );
}
