//! Tests of whole job files.

mod requests;
mod zbd;

use base::io::IoKind;
use base::units::{Bytes, Ratio, Sectors, Span};

use super::{FioFile, parse};
use crate::generate::{
    AddressSpec, Amount, ArrivalSpec, FlushSpec, Generator, GeneratorSpec, SequentialSpec, SizeRange, StreamSpec,
    ZoneSpec, builtin,
};
use crate::{Arrival, Source, measure};

/// A drive of 1 GiB.
const CAPACITY: Sectors = Sectors::new(1 << 21);

fn good(text: &str) -> FioFile {
    let mut file = parse("t", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    file.fit(CAPACITY).unwrap_or_else(|faults| panic!("{faults:#?}"));
    file
}

/// The descriptions of all workloads.
fn specs(text: &str) -> Vec<GeneratorSpec> {
    good(text).specs().cloned().collect()
}

fn one(options: &str) -> GeneratorSpec {
    let mut specs = specs(&format!("[job]\n{}", options.replace(' ', "\n")));
    assert_eq!(specs.len(), 1);
    specs.remove(0)
}

fn stream(options: &str) -> StreamSpec {
    one(options).streams.remove(0)
}

fn run(spec: &GeneratorSpec) -> Vec<Arrival> {
    let mut generator = Generator::new(spec, CAPACITY, 1).unwrap();
    std::iter::from_fn(|| generator.next().unwrap()).take(10_000).collect()
}

#[test]
fn the_examples_run() {
    for (name, text) in builtin().iter().filter(|(name, _)| name.ends_with(".fio")) {
        let file = good(text);
        for stage in file.specs() {
            assert!(run(stage).iter().all(|a| a.io.end().get() <= CAPACITY.get()), "{name}");
            let count = run(stage).len();
            assert!(count >= 1000, "{name}: {count}");
        }
        assert!(file.notes.iter().any(|note| note.option == "direct"), "{name}: {:?}", file.notes);
    }
}

#[test]
fn a_ramp_is_a_warm_up_before_the_runtime() {
    let spec = one("size=1m time_based=1 ramp_time=10 runtime=60");
    assert_eq!(spec.warm_up, Some(measure::Amount::Time(Span::from_secs(10))));
    assert_eq!((spec.duration, spec.measure), (Some(Span::from_secs(70)), None));
    let spec = one("size=1m ramp_time=500ms");
    assert_eq!(spec.warm_up, Some(measure::Amount::Time(Span::from_ms(500))));
    assert_eq!(spec.duration, None, "it ends with its bytes");
    assert_eq!(one("size=1m ramp_time=0 runtime=5").warm_up, None);
}

#[test]
fn an_empty_job_has_fios_defaults() {
    let spec = one("size=1m");
    assert_eq!(spec.arrivals, ArrivalSpec::Closed { depth: 1 });
    let all = run(&spec);
    assert_eq!(all.len(), 256);
    assert!(
        all.iter()
            .enumerate()
            .all(|(i, a)| { a.io.kind == IoKind::Read && a.io.start.get() == i as u64 * 8 && a.io.sectors.get() == 8 })
    );
}

#[test]
fn random_offsets_visit_every_block_once_with_a_random_map() {
    let visited = |options: &str| {
        let mut starts: Vec<u64> = run(&one(options)).iter().map(|a| a.io.start.get() / 8).collect();
        starts.sort_unstable();
        starts
    };
    assert!(visited("rw=randrw size=4m").into_iter().eq(0..1024));
    assert!(!visited("rw=randrw size=4m norandommap").into_iter().eq(0..1024));
    assert!(!visited("rw=randread size=4m norandommap=0 blockalign=4k").into_iter().eq(0..1024));
    let file = good("[job]\nrw=randread\nbssplit=4k/50:8k/\nsize=4m");
    assert_eq!(file.specs().next().map(|spec| &spec.streams[0].address), Some(&AddressSpec::Uniform {}));
    assert!(file.notes.iter().any(|note| note.reason.contains("more than once")), "{:?}", file.notes);
}

#[test]
fn read_write_mixes_and_positions_follow_fio() {
    assert_eq!(stream("rw=randrw").reads, Ratio::new(0.5));
    assert_eq!(stream("rw=randrw rwmixread=70").reads, Ratio::new(0.7));
    assert_eq!(stream("rw=rw rwmixwrite=70").reads, Ratio::new(0.3));
    assert_eq!(stream("rw=readwrite rwmixread=70 rwmixwrite=20").reads, Ratio::new(0.8));
    assert_eq!(stream("rw=randrw rwmixwrite=20 rwmixread=70").reads, Ratio::new(0.7));
    // Reads and writes of a sequential mix have separate positions.
    let all = run(&one("rw=rw size=1m"));
    for kind in [IoKind::Read, IoKind::Write] {
        let starts: Vec<u64> = all.iter().filter(|a| a.io.kind == kind).map(|a| a.io.start.get()).collect();
        assert!(starts.iter().enumerate().all(|(i, start)| *start == i as u64 * 8));
    }
    let trims: String = run(&one("rw=trimwrite size=16k fsync=2")).iter().map(|a| &a.io.kind.name()[..1]).collect();
    assert_eq!(trims, "dwdwfdwdwf");
    assert_eq!(stream("rw=randtrim").discards, Ratio::new(1.0));
}

#[test]
fn sizes_are_parsed_as_fio_parses_them() {
    let exactly = |kib: u64| SizeRange::exactly(Bytes::new(kib << 10));
    let sizes = stream("rw=randrw bs=8k,32k");
    assert_eq!((sizes.read_sizes[0].size, sizes.write_sizes[0].size), (exactly(8), exactly(32)));
    let split: Vec<_> = stream("rw=randread bssplit=4k/50:1k/:32k/ norandommap").read_sizes;
    assert_eq!(split.iter().map(|bar| bar.share.unwrap().get()).collect::<Vec<_>>(), [0.5, 0.25, 0.25]);
    let range = stream("rw=write bsrange=4k-64k").write_sizes;
    assert_eq!(range[0].size, SizeRange { min: Bytes::new(4096), max: Bytes::new(65_536) });
    assert_eq!(
        stream("bs=4k kb_base=1000 size=8192k rw=read bs=4ki").region.size,
        Some(Amount::Bytes(Bytes::new(8_192_000)))
    );
    assert_eq!(stream("blocksize=1m").read_sizes[0].size, exactly(1024));
}

#[test]
fn the_amount_of_work_follows_fio() {
    let count = |options: &str| run(&one(options)).len();
    assert_eq!(count("size=1m"), 256);
    assert_eq!(count("size=1m loops=3"), 768);
    assert_eq!(count("size=1m io_size=512k"), 128);
    assert_eq!(count("size=512k io_size=1m"), 256);
    assert_eq!(count("size=1m number_ios=100"), 100);
    assert_eq!(count("size=50% bs=1m"), 512);
    assert_eq!(count("offset=75% bs=1m"), 256);
    assert_eq!(count("size=100% bs=1m offset=512m"), 512);
    let timed = one("size=1m runtime=10 time_based");
    assert_eq!((timed.duration, run(&timed).len()), (Some(Span::from_secs(10)), 10_000));
    assert_eq!(one("size=1m runtime=2m").duration, Some(Span::from_secs(120)));
}

#[test]
fn distributions_are_translated() {
    let address = |options: &str| stream(&format!("rw=randread {options}")).address;
    assert_eq!(address("random_distribution=zipf:1.2"), AddressSpec::Zipf { theta: 1.2, scrambled: true });
    assert_eq!(address("random_distribution=pareto:0.2"), AddressSpec::Pareto { power: 0.2, scrambled: true });
    assert_eq!(address("random_distribution=random"), AddressSpec::Shuffled {});
    let zone = |access, space| ZoneSpec { access: Ratio::new(access), space: Ratio::new(space) };
    let zones = vec![zone(0.5, 0.05), zone(0.3, 0.15), zone(0.2, 0.8)];
    assert_eq!(address("random_distribution=zoned:50/5:30/15:20/"), AddressSpec::Zoned { zones, scrambled: false });
    assert_eq!(address("percentage_random=0"), AddressSpec::Sequential { streams: 1 });
    assert_eq!(stream("rw=randread:8").sequential, Some(SequentialSpec::Runs([8, 8])));
    assert_eq!(stream("rw=randread percentage_random=75").sequential, Some(SequentialSpec::Share(Ratio::new(0.25))));
    assert_eq!(stream("rw=randwrite fdatasync=4").flush, Some(FlushSpec::Every(4)));
}

#[test]
fn depths_and_rates_become_arrivals() {
    let closed = |depth| ArrivalSpec::Closed { depth };
    assert_eq!(one("iodepth=16 ioengine=libaio").arrivals, closed(16));
    assert_eq!(one("iodepth=16 ioengine=psync").arrivals, closed(1));
    assert_eq!(one("iodepth=16").arrivals, closed(16));
    assert_eq!(one("iodepth=4 numjobs=3 ioengine=libaio").arrivals, closed(12));
    let ArrivalSpec::Fixed { rate } = one("rate_iops=1k").arrivals else { panic!("no fixed rate") };
    assert!((rate.per_second() - 1024.0).abs() < 1e-9, "fio's k is 1024 here too");
    assert!(one("rate_iops=100 numjobs=2").streams[1].share.is_some());
    let ArrivalSpec::Poisson { rate } = one("rate_iops=500 rate_process=poisson numjobs=2").arrivals else {
        panic!("no poisson rate")
    };
    assert!((rate.per_second() - 1000.0).abs() < 1e-9);
}

#[test]
fn jobs_run_together_or_one_after_another() {
    let file = good(
        "[global]\nioengine=libaio\nsize=1m\n[a]\niodepth=3\n[b]\nrw=randwrite\n[c]\nstonewall\niodepth=2\nnumjobs=2\noffset_increment=8m",
    );
    assert_eq!(file.stages.len(), 2);
    let specs: Vec<&GeneratorSpec> = file.specs().collect();
    let shares: Vec<_> = specs[0].streams.iter().map(|s| s.share.unwrap().get()).collect();
    assert_eq!((shares, &specs[0].arrivals), (vec![0.75, 0.25], &ArrivalSpec::Closed { depth: 4 }));
    assert_eq!((file.stages[0].name.as_str(), specs[0].name.as_str()), ("t: a and b", "t: a and b"));
    let starts: Vec<_> = specs[1].streams.iter().map(|s| s.region.start).collect();
    assert_eq!(starts, [Some(Amount::Bytes(Bytes::new(0))), Some(Amount::Bytes(Bytes::new(8 << 20)))]);
    assert!(file.notes.iter().any(|note| note.reason.contains("share one queue of 4")), "{:?}", file.notes);
}

#[test]
fn later_settings_and_jobs_override_the_defaults() {
    let specs = specs(
        "; a comment\n# another\n[global]\nbs=8k\niodepth = 2\n[a]\nbs=16k\nbs=32k\n[global]\niodepth=4\n[b]\nstonewall\n",
    );
    let of = |i: usize| (specs[i].streams[0].read_sizes[0].size.min.get() >> 10, specs[i].arrivals.clone());
    assert_eq!(of(0), (32, ArrivalSpec::Closed { depth: 2 }));
    assert_eq!(of(1), (8, ArrivalSpec::Closed { depth: 4 }));
}

#[test]
fn notes_name_each_meaningless_option_once() {
    let file = good("[global]\ndirect=1\nrandseed=7\n[a]\nthread\n[b]\nfsync=1\n");
    let notes: Vec<String> = file.notes.iter().map(ToString::to_string).collect();
    for start in [
        "line 2, [global] direct: has no effect here; requests go straight to the device",
        "line 3, [global] randseed: has no effect here; the seed of the run",
        "line 5, [a] thread: has no effect here; Flashloom does not simulate the host's",
        "line 7, [b] fsync: job b writes nothing",
    ] {
        assert_eq!(notes.iter().filter(|note| note.starts_with(start)).count(), 1, "{start}: {notes:#?}");
    }
}

#[test]
fn placement_identifiers_come_from_fdp_streams_and_hints() {
    let ids = |options: &str| stream(options).placement.map(|ids| ids.as_slice().to_vec());
    assert_eq!(ids("rw=write fdp=1 fdp_pli=2"), Some(vec![2]));
    assert_eq!(ids("rw=randrw dataplacement=fdp plids=0,2-4 plid_select=roundrobin"), Some(vec![0, 2, 3, 4]));
    assert_eq!(ids("rw=write dataplacement=streams fdp_pli=65535"), Some(vec![65_535]));
    for (hint, id) in [("none", None), ("short", Some(1)), ("medium", Some(2)), ("long", Some(3)), ("extreme", Some(4))]
    {
        assert_eq!(ids(&format!("rw=write write_hint={hint}")), id.map(|id| vec![id]), "{hint}");
    }
    // Without a directive the list has no effect; nor has a directive in a job without writes.
    for options in
        ["rw=write\nplids=1", "rw=write\nfdp=0\nplids=1", "rw=read\nfdp=1\nplids=1", "rw=read\nwrite_hint=long"]
    {
        let file = good(&format!("[job]\n{options}"));
        assert!(file.specs().all(|spec| spec.streams[0].placement.is_none()), "{options}");
        let notes = file.notes.iter().filter(|note| note.reason.starts_with("has no effect here")).count();
        assert_eq!(notes, 1, "{options}: {:?}", file.notes);
    }
    // Writes take the identifiers in turn, reads have none, and each job has its own.
    let drawn = run(&one("rw=rw size=1m fdp=1 plids=7,9"));
    assert!(drawn.iter().all(|a| a.io.kind == IoKind::Write || a.io.placement.get() == 0));
    let turns: Vec<_> = drawn.iter().filter(|a| a.io.kind == IoKind::Write).map(|a| a.io.placement.get()).collect();
    assert!(turns.iter().enumerate().all(|(n, id)| *id == [7, 9][n % 2]), "{turns:?}");
    let specs = specs("[global]\nrw=write\nfdp=1\n[a]\nplids=1\n[b]\nplids=2\n");
    let both: Vec<_> = specs[0].streams.iter().map(|s| s.placement.as_ref().unwrap().as_slice()).collect();
    assert_eq!(both, [[1], [2]]);
}

#[test]
fn every_bad_file_has_one_clear_message_with_its_line() {
    for (text, path, word) in [
        ("", "line 1", "no job"),
        ("[global]\nbs=4k", "line 1", "no job"),
        ("bs=4k\n[a]", "line 1", "before the first section"),
        ("[a]\n[b", "line 2", "not a section"),
        ("[a]\niodeph=4", "line 2, [a] iodeph", "did you mean `iodepth`?"),
        ("[a]\nfrobnicate=4", "line 2, [a] frobnicate", "fio has no such option"),
        ("[a]\nstartdelay=5-10", "line 2, [a] startdelay", "random delay"),
        ("[global]\nramp_time=5\n[a]\nrw=read\n[b]\nramp_time=6\n", "line 6, [b] ramp_time", "stonewall"),
        ("[a]\nthinktime=5\nrate_iops=5", "line 2, [a] thinktime", "a pause in a job with a rate"),
        ("[a]\nrw=write\nzonemode=zbd", "line 1, [a] zonesize", "zonemode=zbd needs it"),
        ("[a]\nzonemode=zbd\nzonesize=1m", "line 1, [a] rw", "only jobs that write"),
        ("[a]\nrw=write\nzonemode=zbd\nzonesize=1m\n[b]\nrw=read", "line 3, [a] zonemode", "a file for each job"),
        ("[a]\nrw=randwrite\nzonemode=zbd\nzonesize=1m", "line 1, [a] max_open_zones", "a random job needs it"),
        ("[a]\nrw=write\nzonemode=zbd\nzonesize=1m\nnumjobs=2", "line 5, [a] numjobs", "iodepth="),
        (
            "[a]\nrw=write\nzonemode=zbd\nzonesize=1m\nzone_reset_threshold=0.5",
            "line 5, [a] zone_reset_threshold",
            "resets at",
        ),
        ("[a]\nrw=write\nzonemode=zbd\nzonesize=1m\nruntime=9", "line 5, [a] runtime", "io_size="),
        ("[a]\nrw=write\nzonemode=zbd\nzonesize=1m\nbsrange=4k-8k", "line 5, [a] bsrange", "several sizes"),
        ("[a]\nrw=write:4k\nzonemode=zbd\nzonesize=1m", "line 2, [a] rw", "holes"),
        ("[a]\nzonemode=zones", "line 2, [a] zonemode", "none, strided or zbd"),
        ("[a]\nzonemode=strided", "line 1, [a] zonesize", "zonemode=strided needs it"),
        ("[a]\nnrfiles=4\nfile_service_type=zipf:1.2", "line 3, [a] file_service_type", "roundrobin"),
        ("[a]\nfilesize=4k-1m", "line 2, [a] filesize", "random sizes"),
        ("[a]\ninclude x.fio", "line 2, [a] include", "paste"),
        ("[a]\nsize=${SIZE}", "line 2, [a] size", "write the value itself"),
        ("[a]\nsize=8*$mb_memory", "line 2, [a] size", "write the value itself"),
        ("[a]\nsize=1z", "line 2, [a] size", "zonemode=zbd"),
        ("[a]\nrw=randwalk", "line 2, [a] rw", "randread"),
        ("[a]\nrw=write:100", "line 2, [a] rw", "4.098KiB apart"),
        ("[a]\nrw=rw:4k", "line 2, [a] rw", "a mix"),
        ("[a]\nrw=randread:x", "line 2, [a] rw", "randread:8"),
        ("[a]\nrw=randread:8\nrw_sequencer=identical", "line 3, [a] rw_sequencer", "not supported"),
        ("[a]\nbs=4q", "line 2, [a] bs", "`4q` is not a size"),
        ("[a]\nbs=1000", "line 2, [a] bs", "multiples of 512"),
        ("[a]\nbs", "line 2, [a] bs", "no value"),
        ("[a]\nbssplit=4k/50:8k/60", "line 2, [a] bssplit", "at most 100"),
        ("[a]\nrw=randrw\nrwmixread=101", "line 3, [a] rwmixread", "between 0 and 100"),
        ("[a]\nrw=randread\nrandom_distribution=normal:20", "line 3, [a] random_distribution", "zipf:theta"),
        ("[a]\nrw=randread\nrandom_distribution=zipf", "line 3, [a] random_distribution", "zipf:theta"),
        ("[a]\nrw=randread\nrandom_distribution=zipf:1.2:0.5", "line 3, [a] random_distribution", "not supported"),
        ("[a]\nrw=randread\nrandom_distribution=zoned:60/10:30/90", "line 3, [a] random_distribution", "not supported"),
        ("[a]\niodepth=0", "line 2, [a] iodepth", "between 1 and 65536"),
        ("[a]\nnumjobs=0", "line 2, [a] numjobs", "between 1"),
        ("[a]\nioengine=net", "line 2, [a] ioengine", "sends data over a network"),
        ("[a]\nioengine=libaoi", "line 2, [a] ioengine", "is no engine of fio"),
        ("[a]\ntime_based=yes\nruntime=1", "line 2, [a] time_based", "0 or 1"),
        ("[a]\nruntime=1y", "line 2, [a] runtime", "10m"),
        ("[a]\nloops=2\nnumber_ios=5", "line 2, [a] loops", "multiply"),
        ("[a]\nfsync=2\nfdatasync=3\nrw=write", "line 3, [a] fdatasync", "give one"),
        ("[a]\nrw=randrw\nrate_iops=100,", "line 3, [a] rate_iops", "writes have no rate"),
        ("[a]\nrate=1m\nrate_iops=100", "line 3, [a] rate_iops", "exclude each other"),
        ("[a]\nexitall", "line 2, [a] exitall", "the first one ends"),
        ("[a]\nlatency_target=10", "line 2, [a] latency_target", "searches for a depth"),
        ("[a]\nwait_for=z", "line 2, [a] wait_for", "no job [z]"),
        ("[a]\n[b]\n[c]\nwait_for=a", "line 4, [c] wait_for", "other jobs run beside [a]"),
        ("[a]\nflow=1\nruntime=1\n[b]\nflow=2", "line 4, [b] runtime", "by their weights"),
        ("[a]\nrate_process=bursty", "line 2, [a] rate_process", "poisson"),
        ("[a]\noffset=1%\noffset_increment=1m\nnumjobs=2", "line 3, [a] offset_increment", "alike"),
        ("[a]\nrw=write\nfdp=1", "line 3, [a] fdp", "plids=0-7"),
        ("[a]\nrw=write\nfdp=1\nplids=x", "line 4, [a] plids", "1,3-5"),
        ("[a]\nrw=write\nfdp=1\nfdp_pli=3-1", "line 4, [a] fdp_pli", "1,3-5"),
        ("[a]\nrw=write\nfdp=1\nplids=65536", "line 4, [a] plids", "1,3-5"),
        ("[a]\nrw=write\nfdp=1\nplids=1\nplid_select=random", "line 5, [a] plid_select", "write roundrobin"),
        ("[a]\nrw=write\ndataplacement=zones\nplids=1", "line 3, [a] dataplacement", "none, fdp or streams"),
        ("[a]\nrw=write\nwrite_hint=long\nfdp=1\nplids=1", "line 3, [a] write_hint", "delete fdp"),
        ("[a]\nrw=write\nwrite_hint=eternal", "line 3, [a] write_hint", "extreme"),
        ("[a]\nkb_base=1001", "line 2, [a] kb_base", "1000 or 1024"),
    ] {
        let faults = parse("t", text).map(|file| panic!("{text}: {file:?}")).unwrap_err();
        let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let fits = |fault: &String| fault.starts_with(&format!("{path}:")) && fault.contains(word);
        assert!(found.len() == 1 && fits(&found[0]), "wanted {path} and {word}: {found:#?}");
    }
}

#[test]
fn all_faults_of_a_fio_file_are_reported_at_once() {
    let faults = parse("t", "[a]\nexitall\nbs=4q\n[b]\niodepth=0\n[c]\nfrob=1\n").unwrap_err();
    assert_eq!(faults.len(), 4, "{faults:#?}");
    // A fault of a default appears once, not once per job.
    let faults = parse("t", "[global]\nbs=4q\n[a]\n[b]\n[c]\n").unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:#?}");
}
