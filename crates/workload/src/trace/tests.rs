//! Tests of the whole reader: bad input, shape, volumes.

use base::io::Io;
use base::units::{Ratio, Sectors, Span};
use proptest::prelude::*;

use super::testing::{detected_bytes, file};
use super::*;
use crate::{Arrival, Source, SourceError};

fn read(bytes: &[u8], options: &TraceOptions) -> Result<(Vec<Arrival>, TraceStats), SourceError> {
    let file = file(bytes);
    let mut source = open(file.path(), options)?;
    let mut out = Vec::new();
    while let Some(arrival) = source.next()? {
        out.push(arrival);
    }
    assert_eq!(source.next(), Ok(None), "the end stays the end");
    Ok((out, source.stats().clone()))
}

fn arrivals(text: &str, options: &TraceOptions) -> Vec<Arrival> {
    read(text.as_bytes(), options).unwrap().0
}

fn error(text: &str, options: &TraceOptions) -> SourceError {
    let error = read(text.as_bytes(), options).unwrap_err();
    assert!(!error.remedy().is_empty());
    error
}

fn seconds(arrivals: &[Arrival]) -> Vec<f64> {
    arrivals.iter().map(|arrival| arrival.at.as_secs_f64()).collect()
}

/// Requests at the seconds 10 to 14, for successive sectors.
const FIVE: &str = "0,0,512,w,10.0\n0,1,512,w,11.0\n0,2,512,r,12.0\n0,3,512,r,13.0\n0,4,512,w,14.0\n";

fn defaults() -> TraceOptions {
    TraceOptions::default()
}

#[test]
fn a_source_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<TraceSource>();
}

#[test]
fn an_empty_trace_is_an_error() {
    assert_eq!(error("", &defaults()).message(), "the file is empty");
    assert!(error("# only\n\n# comments\n", &defaults()).message().contains("only blank lines and comments"));
    assert!(error(&"a".repeat(100_000), &defaults()).message().contains("its first line does not end"));
    let named = TraceOptions { format: Some(Format::Spc), ..defaults() };
    assert!(error("# only\n\n0,1,0,w,1\n", &named).message().contains("holds no request (3 lines or records"));
}

#[test]
fn an_unknown_format_is_named_by_its_first_line() {
    let error = error("# x\nhello world\n", &defaults());
    assert!(error.message().contains("`hello world`"), "{error}");
    assert!(error.remedy().contains("`flashloom trace formats` lists them"), "{error}");
}

#[test]
fn every_bad_line_is_named_by_its_number() {
    for (line, what) in [
        ("0,5,512", "cut short"),
        ("0,5,-512,w,15.0", "negative"),
        ("0,5,512,w,-15.0", "negative"),
        ("0,5,99999999999999999999,w,15.0", "too large"),
        ("0,18446744073709551615,512,w,15.0", "too large"),
        ("0,5,9999999999999,w,15.0", "2 TiB"),
        ("0,98,1536,w,15.0", "beyond the capacity of 100 sectors"),
        ("0,5,512,w,12.9", "is 1.1s earlier"),
        ("1,5,512,w,15.0", "a second volume appears, 1 after 0"),
        ("0,5,512,w,99999999.0", "after the first request"),
    ] {
        let options = TraceOptions { capacity: Some(Sectors::new(100)), ..defaults() };
        let error = error(&format!("# a comment\n{FIVE}{line}\n{FIVE}"), &options);
        assert!(error.message().contains(what), "{line}: {error}");
        assert_eq!(error.line(), Some(7), "{line}: {error}");
        assert!(error.path().is_some(), "{line}: {error}");
    }
}

#[test]
fn lines_beyond_the_limit_are_not_read() {
    let options = TraceOptions { limit: Some(5), ..defaults() };
    assert_eq!(arrivals(&format!("{FIVE}damage\n"), &options).len(), 5);
    assert_eq!(error(&format!("{FIVE}damage\n"), &defaults()).line(), Some(6));
}

#[test]
fn comments_and_blank_lines_are_counted() {
    let (arrivals, stats) = read(format!("# x\n\n{FIVE}  # y\n").as_bytes(), &defaults()).unwrap();
    assert_eq!((arrivals.len(), stats.comments, stats.blank, stats.requests), (5, 2, 1, 5));
}

#[test]
fn small_inversions_are_sorted_and_counted() {
    let text = "0,1,512,w,5.2\n0,2,512,w,5.0\n0,3,512,w,5.3\n0,4,512,w,5.1\n";
    let (arrivals, stats) = read(text.as_bytes(), &defaults()).unwrap();
    assert_eq!(arrivals.iter().map(|a| a.io.start.get()).collect::<Vec<_>>(), [2, 4, 1, 3]);
    assert_eq!(arrivals[3].at.as_ps(), 300_000_000_000);
    assert_eq!((stats.inversions, stats.worst_inversion_ps), (2, 200_000_000_000));
}

#[test]
fn skip_limit_and_scale_shape_the_times() {
    let options = TraceOptions { skip: 1, limit: Some(3), time_scale: Ratio::new(0.5), ..defaults() };
    let some = arrivals(FIVE, &options);
    assert_eq!(some[0].io.start.get(), 1);
    assert_eq!(seconds(&some), [0.0, 0.5, 1.0]);
    assert!(error(FIVE, &TraceOptions { skip: 5, ..defaults() }).message().contains("all were skipped"));
}

#[test]
fn repetitions_follow_each_other_after_a_mean_gap() {
    let options = TraceOptions { repeat: 3, limit: Some(2), ..defaults() };
    assert_eq!(seconds(&arrivals(FIVE, &options)), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn long_gaps_are_shortened_if_asked() {
    let text = "0,0,512,w,1.0\n0,1,512,w,500000000.0\n0,2,512,w,500000001.0\n";
    assert!(error(text, &defaults()).remedy().contains("--gap-limit"));
    let options = TraceOptions { gap_limit: Some(Span::from_secs(60)), ..defaults() };
    let (arrivals, stats) = read(text.as_bytes(), &options).unwrap();
    assert_eq!(seconds(&arrivals), [0.0, 60.0, 61.0]);
    assert_eq!(stats.shortened_gaps, 1);
}

#[test]
fn volumes_are_selected_overlaid_or_kept_apart() {
    let text = "3,0,512,w,1.0\n7,0,512,w,1.0\n3,9,512,w,1.0\n";
    let starts = |options: &TraceOptions| -> Vec<u64> {
        arrivals(text, options).iter().map(|arrival| arrival.io.start.get()).collect()
    };
    let rule = |volumes| TraceOptions { volumes, ..defaults() };
    let second = error(text, &defaults());
    assert!(second.message().contains("7 after 3") && second.remedy().contains("--volume NAME"), "{second}");
    assert_eq!(starts(&rule(VolumeRule::Overlay)), [0, 0, 9]);
    assert_eq!(starts(&rule(VolumeRule::Stride(Sectors::new(10)))), [0, 10, 9]);
    assert!(error(text, &rule(VolumeRule::Stride(Sectors::new(9)))).message().contains("ends beyond its stride"));
    assert_eq!(starts(&TraceOptions { volume: Some("7".into()), ..defaults() }), [0]);
    assert_eq!(starts(&TraceOptions { extent: ExtentRule::Compact, ..defaults() }), [0, 2048, 9]);
    let none = error(text, &TraceOptions { volume: Some("5".into()), ..defaults() });
    assert!(none.remedy().contains("3, 7"), "{none}");
}

#[test]
fn a_compacted_request_over_distant_chunks_splits_into_pieces_at_one_time() {
    let text = "0,4096,512,w,1.0\n0,0,512,w,2.0\n0,2044,4096,r,3.0\n";
    let options = TraceOptions { extent: ExtentRule::Compact, ..defaults() };
    let (arrivals, stats) = read(text.as_bytes(), &options).unwrap();
    let extents: Vec<_> = arrivals.iter().map(|a| (a.io.start.get(), a.io.sectors.get())).collect();
    assert_eq!(extents, [(0, 1), (2048, 1), (4092, 8)]);
    assert_eq!(stats.split_requests, 0);
    let text = "0,2048,512,w,1.0\n0,0,512,w,2.0\n0,2044,4096,r,3.0\n";
    let (arrivals, stats) = read(text.as_bytes(), &options).unwrap();
    let extents: Vec<_> = arrivals.iter().map(|a| (a.io.start.get(), a.io.sectors.get())).collect();
    assert_eq!(extents, [(0, 1), (2048, 1), (4092, 4), (0, 4)]);
    assert_eq!((stats.split_requests, arrivals[2].at), (1, arrivals[3].at));
}

#[test]
fn options_that_leave_no_request_are_refused() {
    for options in [
        TraceOptions { limit: Some(0), ..defaults() },
        TraceOptions { repeat: 0, ..defaults() },
        TraceOptions { pacing: Some(Pacing::Closed { depth: 0 }), ..defaults() },
        TraceOptions { capacity: Some(Sectors::new(0)), ..defaults() },
        TraceOptions { time_scale: Ratio::new(1e12), ..defaults() },
    ] {
        error(FIVE, &options);
    }
}

#[test]
fn a_corrupt_gzip_is_named_with_its_line() {
    use std::io::Write;
    let text: String = (0..100_000).map(|n| format!("0,{},512,w,{n}.0\n", n * 7919 % 100_003)).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let mut bytes = gz.finish().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let error = read(&bytes, &defaults()).unwrap_err();
    assert!(error.line().is_some() || error.message().contains("gzip"), "{error}");
}

/// A small file of each text format, for damage.
fn texts() -> Vec<(Format, String)> {
    let samples = Format::ALL.iter().filter_map(|format| Some((*format, format.sample()?)));
    samples.filter_map(|(format, bytes)| Some((format, String::from_utf8(bytes).ok()?))).collect()
}

#[test]
fn the_sample_of_every_format_is_read() {
    for format in Format::ALL {
        let Some(sample) = format.sample() else { continue };
        let options = TraceOptions { format: Some(*format), volumes: VolumeRule::Overlay, ..defaults() };
        assert!(!read(&sample, &options).unwrap().0.is_empty(), "{format}");
        // The description of a format that detection never chooses states this.
        assert_eq!(detected_bytes(&sample) == Some(*format), !format.about().contains("never detected"), "{format}");
    }
}

#[test]
fn byte_order_marks_blanks_and_line_ends_do_not_matter() {
    // The requests as other systems write them: a byte order mark, CRLF, blanks, blank lines, comments.
    for (format, text) in texts() {
        let options = TraceOptions { format: Some(format), volumes: VolumeRule::Overlay, ..defaults() };
        let plain = read(text.as_bytes(), &options).unwrap().0;
        let crlf = format!("\u{feff}\r\n  \n# a comment\r\n{}\r\n\r\n", text.trim_end().replace('\n', " \t\r\n"));
        assert_eq!(read(crlf.as_bytes(), &options).unwrap().0, plain, "{format}");
        if detected_bytes(text.as_bytes()) == Some(format) {
            let detected = TraceOptions { volumes: VolumeRule::Overlay, ..defaults() };
            assert_eq!(read(crlf.as_bytes(), &detected).unwrap().0, plain, "{format}");
        }
    }
}

#[test]
fn utf_16_is_refused_with_a_remedy() {
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(FIVE.bytes().flat_map(|byte| [byte, 0])).collect();
    for format in [None, Some(Format::Spc)] {
        let error = read(&wide, &TraceOptions { format, ..defaults() }).unwrap_err();
        assert!(error.message().contains("UTF-16") && error.remedy().contains("iconv"), "{error}");
    }
}

#[test]
fn conventional_units_can_be_overridden() {
    let units = |time, address, size| TraceOptions { units: NamedUnits { time, address, size }, ..defaults() };
    let page = Some(SizeUnit::PAGE);
    let text = "0,2,1,w,1.5\n0,3,2,r,2.25\n";
    let some = arrivals(text, &units(Some(TimeUnit::Millisecond), page, page));
    assert_eq!(some[1].at.as_ps(), 750_000_000);
    assert_eq!((some[1].io.start.get(), some[1].io.sectors.get()), (24, 16));
    // Microseconds from a user's report: a thousand times as long as nanoseconds.
    let text = "0 0 280605840 2 1\n500 0 280605842 2 1\n";
    assert_eq!(arrivals(text, &defaults())[1].at.as_ps(), 500_000);
    assert_eq!(arrivals(text, &units(Some(TimeUnit::Microsecond), None, None))[1].at.as_ps(), 500_000_000);
    // If the file states its units, a user cannot name others.
    for (text, format) in
        [("fio version 3 iolog\n15 f read 512 512\n", "iolog"), ("time,op,offset,size\n1,R,0,512\n", "csv")]
    {
        let options = units(None, None, page);
        let error = error(text, &TraceOptions { format: Format::from_name(format), ..options });
        assert!(error.message().contains("--size-unit has no effect: ") && error.message().contains(format), "{error}");
    }
    let both = TraceOptions { columns: Some(Columns::default()), format: Some(Format::Spc), ..defaults() };
    assert!(error(text, &both).message().contains("--format says spc"));
}

#[test]
fn parquet_is_read_through_another_compression() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("t.parquet");
    convert(file(FIVE.as_bytes()).path(), &std::fs::File::create(&to).unwrap(), &to, &defaults()).unwrap();
    let bytes = std::fs::read(&to).unwrap();
    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    assert_eq!(read(&packed, &defaults()).unwrap().0, arrivals(FIVE, &defaults()));
}

/// A FIFO that a thread fills with `bytes`.
#[cfg(unix)]
fn piped<T>(bytes: &[u8], read: impl FnOnce(&std::path::Path) -> T) -> T {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    std::thread::scope(|scope| {
        // A reader that has enough closes the pipe, which is not an error of the writer.
        scope.spawn(|| {
            std::fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|mut pipe| std::io::Write::write_all(&mut pipe, bytes))
        });
        read(&path)
    })
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_or_kept() {
    let all = |path: &std::path::Path, options: &TraceOptions| {
        let mut source = open(path, options).unwrap();
        let mut out = Vec::new();
        while let Some(arrival) = source.next().unwrap() {
            out.push(arrival);
        }
        out
    };
    let long: String = (0..50_000).map(|n| format!("0,{n},512,w,{n}.5\n")).collect();
    let packed = zstd::encode_all(long.as_bytes(), 1).unwrap();
    for bytes in [long.as_bytes(), &packed] {
        assert_eq!(piped(bytes, |path| all(path, &defaults())), arrivals(&long, &defaults()));
        let thrice = TraceOptions { repeat: 3, limit: Some(1_000), ..defaults() };
        assert_eq!(piped(bytes, |path| all(path, &thrice)), arrivals(&long, &thrice));
    }
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("t.parquet");
    let stats = piped(FIVE.as_bytes(), |path| {
        convert(path, &std::fs::File::create(&to).unwrap(), &to, &defaults()).unwrap().stats
    });
    assert_eq!(stats.requests, 5);
    let parquet = std::fs::read(&to).unwrap();
    assert_eq!(piped(&parquet, |path| all(path, &defaults())), arrivals(FIVE, &defaults()));
    assert_eq!(piped(FIVE.as_bytes(), |path| info(path, &defaults()).unwrap().requests), 5);
    assert_eq!(piped(b"", |path| open(path, &defaults()).err().unwrap().message().to_owned()), "the file is empty");
}

proptest! {
    /// Any file is read or refused: no input causes a panic, and no request is beyond the device.
    #[test]
    fn damaged_traces_are_read_or_refused(
        (format, text) in prop::sample::select(texts()),
        edits in prop::collection::vec((0_usize..200, any::<u8>()), 0..4),
        cut in prop::option::of(0_usize..200),
        rule in prop::sample::select(ExtentRule::ALL.to_vec()),
    ) {
        let mut bytes = text.as_bytes().repeat(3);
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = if byte < 128 { b"0123456789,.- \n"[usize::from(byte) % 15] } else { byte };
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        let capacity = Sectors::new(1 << 20);
        let options = TraceOptions {
            format: Some(format),
            volumes: VolumeRule::Overlay,
            extent: rule,
            capacity: Some(capacity),
            ..defaults()
        };
        if let Ok((arrivals, _)) = read(&bytes, &options) {
            prop_assert!(!arrivals.is_empty());
            prop_assert!(arrivals.windows(2).all(|pair| pair[0].at <= pair[1].at));
            prop_assert!(arrivals.iter().all(|arrival| arrival.io.end().get() <= capacity.get()));
            prop_assert!(arrivals.iter().all(|arrival| arrival.io == Io::FLUSH || !arrival.io.sectors.is_zero()));
        }
        let detected = read(&bytes, &defaults());
        prop_assert!(detected.is_ok() || !detected.unwrap_err().message().is_empty());
    }

    #[test]
    fn noise_is_read_or_refused_by_every_format(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        which in 0..Format::ALL.len(),
    ) {
        let options = TraceOptions { format: Some(Format::ALL[which]), ..defaults() };
        let _ = read(&bytes, &options);
        let _ = read(&bytes, &defaults());
    }
}
