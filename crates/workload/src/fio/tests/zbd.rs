//! Jobs that write zones.

use super::*;
use crate::fio::ZonedJob;
use crate::{ZoneOrder, ZoneTable};

fn zoned(options: &str) -> (ZonedJob, Vec<String>) {
    let file = good(&format!("[job]\nzonemode=zbd\nzonesize=64m\n{}", options.replace(' ', "\n")));
    assert!(file.stages.is_empty());
    (file.zoned.expect("a zoned job"), file.notes.iter().map(|note| note.option.clone()).collect())
}

fn requests(job: &ZonedJob) -> Vec<(IoKind, u64, u64)> {
    let mut source = job.open(CAPACITY, 3).expect("sound");
    let mib = |sectors: Sectors| sectors.bytes().get() >> 20;
    let all = std::iter::from_fn(|| source.next().expect("no file"));
    all.map(|Arrival { io, .. }| (io.kind, io.start.get() >> 11, mib(io.sectors))).collect()
}

#[test]
fn a_sequential_job_fills_one_zone_after_another() {
    let (job, notes) = zoned("rw=write bs=16m zonecapacity=48m offset=2z size=2z loops=2 iodepth=4 ioengine=libaio");
    assert_eq!((job.spec.depth, notes.len()), (4, 0), "{notes:?}");
    let ZoneTable { size, capacity, first, count, order, .. } = job.spec.zones;
    let mib = |n: u64| Bytes::new(n << 20);
    assert_eq!((size, capacity, first, count, order), (mib(64), Some(mib(48)), 2, 2, ZoneOrder::InTurn));
    let zone =
        |begin: u64| [(IoKind::Write, begin, 16), (IoKind::Write, begin + 16, 16), (IoKind::Write, begin + 32, 16)];
    let reset = |begin| [(IoKind::ZoneReset, begin, 0)];
    let all = [&zone(128)[..], &zone(192), &reset(128), &zone(128), &reset(192), &zone(192)].concat();
    assert_eq!(requests(&job), all);
    let (short, _) = zoned("rw=write bs=16m number_ios=5");
    assert_eq!((short.spec.requests, short.spec.zones.count), (5, 16), "all of the drive's zones");
    let (bytes, _) = zoned("rw=write bs=16m size=1z io_size=160m");
    assert_eq!(bytes.spec.requests, 10 + 2, "ten writes, and a reset before the zone is written again");
}

#[test]
fn a_random_job_writes_so_many_zones_at_the_same_time() {
    let (job, notes) = zoned("rw=randwrite bs=1m size=8z max_open_zones=4 job_max_open_zones=3 norandommap");
    assert_eq!(
        (job.spec.zones.order, job.spec.zones.open, notes.len()),
        (ZoneOrder::RandomZone, Some(3), 0),
        "{notes:?}"
    );
    assert_eq!(requests(&job).len(), 8 * 64);
    let (mixed, _) = zoned("rw=randrw rwmixread=75 bs=1m size=2z max_open_zones=2");
    assert_eq!((mixed.spec.reads, mixed.spec.requests), (Ratio::new(0.75), 4 * 128));
}

#[test]
fn what_no_request_fills_is_finished_or_written() {
    let (finished, notes) = zoned("rw=write bs=10m size=1z");
    assert_eq!(notes, ["zonesize"], "the remainder");
    let all = requests(&finished);
    assert_eq!(all.len(), 7);
    assert_eq!(all[5..], [(IoKind::Write, 50, 10), (IoKind::ZoneFinish, 0, 0)]);
    let (written, notes) = zoned("rw=write bs=10m size=1z write_zone_remainder=1");
    assert_eq!((requests(&written)[6], notes.len()), ((IoKind::Write, 60, 4), 0));
}

#[test]
fn zones_that_are_not_there_are_noted_or_at_fault() {
    let (job, notes) = zoned("rw=write bs=1m offset=14z size=4z max_open_zones=3");
    assert_eq!((job.spec.zones.count, notes), (2, vec!["size".to_owned(), "max_open_zones".to_owned()]));
    let fault = |options: &str| {
        let text = format!("[job]\nzonemode=zbd\nrw=write\n{}", options.replace(' ', "\n"));
        let mut file = parse("t", &text).expect("sound");
        file.fit(CAPACITY).expect_err("faulty")[0].path.clone()
    };
    assert_eq!(fault("zonesize=64m offset=16z"), "line 5, [job] offset");
    assert_eq!(fault("zonesize=64m offset=1m"), "line 5, [job] offset");
    assert_eq!(fault("zonesize=64m zonecapacity=65m"), "line 5, [job] zonecapacity");
}

#[test]
fn options_of_zones_have_no_effect_on_other_jobs() {
    let file = good("[job]\nrw=randread\nzonecapacity=1m\nmax_open_zones=4\n");
    let notes: Vec<_> = file.notes.iter().map(|note| note.option.as_str()).collect();
    assert_eq!(notes, ["zonecapacity", "max_open_zones"]);
}
