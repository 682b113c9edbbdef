//! Tests of options that decide which requests are made.

use base::io::IoKind;
use base::units::{Bytes, Span};

use super::{good, one, run, specs, stream};
use crate::fio::parse;
use crate::generate::{AddressSpec, Amount, ArrivalSpec, FlushSpec, SequentialSpec, StrideOrder, ThinkSpec};
use crate::measure;

/// The first addresses of a job, in blocks of 4 KiB.
fn blocks(options: &str, count: usize) -> Vec<u64> {
    run(&one(options)).iter().take(count).map(|arrival| arrival.io.start.get() / 8).collect()
}

/// Requests per second of an open loop.
fn rate(arrivals: &ArrivalSpec) -> f64 {
    match arrivals {
        ArrivalSpec::Fixed { rate } | ArrivalSpec::Poisson { rate } => rate.per_second(),
        other => panic!("no rate: {other:?}"),
    }
}

#[test]
fn comments_begin_anywhere_in_a_line() {
    let spec = one("size=1m;100k size=2m#x");
    assert_eq!(spec.streams[0].region.size, Some(Amount::Bytes(Bytes::new(2 << 20))));
    let specs = specs("[global] ; defaults\nbs=8k # pages\n\t[a] # first\n rw = randread ; at random\n");
    assert_eq!(specs[0].streams[0].read_sizes[0].size.min.get(), 8192);
}

#[test]
fn an_alias_is_the_option_and_keeps_its_name_in_messages() {
    assert_eq!(one("timeout=60").duration, Some(Span::from_secs(60)));
    let faults = parse("t", "[a]\ntimeout=1y").expect_err("no such unit");
    assert!(faults[0].to_string().starts_with("line 2, [a] timeout: `1y`"), "{faults:?}");
}

#[test]
fn sections_that_begin_with_global_are_defaults() {
    assert_eq!(
        specs("[global]\nbs=8k\n[global of reads]\niodepth=3\n[a]\n")[0].arrivals,
        ArrivalSpec::Closed { depth: 3 }
    );
}

#[test]
fn numbers_have_arithmetic_and_prefixes() {
    assert_eq!(stream("size=(2*4m)").region.size, Some(Amount::Bytes(Bytes::new(8 << 20))));
    assert_eq!(run(&one("size=1m number_ios=1k loops=1")).len(), 256);
    assert_eq!(stream("number_ios=1k").requests, Some(1024));
}

#[test]
fn holes_lie_between_sequential_requests() {
    assert_eq!(blocks("rw=read:8k size=32k", 4), [0, 3, 6, 0]);
    assert_eq!(blocks("rw=read:-8k size=32k", 8), [0, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(run(&one("rw=read:8k size=32k")).len(), 8, "as much data as without holes");
    // Half a request lies between two requests.
    let starts: Vec<u64> = run(&one("rw=read:2k size=20k")).iter().map(|arrival| arrival.io.start.get() / 4).collect();
    assert_eq!(starts, [0, 3, 6, 0, 3]);
}

#[test]
fn strided_zones_take_turns() {
    let options = "zonemode=strided zonerange=16k zonesize=8k zoneskip=4k size=60k rw=read";
    assert_eq!(blocks(options, 8), [0, 1, 5, 6, 10, 11, 0, 1]);
    // In fio, `zonesize` without a mode is enough.
    let AddressSpec::Strided { zone, step, bytes, order, .. } =
        stream("zonesize=9m zonerange=3m zoneskip=1m bs=8k").address
    else {
        panic!("no zones")
    };
    let mib = |n: u64| Bytes::new(n << 20);
    assert_eq!((zone, step, bytes, order), (mib(3), mib(4), Some(mib(9)), StrideOrder::Sequential));
    let shuffled = "zonemode=strided zonesize=16k rw=randread bs=4k size=16k io_size=32k";
    let drawn = blocks(shuffled, 8);
    for pass in drawn.chunks(4) {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3], "{drawn:?}");
    }
    assert_eq!(stream("zonemode=none zonesize=1m").address, AddressSpec::Sequential { streams: 1 });
}

#[test]
fn files_are_parts_of_the_region_that_take_turns() {
    assert_eq!(blocks("nrfiles=4 size=64k", 6), [0, 4, 8, 12, 1, 5]);
    assert_eq!(blocks("nrfiles=4 size=64k file_service_type=sequential", 3), [0, 1, 2]);
    assert_eq!(blocks("filename=a:b size=32k", 4), [0, 4, 1, 5]);
    assert_eq!(blocks("filename=host\\:a size=32k", 2), [0, 1], "one name with a colon");
    assert_eq!(stream("nrfiles=4 size=64k rw=randread").address, AddressSpec::Shuffled {});
    assert_eq!(run(&one("nrfiles=4 filesize=8k")).len(), 8);
    // With `filesize`, `size` is the amount of data.
    assert_eq!(run(&one("filesize=8k size=16k")).len(), 4);
}

#[test]
fn a_region_has_whole_blocks() {
    let odd = stream("size=20000 bsrange=1k-4k rw=randread");
    assert_eq!(odd.region.size, Some(Amount::Bytes(Bytes::new(19 << 10))));
    assert_eq!(stream("bsrange=4k-10k").read_sizes[0].size.max.get(), 8192);
}

#[test]
fn what_is_missing_to_a_whole_split_goes_to_the_most_frequent_size() {
    let shares: Vec<f64> =
        stream("rw=randread bssplit=4k/20:8k/50:16k/20").read_sizes.iter().map(|s| s.share.unwrap().get()).collect();
    assert!(shares.iter().zip([0.2, 0.6, 0.2]).all(|(a, b)| (a - b).abs() < 1e-9), "{shares:?}");
}

#[test]
fn a_job_that_is_larger_than_the_drive_uses_all_of_it() {
    let file = good("[global]\nsize=10g\n[a]\noffset=512m\nbs=1m\n");
    let spec = file.specs().next().expect("a job");
    assert_eq!((spec.streams[0].region.size, run(spec).len()), (None, 512));
    let note = file.notes.iter().find(|note| note.option == "size").expect("a note");
    assert_eq!((note.line, note.job.as_str()), (2, "global"));
    assert!(note.reason.starts_with("reaches beyond the drive's 1GiB: the job uses the 512MiB"), "{}", note.reason);
    let mut beyond = parse("t", "[global]\noffset=3g\n[a]\n").expect("sound");
    let faults = beyond.fit(super::CAPACITY).expect_err("fio refuses it, too");
    assert!(faults[0].to_string().starts_with("line 2, [global] offset: a job begins at 3GiB, beyond"), "{faults:?}");
}

#[test]
fn rates_count_bytes_as_fio_counts_them() {
    assert!((rate(&one("rate=1m").arrivals) - 256.0).abs() < 1e-9);
    // Requests of 4 and 12 KiB, 8 KiB on average.
    let sizes = "rw=randread bsrange=4k-12k norandommap";
    assert!((rate(&one(&format!("rate=1m {sizes}")).arrivals) - 128.0).abs() < 1e-9);
    assert!((rate(&one(&format!("rate_iops=100 {sizes}")).arrivals) - 50.0).abs() < 1e-9, "of the smallest size");
    assert!((rate(&one(&format!("rate_iops=100 rate_process=poisson {sizes}")).arrivals) - 100.0).abs() < 1e-9);
}

#[test]
fn rates_of_reads_and_writes_decide_the_mix() {
    let spec = one("rw=randrw rwmixread=50 rate_iops=300,100");
    assert!((rate(&spec.arrivals) - 400.0).abs() < 1e-9);
    assert!((spec.streams[0].reads.get() - 0.75).abs() < 1e-9);
}

#[test]
fn jobs_with_a_rate_run_beside_those_without() {
    let specs = specs("[global]\nioengine=libaio\niodepth=4\n[a]\n[b]\nrate_iops=100\n[c]\n[d]\nrate_iops=200\n");
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["a and c", "b", "d"]);
    assert_eq!((&specs[0].arrivals, specs[0].streams.len()), (&ArrivalSpec::Closed { depth: 8 }, 2));
    assert!((rate(&specs[2].arrivals) - 200.0).abs() < 1e-9);
}

#[test]
fn jobs_of_different_times_run_beside_each_other() {
    let specs = specs("[a]\nruntime=1\n[b]\nruntime=2\n[a]\nruntime=3\n");
    let all: Vec<_> = specs.iter().map(|spec| (spec.name.as_str(), spec.duration.map(|d| d.as_secs_f64()))).collect();
    assert_eq!(all, [("a", Some(1.0)), ("b", Some(2.0)), ("a-2", Some(3.0))]);
}

#[test]
fn a_delay_counts_from_the_first_job_of_its_stage() {
    let file = good("[a]\nstartdelay=2\n[b]\nstartdelay=5s\n[c]\nstonewall\nstartdelay=9\n");
    let starts: Vec<_> = file.specs().map(|spec| spec.start.map(|start| start.as_secs_f64())).collect();
    assert_eq!(starts, [None, Some(3.0), None]);
    let notes: Vec<u64> = file.notes.iter().filter(|note| note.option == "startdelay").map(|note| note.line).collect();
    assert_eq!(notes, [2, 7]);
}

#[test]
fn a_pause_belongs_to_each_clone() {
    let specs = specs("[a]\nthinktime=2ms\nthinktime_blocks=8\nnumjobs=2\n");
    assert_eq!(specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["a", "a-2"]);
    assert!(specs.iter().all(|spec| spec.think == Some(ThinkSpec { time: Span::from_ms(2), every: 8 })));
    assert_eq!(one("thinktime=0").think, None);
}

#[test]
fn jobs_of_a_flow_share_requests_by_their_weights() {
    let specs = specs("[global]\nioengine=libaio\niodepth=8\n[a]\nflow=1\n[b]\nflow=3\n[c]\n");
    let shares: Vec<f64> = specs[0].streams.iter().map(|stream| stream.share.expect("a share").get()).collect();
    assert_eq!((specs.len(), shares), (2, vec![0.25, 0.75]));
}

#[test]
fn a_job_that_waits_for_all_before_it_begins_a_stage() {
    let file = good("[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n");
    assert_eq!(file.stages.len(), 3);
}

#[test]
fn kinds_with_different_shares_of_random_requests_are_streams_of_their_own() {
    let spec = one("rw=randrw rwmixread=75 percentage_random=100,40 size=1m");
    assert_eq!(spec.streams.len(), 2);
    assert_eq!(spec.streams[0].address, AddressSpec::Shuffled {});
    let Some(SequentialSpec::Share(share)) = spec.streams[1].sequential else { panic!("no runs") };
    assert!((share.get() - 0.6).abs() < 1e-9);
    let all = run(&spec);
    assert_eq!(all.len(), 256);
    assert_eq!(all.iter().filter(|arrival| arrival.io.kind == IoKind::Read).count(), 192);
}

#[test]
fn flushes_follow_every_rule_of_fio() {
    assert_eq!(stream("rw=write sync=1").flush, Some(FlushSpec::Every(1)));
    assert_eq!(stream("rw=write sync=none").flush, None);
    assert_eq!(stream("rw=write fsync=8 sync=dsync").flush, Some(FlushSpec::Every(1)));
    assert_eq!(stream("rw=write write_barrier=4").flush, Some(FlushSpec::Every(4)));
    let kinds: String = run(&one("rw=write size=12k end_fsync=1")).iter().map(|a| &a.io.kind.name()[..1]).collect();
    assert_eq!(kinds, "wwwf");
    let file = good("[a]\nrw=write\nend_fsync=1\nruntime=5\ntime_based\n");
    assert!(
        file.notes.iter().any(|note| note.line == 3 && note.reason.contains("ends by its time")),
        "{:?}",
        file.notes
    );
}

#[test]
fn time_based_counts_with_a_time_only() {
    let file = good("[a]\nsize=1m\ntime_based\n");
    assert_eq!((file.notes[0].line, file.specs().map(|spec| run(spec).len()).sum::<usize>()), (3, 256));
}

#[test]
fn an_engine_without_a_device_is_the_only_fault_of_its_job() {
    let faults = parse("t", "[a]\nioengine=net\nbs=64\nrw=sideways\n").expect_err("no device");
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn data_before_the_measurement() {
    assert_eq!(one("size=1m ramp_size=64k").warm_up, Some(measure::Amount::Bytes(Bytes::new(65_536))));
}

#[test]
fn verification_is_our_check_and_a_note() {
    let file = good("[a]\nrw=randwrite\nverify=crc32c\ndo_verify=1\nverify_backlog=32\n");
    assert!(file.verifies);
    assert_eq!(file.notes.iter().map(|note| note.line).collect::<Vec<_>>(), [3, 4, 5]);
    let off = good("[a]\nrw=randwrite\nverify=0\n");
    assert_eq!((off.verifies, off.notes.len()), (false, 0));
}

#[test]
fn options_of_engines_are_named_and_ignored() {
    let file = good("[a]\nioengine=io_uring_cmd\ncmd_type=nvme\nregisterfiles\niodepth=4\n");
    let named: Vec<&str> = file.notes.iter().map(|note| note.option.as_str()).collect();
    assert_eq!(named, ["cmd_type", "registerfiles"]);
    let file = good("[a]\nioengine=external:./engine.so\nits_own_option=5\n");
    assert!(
        file.notes[0].to_string().starts_with("line 3, [a] its_own_option: has no effect here"),
        "{:?}",
        file.notes
    );
}

#[test]
fn a_value_of_the_environment_matters_only_where_it_counts() {
    assert_eq!(good("[a]\ndirectory=${DIR}\nfilename=${FILE}\n").notes.len(), 1);
}

/// A job file as `btrace2fio` writes it for a trace.
#[test]
fn a_job_file_that_was_made_from_a_trace() {
    let specs = specs(
        r"[global]
clocksource=clock_gettime
[pid100]
numjobs=1
direct=1
ioengine=libaio
iodepth=7
rw=randrw
rwmixread=60
percentage_random=96,34
filename=/dev/sda
startdelay=3s
runtime=10s
bssplit=4096/70:8192/,4096/20:65536/
rate=400k,100k,

[pid7,pid8]
numjobs=2
direct=1
ioengine=sync
rw=randwrite
percentage_random=100,100,100
filename=/dev/sda:/dev/sdb
runtime=12s
bssplit=4096/
",
    );
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["pid100", "pid7,pid8"]);
    assert_eq!((specs[0].start, specs[0].duration), (Some(Span::from_secs(3)), Some(Span::from_secs(10))));
    assert_eq!(specs[0].streams.len(), 2);
    assert_eq!((&specs[1].arrivals, specs[1].start), (&ArrivalSpec::Closed { depth: 2 }, None));
}
