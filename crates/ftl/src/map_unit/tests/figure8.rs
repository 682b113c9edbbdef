//! The worked example of Woo and Min, Fig. 8: translation pages of four entries, CMT blocks of two, CTP blocks of four;
//! an update of mapping unit 10 misses in both levels.

use base::units::{Lpn, Psn, Time};
use flash::nand::Image;

use super::super::EvictSpec;
use super::super::fmmu::Fmmu;
use super::super::{Answer, Ask, Asker, Job, MapUnit, Output, Ticket};
use super::equal::Small;

const SMALL: Small = Small {
    units: 16,
    block: 2,
    blocks_in_page: 2,
    ways: 1,
    cmt_sets: 4,
    ctp_sets: 2,
    cores: 1,
    outstanding: 1,
    buffers: 1,
    queue: 1,
    ctp_dirty: 1,
    low: 0,
    timed: true,
    set_wait_queue: true,
    evict: EvictSpec::SecondChance,
};

/// Runs all steps to their ends; returns the output, and the end of the last step.
fn run(unit: &mut Fmmu, out: &mut Output) -> Time {
    let mut last = Time::ZERO;
    while let Some(at) = unit.next_event() {
        unit.advance(at, out);
        last = at;
    }
    last
}

#[test]
fn fmmu_follows_the_worked_example_of_figure_8() {
    let mut unit = SMALL.fmmu();
    let mut out = Output::default();
    // (1)-(2) Mapping unit 10 was programmed at place 1.
    let update = Ask::Update { lpn: Lpn::new(10), to: Some(Psn::new(1)) };
    unit.ask(Time::ZERO, Asker::Host, Ticket(7), update);
    // (3)-(5) The CMT allocates block 10 / 2 = 5, keeps the request in it, and asks for page 10 / 4 = 2.
    assert_eq!(unit.cmt_of(5), (true, false, 1), "loading, clean, one register");
    let sent = unit.next_event().expect("a step");
    unit.advance(sent, &mut out);
    // (6)-(7) The CTP does the same with page 2.
    assert_eq!(unit.ctp_of(2), (true, false, 1));
    assert!(out.jobs.is_empty() && out.answers.is_empty());
    // (8)-(9) The CTP requests a read of page 2; the holder of the directory knows the page's place (46 in the figure).
    let asked = run(&mut unit, &mut out);
    assert_eq!(std::mem::take(&mut out.jobs), [Job::Load(2)]);
    // (10)-(13) The page arrives, and its second half, from 10 % 4 = 2 on, goes to the CMT.
    unit.loaded(asked, 2, Some(&Image::new(vec![60, 61, 62, 63])));
    let answered = run(&mut unit, &mut out);
    assert_eq!(unit.ctp_of(2), (false, false, 0));
    // (14)-(17) The block is filled and updated, and page 2 registered as having one dirty block.
    assert_eq!(unit.cmt_of(5), (false, true, 0));
    assert_eq!(unit.dirty_pages(), [(2, 1)]);
    assert_eq!(unit.ctp_page(2), [60, 61, 62, 63], "the second level does not know yet");
    // (18) The update is answered.
    assert_eq!(out.answers, [(Ticket(7), Answer::Updated(Some(Psn::new(62))))]);
    assert_eq!(out.jobs, []);
    assert!(answered > asked);
    let peeked = |lpn| unit.peek(Lpn::new(lpn), &|_| None).map(Psn::get);
    assert_eq!([8, 9, 10, 11].map(peeked), [60, 61, 1, 63].map(Some));
}
