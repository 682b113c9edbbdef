//! A die that fails as a whole, at a time.

use base::io::{Io, IoKind};
use base::units::{DieId, Lba, Sectors, Span, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

const TEXT: &str = r#"name = "dies"
[flash]
part = "dirik-2009"
channels = 2
chips = 2
blocks = 40
pages = 16
controllers = "none"
faults = { dies = [{ die = 2, at = "20ms" }] }
[ftl]
over-provisioning = "75%"
superblock-dies = 4
parity = true
"#;

fn read(drive: &mut Ssd<Stamp>, at: Time, start: u64) -> Completion<Stamp> {
    let io = Io::new(IoKind::Read, Lba::new(start), Sectors::new(1));
    let mut completions = Vec::new();
    drive.advance(at.max(drive.now()), &mut completions);
    drive.submit(drive.now(), Request { tag: start, queue: QueueId::default(), io, data: Vec::new() });
    drive.drain(&mut completions);
    completions.pop().expect("one request completes")
}

#[test]
fn the_first_request_behind_the_time_meets_the_failed_die() {
    let spec: Spec = toml::from_str(TEXT).unwrap_or_else(|error| panic!("{error}"));
    let mut drive: Ssd<Stamp> = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 3);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    assert_eq!(drive.media().dead_dies().len(), 0, "preconditioning takes no time");
    let start = drive.now();
    read(&mut drive, start, 0);
    assert_eq!(drive.media().dead_dies().len(), 0, "the time has not come");
    let at = Time::ZERO + Span::from_ms(20);
    for start in (0..drive.capacity().get()).step_by(4) {
        assert_eq!(read(&mut drive, at, start).status, Status::Done);
    }
    assert_eq!(drive.media().dead_dies().collect::<Vec<_>>(), [DieId::new(2)]);
    let parity = drive.counters().parity.expect("parity counts");
    assert!(parity.rebuilt > 0 && parity.rebuilt_superblocks > 0, "{parity:?}");
    assert_eq!((parity.lost, parity.waiting_superblocks), (0, 0));
    drive.check();
}
