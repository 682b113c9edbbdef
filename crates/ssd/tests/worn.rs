//! Drives that lose many blocks during preconditioning and become read-only.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

fn drive(ftl: &str, failures: &str, seed: u64) -> Ssd<Stamp> {
    let text = format!(
        "name = \"worn\"\n\
         flash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 32, pages = 16, faults = {{ {failures} }} }}\n\
         [ftl]\nover-provisioning = \"30%\"\n{ftl}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), seed)
}

/// Reads the whole drive and compares it with the history of preconditioning.
fn audit(drive: &mut Ssd<Stamp>) {
    let history = drive.history().expect("it is noted").clone();
    for start in (0..drive.capacity().get()).step_by(4) {
        let io = Io::new(IoKind::Read, Lba::new(start), Sectors::new(4));
        drive.submit(drive.now(), Request { tag: start, queue: QueueId::default(), io, data: Vec::new() });
        let mut completions = Vec::new();
        drive.drain(&mut completions);
        let [read] = &completions[..] else { panic!("{} reads of {start} came back", completions.len()) };
        assert_eq!(read.status, Status::Done);
        for (sector, got) in (start..).map(Lba::new).zip(&read.data) {
            let wanted = history.content::<Stamp>(sector);
            assert!(wanted.is_none_or(|wanted| wanted == *got), "{sector}: {got:?}, not {wanted:?}");
        }
    }
}

/// Fills and overwrites drives with many seeds, and returns the number of worn-out drives.
fn precondition(ftl: &str, failures: &str) -> u32 {
    let mut worn = 0;
    for seed in 0..8 {
        let mut drive = drive(ftl, failures, seed);
        let steps = [Precondition::Fill, Precondition::RandomOverwrite(0.5)];
        worn += u32::from(steps.iter().any(|step| drive.precondition(*step, &mut |_, _| {}).refused > 0));
        drive.check();
        audit(&mut drive);
        drive.cut_power();
        drive.power_on(drive.now());
        drive.check();
        audit(&mut drive);
    }
    worn
}

#[test]
fn worn_out_log_block_drives_lose_nothing() {
    for kind in ["bast", "fast"] {
        for erase in ["copied", "read"] {
            let ftl = format!("kind = \"{kind}\"\nlog = {{ erase = \"{erase}\", parallel = 2 }}");
            let worn = precondition(&ftl, "program-failures = \"2%\"");
            assert!(worn > 4, "{kind}, {erase}: {worn} of 8 wore out");
            precondition(&ftl, "program-failures = \"0.3%\", erase-failures = \"1%\"");
        }
    }
}

#[test]
fn worn_out_page_map_and_slc_mlc_drives_lose_nothing() {
    for ftl in ["", "kind = \"chang\"", "map-unit = \"2KiB\"\nmap = { kind = \"dftl\" }"] {
        assert!(precondition(ftl, "program-failures = \"6%\"") > 4, "{ftl}");
        precondition(ftl, "program-failures = \"0.2%\", erase-failures = \"1%\"");
    }
}
