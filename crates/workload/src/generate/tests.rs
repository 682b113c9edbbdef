//! Tests of the generators: every built-in workload, every fault, every request inside its region.

use base::fault::Fault;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Sectors, Time};
use proptest::prelude::*;

use super::spec::ArrivalSpec;
use super::{Generator, GeneratorSpec, builtin};
use crate::{Arrival, Pacing, Source};

/// A drive of 16 GiB.
const CAPACITY: Sectors = Sectors::new(16 << 21);

fn take(generator: &mut Generator, n: usize) -> Vec<Arrival> {
    std::iter::from_fn(|| generator.next().unwrap()).take(n).collect()
}

fn spec(text: &str) -> GeneratorSpec {
    GeneratorSpec::from_toml(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The built-in workloads that are generators, not fio jobs, scripts or writes to zones.
fn generators() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let is_other = |text: &str| {
        let table = text.parse::<toml::Table>();
        table.is_ok_and(|table| table.contains_key("request") || table.contains_key("zones"))
    };
    builtin().iter().filter(move |(name, text)| !name.ends_with(".fio") && !is_other(text))
}

fn named(name: &str) -> GeneratorSpec {
    spec(builtin().iter().find(|(n, _)| *n == name).unwrap().1)
}

fn generator(text: &str, seed: u64) -> Generator {
    Generator::new(&spec(text), CAPACITY, seed).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A workload of one stream with `lines`: 1,000 requests, one outstanding.
fn stream(lines: &str) -> String {
    format!("name = \"t\"\nrequests = 1000\narrivals = {{ kind = \"closed\", depth = 1 }}\n[[stream]]\n{lines}\n")
}

#[test]
fn every_workload_runs_and_repeats() {
    // Chang's drive has 20 GiB.
    let capacity = Sectors::new(CAPACITY.get() * 2);
    let mut names = Vec::new();
    for (name, text) in generators() {
        let spec = spec(text);
        assert_eq!(spec.name, *name);
        assert!(text.starts_with("# ") && text.contains("# Source: ") && !spec.description.is_empty(), "{name}");
        let run = |seed| take(&mut Generator::new(&spec, capacity, seed).unwrap(), 1000);
        let first = run(1);
        assert_eq!(first.len(), 1000, "{name}");
        let mut before = Time::ZERO;
        for Arrival { at, io, .. } in &first {
            assert!(io.end().get() <= capacity.get() && *at >= before, "{name}: {io:?}");
            assert_eq!(io.sectors.is_zero(), io.kind == IoKind::Flush, "{name}: {io:?}");
            before = *at;
        }
        assert_eq!(first, run(1), "{name}");
        if !name.contains("sequential") {
            assert_ne!(first, run(2), "{name}");
        }
        names.push(*name);
    }
    assert!(names.len() >= 14 && names.is_sorted());
}

/// The hash of the first 10,000 requests of a workload and their times.
fn hash(name: &str) -> u64 {
    let requests = take(&mut Generator::new(&named(name), CAPACITY, 42).unwrap(), 10_000);
    // The state is a factor of each product, so the order of the requests counts.
    requests.iter().fold(0x243F_6A88_85A3_08D3, |state, Arrival { at, io, .. }| {
        let x = (state ^ at.as_ps()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let request = io.start.get() << 24 ^ io.sectors.get() << 4 ^ io.kind as u64;
        (x ^ (x >> 32) ^ request).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(29)
    })
}

#[test]
fn the_requests_of_a_seed_never_change() {
    // Golden values, equal on every machine: another value changes every published result.
    assert_eq!(["dirik-wd", "oltp", "zipf-write-4k", "file-write-bursts"].map(hash), GOLDEN);
}

const GOLDEN: [u64; 4] =
    [357_360_574_214_712_175, 11_348_551_855_147_981_064, 4_586_787_194_541_492_682, 4_635_245_387_780_860_080];

#[test]
fn a_written_description_parses_to_the_same() {
    for (_, text) in generators() {
        let read = spec(text);
        assert_eq!(spec(&toml::to_string(&read).unwrap()), read);
    }
}

#[test]
fn w_d_has_the_mix_of_its_paper() {
    let mut generator = Generator::new(&named("dirik-wd"), CAPACITY, 7).unwrap();
    assert_eq!((generator.pacing(), generator.len_hint()), (Pacing::Open, Some(30_000)));
    let all = take(&mut generator, usize::MAX);
    assert_eq!(all.len(), 30_000);
    let n = all.len() as f64;
    let reads = all.iter().filter(|a| a.io.kind == IoKind::Read).count() as f64 / n;
    assert!((reads - 0.5).abs() < 5.0 * 0.5 / n.sqrt(), "{reads}");
    let kib = |io: &Io| io.sectors.get() as f64 / 2.0;
    let mean = all.iter().map(|a| kib(&a.io)).sum::<f64>() / n;
    // 97 % of a mean of 3 + 7.35 + 9.6 KiB and 3 % of 128 KiB; the deviation of one size is 26 KiB.
    assert!((mean - 23.19).abs() < 5.0 * 26.0 / n.sqrt(), "{mean}");
    let large: Vec<_> = all.iter().filter(|a| kib(&a.io) > 100.0).collect();
    assert!(large.iter().all(|a| a.io.kind == IoKind::Write));
    let share = large.len() as f64 / n;
    assert!((share - 0.03).abs() < 5.0 * (0.03f64 * 0.97 / n).sqrt(), "{share}");
    let of =
        |range: std::ops::RangeInclusive<f64>| all.iter().filter(|a| range.contains(&kib(&a.io))).count() as f64 / n;
    for (share, p) in [(of(4.0..=8.0), 0.485), (of(10.0..=32.0), 0.3395), (of(64.0..=64.0), 0.1455)] {
        assert!((share - p).abs() < 5.0 * 0.5 / n.sqrt(), "{share} instead of {p}");
    }
    // 1,463 bursts, whose idle times and lengths have standard deviations equal to their means: 3.7 % of the sum.
    let rate = n / all.last().unwrap().at.as_secs_f64();
    assert!((rate / 14.0 - 1.0).abs() < 5.0 * 0.037, "{rate} requests per second");
}

#[test]
fn the_stand_ins_of_fmmu_have_their_means() {
    let mean = |name, kind| {
        let all = take(&mut Generator::new(&named(name), CAPACITY, 3).unwrap(), 40_000);
        let sizes: Vec<f64> =
            all.iter().filter(|a| a.io.kind == kind).map(|a| a.io.sectors.get() as f64 / 2.0).collect();
        (sizes.len() as f64 / all.len() as f64, sizes.iter().sum::<f64>() / sizes.len() as f64)
    };
    for (name, kind, share, size) in [
        ("fmmu-wp", IoKind::Read, 0.125, 18.0),
        ("fmmu-wp", IoKind::Write, 0.875, 40.0),
        ("fmmu-wh", IoKind::Read, 0.35, 8.0),
        ("fmmu-ws", IoKind::Read, 1.0, 15.0),
    ] {
        let (measured_share, measured_size) = mean(name, kind);
        assert!((measured_share - share).abs() < 0.0125, "{name} {kind:?}: {measured_share}");
        assert!((measured_size - size).abs() < 0.5, "{name} {kind:?}: {measured_size}");
    }
}

#[test]
fn streams_of_randomness_are_independent() {
    let text =
        |address| stream(&format!("reads = \"50%\"\nsizes = [{{ size = \"4KiB..64KiB\" }}]\naddress = {address}"));
    let run = |address| take(&mut generator(&text(address), 5), 1000);
    let (a, b) = (run("{ pattern = \"uniform\" }"), run("{ pattern = \"zipf\", theta = 0.9 }"));
    assert!(a.iter().zip(&b).all(|(a, b)| a.io.kind == b.io.kind && a.io.sectors == b.io.sectors));
    assert_ne!(a, b);
}

#[test]
fn flushes_follow_writes_and_discards_precede_them() {
    let all = take(
        &mut generator(
            &stream(
                "reads = \"0%\"\nsizes = [{ size = \"4KiB\" }]\naddress = { pattern = \"sequential\" }
                flush = { every = 2 }\ndiscard_first = true",
            ),
            1,
        ),
        10,
    );
    let kinds: String = all.iter().map(|a| &a.io.kind.name()[..1]).collect();
    assert_eq!(kinds, "dwdwfdwdwf");
    assert_eq!((all[0].io.start, all[0].io.sectors), (all[1].io.start, all[1].io.sectors));
    assert_eq!(all[4].io, Io::FLUSH);
}

#[test]
fn only_the_writes_of_a_stream_carry_its_placement_identifiers() {
    let ids = |lines: &str| {
        let lines = format!("sizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\n{lines}");
        let mut drawn = take(&mut generator(&stream(&lines), 7), 1000);
        assert!(drawn.iter().all(|a| a.io.kind == IoKind::Write || a.io.placement == PlacementId::default()));
        drawn.retain(|arrival| arrival.io.kind == IoKind::Write);
        drawn.into_iter().map(|arrival| arrival.io.placement.get()).collect::<Vec<_>>()
    };
    // The requests are drawn one by one, because kinds differ or a discard comes first; in the last case they are drawn
    // together.
    for lines in ["reads = \"30%\"\ndiscards = \"30%\"", "reads = \"0%\"\ndiscard_first = true", "reads = \"0%\""] {
        let all = ids(&format!("{lines}\nplacement-id = 65535"));
        assert!(all.len() > 300 && all.iter().all(|id| *id == 65_535), "{lines}");
        assert!(ids(lines).iter().all(|id| *id == 0), "{lines}");
        let round_robin = ids(&format!("{lines}\nplacement-id = [3, 0, 3, 1]"));
        assert_eq!(round_robin[..6], [3, 0, 3, 1, 3, 0], "{lines}");
    }
}

#[test]
fn requests_drawn_ahead_carry_their_placement_identifiers() {
    for (given, wanted) in [("9", [9, 9, 9]), ("[1, 2]", [1, 2, 1])] {
        let lines = format!(
            "reads = \"0%\"\nsizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\nplacement-id = {given}"
        );
        let mut generator = generator(&stream(&lines), 7);
        let ahead: Vec<_> = generator.ahead()[..3].iter().map(|io| io.placement.get()).collect();
        assert_eq!(ahead, wanted);
    }
}

#[test]
fn sequential_runs_have_their_lengths() {
    let lines = "reads = \"100%\"\nsizes = [{ size = \"4KiB\" }]\naddress = { pattern = \"uniform\" }\n";
    let lengths = |rule: &str| {
        let text = stream(&format!("{lines}sequential = {rule}")).replace("1000", "100_000");
        let all = take(&mut generator(&text, 1), 100_000);
        let mut lengths = vec![1u32];
        for pair in all.windows(2) {
            if pair[1].io.start == pair[0].io.end() {
                *lengths.last_mut().unwrap() += 1;
            } else {
                lengths.push(1);
            }
        }
        lengths.pop();
        lengths
    };
    let runs = lengths("{ runs = [2, 4] }");
    assert!(runs.iter().all(|n| (2..=4).contains(n)));
    let geometric = lengths("{ share = \"75%\" }");
    let mean = geometric.iter().sum::<u32>() as f64 / geometric.len() as f64;
    // A geometric length of mean 4 has a deviation of sqrt(12).
    assert!((mean - 4.0).abs() < 5.0 * 12f64.sqrt() / (geometric.len() as f64).sqrt(), "{mean}");
}

#[test]
fn request_byte_and_time_limits_end_a_workload() {
    let body = "reads = \"0%\"\nsizes = [{ size = \"4KiB\" }]\naddress = { pattern = \"shuffled\" }\n";
    let with = |limit: &str, arrivals: &str, body: &str| {
        let mut g = generator(&format!("name = \"t\"\n{limit}\narrivals = {arrivals}\n[[stream]]\n{body}"), 1);
        (g.len_hint(), take(&mut g, usize::MAX).len())
    };
    let closed = "{ kind = \"closed\", depth = 1 }";
    assert_eq!(with("requests = 77", closed, body), (Some(77), 77));
    assert_eq!(with("total = \"1MiB\"", closed, body), (Some(256), 256));
    assert_eq!(with("total = \"1023KiB\"\nrequests = 500", closed, body), (Some(256), 256));
    assert_eq!(with("", closed, &format!("{body}total = \"200%\"\nregion = {{ size = \"1MiB\" }}")), (Some(512), 512));
    assert_eq!(with("duration = \"1s\"", "{ kind = \"fixed\", rate = \"100/s\" }", body), (None, 100));
    let flushed = format!("{body}flush = {{ every = 1 }}");
    assert_eq!(with("requests = 77", closed, &flushed), (Some(77), 77));
    assert_eq!(with("", closed, &format!("{flushed}\nrequests = 10")), (None, 20));
    // When one stream ends, the others continue.
    let two = format!("{body}requests = 5\n[[stream]]\n{body}requests = 50\n");
    assert_eq!(with("", closed, &two), (None, 55));
}

#[test]
fn requests_drawn_ahead_are_the_next_and_change_none() {
    for (name, _) in generators() {
        let closed = matches!(named(name).arrivals, ArrivalSpec::Closed { .. });
        let new = || Generator::new(&named(name), Sectors::new(CAPACITY.get() * 2), 5).unwrap();
        let (mut plain, mut read_ahead) = (new(), new());
        let (mut most, expected) = (0, take(&mut plain, 500));
        let mut got = Vec::new();
        while got.len() < 500 {
            let ahead = read_ahead.ahead().to_vec();
            assert_eq!(read_ahead.ahead(), ahead, "{name}: nothing has been taken");
            assert!(closed || ahead.is_empty(), "{name}: only a closed loop knows its requests ahead");
            most = most.max(ahead.len());
            // Sometimes all drawn requests are taken, sometimes not; and sometimes the first ones are passed over.
            let passed = if got.len().is_multiple_of(3) { ahead.len() / 2 } else { 0 };
            read_ahead.pass(passed);
            got.extend(ahead[..passed].iter().map(|io| Arrival::new(Time::ZERO, *io)));
            let taken = take(&mut read_ahead, 1 + got.len() % 20);
            assert!(ahead[passed..].iter().zip(&taken).all(|(ahead, taken)| *ahead == taken.io), "{name}");
            got.extend(taken);
            assert!(!got.is_empty(), "{name}");
        }
        assert_eq!(got[..500], expected, "{name}");
        assert_eq!(most > 1, closed, "{name}");
    }
}

#[test]
#[should_panic(expected = "17 requests are passed, of 16 drawn ahead")]
fn no_more_is_passed_than_was_drawn_ahead() {
    let mut generator = Generator::new(&named("random-read-4k"), CAPACITY, 1).unwrap();
    assert_eq!(generator.ahead().len(), 16);
    generator.pass(17);
}

/// Limits of the workload and of its stream, in requests and in data, end among requests that are drawn together or
/// after them.
#[test]
fn requests_drawn_together_end_where_the_limits_do() {
    for limit in ["requests = 40", "requests = 32", "total = \"160KiB\"", "total = \"128KiB\"", "total = \"130KiB\""] {
        for of_stream in [false, true] {
            let (top, stream) = if of_stream { ("", limit) } else { (limit, "") };
            let text = format!(
                "name = \"t\"\n{top}\narrivals = {{ kind = \"closed\", depth = 1 }}\n[[stream]]\n{stream}\nreads = \"100%\"\n\
                 sizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\n"
            );
            let (mut plain, mut read_ahead) = (generator(&text, 1), generator(&text, 1));
            let expected: Vec<Io> = std::iter::from_fn(|| plain.next().unwrap()).map(|arrival| arrival.io).collect();
            let mut got = Vec::new();
            while let ahead @ [_, ..] = read_ahead.ahead() {
                let drawn = ahead.len();
                got.extend_from_slice(ahead);
                read_ahead.pass(drawn);
            }
            assert_eq!(got, expected, "{text}");
            assert!(expected.len() > 31 && read_ahead.next().unwrap().is_none(), "{text}");
        }
    }
}

#[test]
fn what_is_drawn_ahead_counts_as_left() {
    let text = r#"name = "t"
requests = 40
arrivals = { kind = "closed", depth = 1 }
[[stream]]
reads = "0%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;
    let mut g = generator(text, 1);
    for left in (1..=40).rev() {
        assert!(!g.ahead().is_empty());
        assert_eq!(g.len_hint(), Some(left));
        assert!(g.next().unwrap().is_some());
    }
    assert_eq!((g.ahead().len(), g.len_hint(), g.next().unwrap()), (0, Some(0), None));
}

#[test]
fn streams_are_interleaved_by_their_shares() {
    let body = |share, start| {
        format!(
            "[[stream]]\nshare = \"{share}\"\nregion = {{ start = \"{start}\", size = \"1GiB\" }}\nreads = \"0%\"
        sizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\n"
        )
    };
    let head = "name = \"t\"\nrequests = 100_000\narrivals = { kind = \"closed\", depth = 1 }\n";
    let all = take(&mut generator(&format!("{head}{}{}", body("25%", "0B"), body("75%", "8GiB")), 1), 100_000);
    let low = all.iter().filter(|a| a.io.start.get() < 2 << 20).count() as f64 / 1e5;
    assert!((low - 0.25).abs() < 5.0 * 0.00137, "{low}");
    assert!(all.iter().all(|a| a.io.end().get() <= 1 << 21 || (8 << 21..=9 << 21).contains(&a.io.end().get())));
}

/// All faults of a description, as text.
fn faults(text: &str) -> Vec<String> {
    let faults = match GeneratorSpec::from_toml(text) {
        Ok(spec) => spec.validate(CAPACITY).expect_err(text),
        Err(faults) => faults,
    };
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn every_bad_input_has_one_clear_message() {
    let good = "reads = \"100%\"\nsizes = [{ size = \"4KiB\" }]\naddress = { pattern = \"uniform\" }";
    let with = |from: &str, to: &str| {
        let text = stream(good).replacen(from, to, 1);
        assert_ne!(text, stream(good), "{from}");
        text
    };
    let line = |line: &str| stream(&format!("{good}\n{line}"));
    for (text, path, word) in [
        (line("raeds = \"1%\""), "stream[0].raeds (line 8)", "unknown field `raeds`"),
        (with("requests = 1000", "requests = \"many\""), "requests (line 2)", "invalid type"),
        (with("\"100%\"", "70"), "stream[0].reads (line 5)", "\"7%\""),
        (with("\"100%\"", "\"70\""), "stream[0].reads (line 5)", "units %"),
        (with("\"4KiB\"", "4096"), "stream[0].sizes[0].size (line 6)", "has no unit"),
        (with("\"4KiB\"", "\"4XiB\""), "stream[0].sizes[0].size (line 6)", "KiB, MiB"),
        (with("reads = \"100%\"\n", ""), "stream[0]", "missing field `reads`"),
        (with("\"uniform\"", "\"unfirom\""), "stream[0].address", "unknown variant `unfirom`"),
        (with("\"uniform\"", "\"uniform\", theta = 1"), "stream[0].address", "unknown field `theta`"),
        (with("reads", "reads ="), "line 5", "delete it or correct it"),
        (with("requests = 1000", ""), "requests", "never ends"),
        (with("requests = 1000", "requests = 0"), "requests", "zero requests"),
        (with("requests = 1000", "total = \"0B\""), "total", "zero bytes"),
        (with("requests = 1000", "duration = \"0s\""), "duration", "duration of zero"),
        (with("depth = 1", "depth = 0"), "arrivals.depth", "a depth of zero issues"),
        (
            with("\"closed\", depth = 1", "\"bursts\", length = 20, gap = \"1ms\", rate = \"2k/s\""),
            "arrivals.rate",
            "write less than 1051.271/s",
        ),
        (
            with("\"closed\", depth = 1", "\"bursts\", length = 0, gap = \"1ms\", rate = \"2/s\""),
            "arrivals.length",
            "above zero",
        ),
        (with("\"closed\", depth = 1", "\"poisson\", rate = \"0/s\""), "arrivals", "above zero"),
        (with("\"closed\", depth = 1", "\"poisson\", rate = 5"), "arrivals", "has no unit"),
        (with("\"100%\"", "\"170%\""), "stream[0].reads", "sum to 170%"),
        (line("discards = \"1%\""), "stream[0].reads", "sum to 101%"),
        (with("{ size = \"4KiB\" }", "{ size = \"1000B\" }"), "stream[0].sizes[0].size", "multiple of a sector"),
        (with("{ size = \"4KiB\" }", "{ size = \"0B\" }"), "stream[0].sizes[0].size", "512B"),
        (with("{ size = \"4KiB\" }", "{ size = \"4KiB..9KiB\" }"), "stream[0].sizes[0].size", "step of 4KiB"),
        (with("{ size = \"4KiB\" }", "{ size = \"4KiB\", share = \"90%\" }"), "stream[0].sizes", "sum to 90%"),
        (
            with("{ size = \"4KiB\" }", "{ size = \"4KiB\" }, { size = \"8KiB\", share = \"1%\" }"),
            "stream[0].sizes[0].share",
            "no share",
        ),
        (with("[{ size = \"4KiB\" }]", "[]"), "stream[0].sizes", "no sizes"),
        (with("[{ size = \"4KiB\" }]", "[{ size = \"32GiB\" }]"), "stream[0].region", "smaller than `align`"),
        (line("align = \"100B\""), "stream[0].align", "multiple of a sector"),
        (line("share = \"50%\""), "stream[..].share", "sum to 50%"),
        (line("requests = 0"), "stream[0].requests", "zero"),
        (line("region = { size = \"17GiB\" }"), "stream[0].region.size", "beyond the capacity of 16GiB"),
        (line("region = { start = \"50%\", size = \"51%\" }"), "stream[0].region.size", "beyond the capacity"),
        (line("region = { start = \"100%\" }"), "stream[0].region.start", "beyond the capacity"),
        (line("region = { start = \"1000B\" }"), "stream[0].region.start", "multiple of a sector"),
        (line("sequential = { share = \"101%\" }"), "stream[0].sequential.share", "101%"),
        (line("sequential = { runs = [3, 2] }"), "stream[0].sequential.runs", "shortest, longest"),
        (line("flush = { every = 1 }"), "stream[0].flush", "has no writes"),
        (line("discard_first = true"), "stream[0].discard_first", "has no writes"),
        (line("placement-id = 1"), "stream[0].placement-id", "has no writes"),
        (with("\"100%\"", "\"50%\"\nplacement-id = []"), "stream[0].placement-id", "is empty"),
        (line("placement-id = 65_536"), "stream[0].placement-id (line 8)", "65536"),
        (line("placement-id = [-1]"), "stream[0].placement-id[0] (line 8)", "-1"),
        (with("\"uniform\"", "\"zipf\", theta = 0.0"), "stream[0].address.theta", "above zero"),
        (with("\"uniform\"", "\"pareto\", power = 1.0"), "stream[0].address.power", "between 0 and 1"),
        (with("\"uniform\"", "\"sequential\", streams = 0"), "stream[0].address.streams", "at least 1"),
        (with("\"uniform\"", "\"sequential\", streams = 4_294_967_295"), "stream[0].address.streams", "1 to 1048576"),
        (
            with("\"uniform\"", "\"sequential\", streams = 100")
                .replace("sizes", "region = { size = \"64KiB\" }\nsizes"),
            "stream[0].address.streams",
            "do not fit",
        ),
        (
            with("\"uniform\"", "\"hot-cold\", hot_space = \"0%\", hot_access = \"1%\""),
            "stream[0].address.hot_space",
            "no room for one",
        ),
        (
            with("\"uniform\"", "\"hot-cold\", hot_space = \"1%\", hot_access = \"101%\""),
            "stream[0].address",
            "at most 100%",
        ),
        (
            with("\"uniform\"", "\"zoned\", zones = [{ space = \"50%\", access = \"90%\" }]"),
            "stream[0].address.zones",
            "sum to 100%",
        ),
        (with("\"uniform\"", "\"working-set\", size = \"17GiB\""), "stream[0].address.size", "at most the region"),
        (
            with("\"uniform\"", "\"working-set\", size = \"1GiB\", period = 0"),
            "stream[0].address.period",
            "a window of zero",
        ),
        (
            stream(&format!("{good}\nalign = \"8KiB\"")).replace("uniform", "shuffled"),
            "stream[0].address.pattern",
            "equal to `align`",
        ),
        (
            stream(&format!("{good}\nsequential = {{ share = \"1%\" }}")).replace("uniform", "shuffled"),
            "stream[0].sequential",
            "no effect",
        ),
    ] {
        let found = faults(&text);
        assert!(
            found.len() == 1 && found[0].starts_with(path) && found[0].contains(word),
            "wanted {path} and {word}: {found:#?}"
        );
        assert!(found[0].contains("; "), "no remedy: {found:?}");
    }
}

#[test]
fn all_faults_of_a_workload_are_reported_at_once() {
    let text = "name = \"t\"\narrivals = { kind = \"closed\", depth = 0 }
        [[stream]]\nreads = \"150%\"\nsizes = [{ size = \"4KiB\", share = \"1%\" }]\naddress = { pattern = \"zipf\", theta = -1.0 }
        [[stream]]\nreads = \"50%\"\nread_sizes = [{ size = \"7B\" }]\nwrite_sizes = []\naddress = { pattern = \"uniform\" }";
    let found = faults(text);
    for path in [
        "requests",
        "arrivals.depth",
        "stream[0].reads",
        "stream[0].sizes",
        "stream[0].address.theta",
        "stream[1].read_sizes[0].size",
        "stream[1].sizes",
    ] {
        assert_eq!(
            found.iter().filter(|fault| fault.starts_with(&format!("{path}:"))).count(),
            1,
            "{path}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 7, "{found:#?}");
}

#[test]
fn the_schema_documents_every_key() {
    fn undocumented(value: &serde_json::Value, path: &str, missing: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                if let Some(serde_json::Value::Object(properties)) = map.get("properties") {
                    for (key, property) in properties {
                        let tag = property.get("const").is_some();
                        if !tag && property.get("description").is_none() {
                            missing.push(format!("{path}.{key}"));
                        }
                    }
                }
                map.iter().for_each(|(key, value)| undocumented(value, &format!("{path}/{key}"), missing));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| undocumented(value, path, missing)),
            _ => {}
        }
    }
    let schema = schemars::schema_for!(GeneratorSpec);
    let mut missing = Vec::new();
    undocumented(schema.as_value(), "", &mut missing);
    // The documentation of an enum of newtypes is one level up.
    missing
        .retain(|path| !path.contains("oneOf.share") && !path.contains("oneOf.runs") && !path.contains("oneOf.every"));
    assert!(missing.is_empty(), "{missing:?}");
}

fn address() -> impl Strategy<Value = String> {
    let scrambled = any::<bool>();
    prop_oneof![
        Just("{ pattern = \"uniform\" }".to_owned()),
        (1u32..9).prop_map(|n| format!("{{ pattern = \"sequential\", streams = {n} }}")),
        (0.01f64..3.0, scrambled)
            .prop_map(|(t, s)| format!("{{ pattern = \"zipf\", theta = {t:?}, scrambled = {s} }}")),
        (0.01f64..0.99, any::<bool>())
            .prop_map(|(p, s)| format!("{{ pattern = \"pareto\", power = {p:?}, scrambled = {s} }}")),
        (0u32..=100, 0u32..=100, any::<bool>()).prop_map(|(space, access, s)| format!(
            "{{ pattern = \"hot-cold\", hot_space = \"{space}%\", hot_access = \"{access}%\", scrambled = {s} }}"
        )),
        (1u64..800, 1u64..50)
            .prop_map(|(kib, p)| format!("{{ pattern = \"working-set\", size = \"{kib}KiB\", period = {p} }}")),
        Just("{ pattern = \"shuffled\" }".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_stays_in_its_region(
        address in address(),
        align in 1u64..40,
        min in 1u64..40,
        steps in 0u64..10,
        start in 0u64..500,
        size in 1u64..2000,
        sequential in prop_oneof![Just(""), Just("sequential = { runs = [1, 5] }"), Just("sequential = { share = \"60%\" }")],
        seed in any::<u64>(),
    ) {
        let bytes = |sectors: u64| format!("{}B", sectors * 512);
        let fixed = address.contains("shuffled") || address.contains("\"sequential\"");
        let (min, steps) = if address.contains("shuffled") { (align, 0) } else { (min, steps) };
        let sequential = if fixed { "" } else { sequential };
        let text = stream(&format!(
            "reads = \"40%\"\ndiscards = \"20%\"\nalign = \"{}\"\nsizes = [{{ size = \"{}..{}\" }}]
            region = {{ start = \"{}\", size = \"{}\" }}\naddress = {address}\nflush = {{ every = 3 }}\n{sequential}",
            bytes(align), bytes(min), bytes(min + steps * align), bytes(start), bytes(size),
        ));
        // The generator may refuse a description whose values contradict each other.
        if let Ok(mut generator) = Generator::new(&spec(&text), Sectors::new(2000), seed) {
            prop_assert!(start + size <= 2000);
            for Arrival { io, .. } in take(&mut generator, 300) {
                if io.kind == IoKind::Flush {
                    prop_assert_eq!(io, Io::FLUSH);
                    continue;
                }
                prop_assert!(io.start.get() >= start && io.end().get() <= start + size, "{:?} with {}", io, text);
                let sectors = io.sectors.get();
                prop_assert!(sectors >= min && sectors <= min + steps * align && (sectors - min) % align == 0);
            }
        }
    }
}
