//! A drive inside another simulator: the host simulator submits requests, advances the clock step by step, and cuts
//! power.
//!
//! `cargo run --example embed`

use flashloom::nand::Stamp;
use flashloom::units::{Lba, Sectors, Span, Time};
use flashloom::{Completion, Device, Drive, Io, IoKind, QueueId, Request, Ssd};

/// A write of eight sectors, each stamped with the number of the write.
fn write(tag: u64, sector: u64) -> Request<Stamp> {
    let io = Io::new(IoKind::Write, Lba::new(sector), Sectors::new(8));
    Request { tag, queue: QueueId::default(), io, data: vec![Stamp(tag); 8] }
}

/// A flush: it makes all acknowledged writes durable.
const FLUSH: fn(u64) -> Request<Stamp> =
    |tag| Request { tag, queue: QueueId::default(), io: Io::FLUSH, data: Vec::new() };

fn read(tag: u64, sector: u64) -> Request<Stamp> {
    let io = Io::new(IoKind::Read, Lba::new(sector), Sectors::new(8));
    Request { tag, queue: QueueId::default(), io, data: Vec::new() }
}

// ANCHOR: finish
/// Advances the drive until no request is under way.
fn finish(drive: &mut Ssd<Stamp>) -> Vec<Completion<Stamp>> {
    let mut done = Vec::new();
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut done);
    }
    done
}
// ANCHOR_END: finish

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // ANCHOR: clock
    let device = Device::open_with("demo", ["flash.blocks=26", "ftl.capacity=100MiB"])?;
    let mut drive: Ssd<Stamp> = Ssd::new(&device.resolved, 7);

    // The host simulator keeps the clock and writes every 50 us. The drive is given the time and never reads a clock.
    let mut done = Vec::new();
    for tag in 1..=100 {
        let now = Time::ZERO + Span::from_us(50) * tag;
        while drive.now() < now {
            drive.advance(now, &mut done);
        }
        drive.submit(now, write(tag, tag * 8));
    }
    done.extend(finish(&mut drive));
    // ANCHOR_END: clock
    let mean = done.iter().map(|completion| (completion.end - completion.arrival).as_us_f64()).sum::<f64>() / 100.0;
    println!("{} writes, {mean:.1} us each", done.len());

    // ANCHOR: power
    // The drive has a volatile write buffer: only a flush makes sure that the writes survive a power cut.
    drive.submit(drive.now(), FLUSH(0));
    finish(&mut drive);

    // The power fails while more writes are under way.
    (101..=110).for_each(|tag| drive.submit(drive.now(), write(tag, tag * 8)));
    let lost = drive.cut_power();
    let recovery = drive.power_on(drive.now());
    println!("{} requests were lost; recovery took {} and found {} units", lost.len(), recovery.time, recovery.units);

    // The flushed data survived.
    drive.submit(drive.now(), read(111, 50 * 8));
    let data = finish(&mut drive).remove(0).data;
    assert_eq!(data, [Stamp(50); 8]);
    // ANCHOR_END: power
    println!("write 50 reads back");
    Ok(())
}
