//! Versions in the spare areas have 32 bits: a drive becomes read-only before they run out.

use base::io::{Io, IoKind};
use base::units::{Lba, Lpn, Sectors, SuperblockId, Time};
use flash::backend::{Backend, Cause, Class, Slot};
use flash::nand::{FaultSpec, Faults, Media, SectorKind, Stamp, Stream, Target};
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd, Status};

/// The last version with which a drive takes writes.
const LAST: u32 = u32::MAX - (1 << 24);

/// A drive whose flash holds mapping unit 0 with this version.
fn drive(version: u32, rest: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"old\"\nflash = {{ part = \"K9K8G08U0M\", channels = 1, chips = 1, blocks = 40, pages = 16 }}\n\
         ftl.over-provisioning = \"50%\"\n{rest}"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}"));
    let faults = Faults::new(&FaultSpec::default(), 1);
    let media =
        Media::new(resolved.geometry.clone(), resolved.part.endurance, 1, faults).with_content(SectorKind::Stamp);
    let mut backend: Backend = Backend::new(media, &resolved.backend);
    backend.set_timed(false);
    let list = backend.open_list(Class::Other, 0);
    let target = Target { superblock: SuperblockId::new(0), offset: 0 };
    let program = backend.add_program(list, Cause::Host, target, Stream::HOST);
    backend.push_slot(program, Slot { lpn: Lpn::new(0), version, expected: true, ..Slot::default() });
    assert_eq!(backend.begin_serial(Time::ZERO, list), None, "time is off");
    Ssd::with_media(&resolved, 7, backend.media().clone(), None)
}

fn serve(drive: &mut Ssd<Stamp>, kind: IoKind) -> Status {
    let sectors = Sectors::new(drive.discard_granularity().get());
    let data = if kind == IoKind::Write { vec![Stamp(1); sectors.get() as usize] } else { Vec::new() };
    let io = Io::new(kind, Lba::new(0), sectors);
    drive.submit(drive.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    let mut completions: Vec<Completion<Stamp>> = Vec::new();
    drive.drain(&mut completions);
    completions[0].status
}

#[test]
fn a_drive_becomes_read_only_before_its_versions_run_out() {
    for rest in ["", "buffer = { size = \"64KiB\", high = \"0%\", low = \"0%\" }\n", "ftl.map.kind = \"dftl\"\n"] {
        let mut young = drive(7, rest);
        assert_eq!([serve(&mut young, IoKind::Write), serve(&mut young, IoKind::Write)], [Status::Done; 2]);
        let mut old = drive(LAST - 2, rest);
        let writes: Vec<Status> = (0..8).map(|_| serve(&mut old, IoKind::Write)).collect();
        let taken = writes.iter().take_while(|status| **status == Status::Done).count();
        // A translation page may have taken a version, too.
        assert!((1..=2).contains(&taken), "{rest}: {writes:?}");
        assert!(writes[taken..].iter().all(|status| *status == Status::ReadOnly), "{rest}: {writes:?}");
        assert_eq!([serve(&mut old, IoKind::Flush), serve(&mut old, IoKind::Read)], [Status::Done; 2], "{rest}");
        old.cut_power();
        old.power_on(old.now());
        assert_eq!(serve(&mut old, IoKind::Write), Status::ReadOnly, "{rest}");
        old.power_off();
    }
}
