//! A tar or a zip of traces. Its members are files of one recording (the CPUs of blktrace, the volumes of a server, the
//! parts of a long trace) and are merged by time.
//!
//! Each member may have its own compression. Members that are not traces (a licence, a README) are skipped and named in
//! the notes; all others must have one format. Members are read side by side, so that an archive that is compressed or
//! comes from a pipe is first unpacked into an anonymous temporary file.

use std::io::{self, Read};
use std::path::PathBuf;

use super::blktrace;
use super::input::{Input, open_file};
use super::merge::{MergeInput, MergeReader};
use super::record::{Context, Records};
use super::stored::{FilePiece, unkept};
use super::{Format, TraceOptions, zip};
use crate::SourceError;

/// Bytes of a block of a tar; the first block is the header of the first member.
const BLOCK: usize = 512;
/// The maximum number of members, because each has a read buffer of its own.
const MOST: usize = 1_000;

/// A kind of archive from which traces are read directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Archive {
    Tar,
    Zip,
}

/// A file of an archive: its name and its bytes.
type Member = (String, Box<dyn Read + Send>);

struct TraceMember {
    name: String,
    format: Format,
    input: Input,
}

/// True for the first bytes of a tar. A header contains the sum of its own bytes in octal, with that field itself
/// counted as blanks.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..BLOCK) else { return false };
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    let field = &header[148..156];
    let own: u64 = field.iter().map(|byte| u64::from(*byte)).sum();
    let digits = field.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    let said = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 8).ok());
    header[0] != 0 && said == Some(sum - own + 8 * u64::from(b' '))
}

impl Archive {
    /// The kind of archive that begins with these bytes; `None` if they do not begin an archive.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match () {
            () if zip::looks(head) => Some(Self::Zip),
            () if is_tar(head) => Some(Self::Tar),
            () => None,
        }
    }

    /// The name of the kind, and the command that tests such a file.
    const fn tool(self) -> (&'static str, &'static str) {
        match self {
            Self::Tar => ("tar", "tar -tf"),
            Self::Zip => ("zip", "unzip -t"),
        }
    }

    fn members(self, stored: &FilePiece) -> io::Result<Vec<Member>> {
        match self {
            Self::Tar => tar_members(stored),
            Self::Zip => {
                let open = |entry: zip::ZipEntry| Ok((entry.name.clone(), entry.open(stored)?));
                zip::entries(stored)?.into_iter().map(open).collect()
            }
        }
    }

    pub(crate) fn open(
        self,
        mut input: Input,
        options: &TraceOptions,
        context: &mut Context,
    ) -> Result<(Format, Box<dyn Records>), SourceError> {
        let path = input.path().to_path_buf();
        let (kind, test) = self.tool();
        let damaged = |error: &io::Error| {
            let remedy = format!("fetch it again, or test it with `{test}`");
            SourceError::new(format!("the {kind} is damaged or cut short ({error})"), remedy).in_file(&path)
        };
        let stored = if input.is_plain_file() {
            FilePiece::of(open_file(&path)?).map_err(|error| damaged(&error))?
        } else {
            let file = input.spool()?;
            FilePiece::of(file).map_err(|error| unkept(&path, &error))?
        };
        let members = self.members(&stored).map_err(|error| damaged(&error))?;
        if members.len() > MOST {
            let message = format!("the {kind} holds {} files, and Flashloom reads at most {MOST}", members.len());
            return Err(SourceError::new(message, "unpack it and read some of the files").in_file(&path));
        }
        let named = options.known_format()?;
        let mut found: Vec<TraceMember> = Vec::new();
        let mut strangers = Vec::new();
        for (name, bytes) in members {
            let mut shown = path.clone().into_os_string();
            shown.push(format!(":{name}"));
            let mut input = Input::stream(PathBuf::from(shown), bytes)?;
            if input.head()?.is_empty() {
                continue;
            }
            match named.map_or_else(|| Format::of(&mut input), |named| Ok(Some(named)))? {
                Some(format) => found.push(TraceMember { name, format, input }),
                None => strangers.push(name),
            }
        }
        let Some((first, format)) = found.first().map(|found| (found.name.clone(), found.format)) else {
            let message = format!("the {kind} holds no file of a known format{}", listing(&strangers));
            let remedy = "unpack it, and name the format of the trace with --format";
            return Err(SourceError::new(message, remedy).in_file(&path));
        };
        if let Some(TraceMember { name: other, format: of, .. }) = found.iter().find(|found| found.format != format) {
            let message = format!("the {kind} holds traces of two formats: {first} is {format}, {other} is {of}");
            return Err(SourceError::new(message, "unpack it and read one format at a time").in_file(&path));
        }
        context.stats.members = found.len() as u64;
        context.stats.strangers = strangers;
        if format == Format::Blktrace {
            let records = blktrace::open_all(found.into_iter().map(|found| found.input).collect(), options, context)?;
            return Ok((format, records));
        }
        let alone = found.len() == 1;
        let mut parts = Vec::new();
        for TraceMember { name, format, input } in found {
            let path = input.path().to_path_buf();
            let volume = if alone { Vec::new() } else { name.into_bytes() };
            parts.push(MergeInput {
                path,
                volume,
                records: format.open_surveyed(named.is_none(), input, options, context)?,
            });
        }
        Ok((format, Box::new(MergeReader::new(parts))))
    }
}

fn tar_members(stored: &FilePiece) -> io::Result<Vec<Member>> {
    let mut members: Vec<Member> = Vec::new();
    for entry in tar::Archive::new(stored.again()).entries_with_seek()? {
        let entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let (from, len) = (entry.raw_file_position(), entry.size());
                if !stored.holds(from, len) {
                    return Err(io::Error::other(format!("{name} is incomplete")));
                }
                members.push((name, Box::new(stored.piece(from, len))));
            }
            tar::EntryType::GNUSparse => return Err(io::Error::other(format!("{name} has holes"))),
            _ => {}
        }
    }
    Ok(members)
}

fn listing(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [first] => format!(", only {first}"),
        [first, rest @ ..] => format!(", only {first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::super::testing::file;
    use super::super::{VolumeRule, convert, info};
    use super::*;
    use crate::{Arrival, Source};

    fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        w.write_all(bytes).unwrap();
        w.finish().unwrap()
    }

    /// A zip of these members, deflated or stored, as common tools write it.
    fn zip_of(members: &[(&str, &[u8])], deflate: bool) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in members {
            let mut crc = flate2::Crc::new();
            crc.update(content);
            let packed = if deflate {
                let mut w = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                w.write_all(content).unwrap();
                w.finish().unwrap()
            } else {
                content.to_vec()
            };
            let at = bytes.len() as u32;
            let method: u16 = if deflate { 8 } else { 0 };
            let mut common = vec![20, 0, 0, 0];
            common.extend(method.to_le_bytes());
            common.extend([0; 4]);
            for number in [crc.sum(), packed.len() as u32, content.len() as u32] {
                common.extend(number.to_le_bytes());
            }
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0; 2]);
            bytes.extend(b"PK\x03\x04");
            bytes.extend(&common);
            bytes.extend(name.as_bytes());
            bytes.extend(&packed);
            directory.extend(b"PK\x01\x02\x14\x00");
            directory.extend(&common);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let from = bytes.len() as u32;
        bytes.extend(&directory);
        bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
        for _ in 0..2 {
            bytes.extend((members.len() as u16).to_le_bytes());
        }
        bytes.extend((directory.len() as u32).to_le_bytes());
        bytes.extend(from.to_le_bytes());
        bytes.extend([7, 0]);
        bytes.extend(b"comment");
        bytes
    }

    #[test]
    fn a_zip_is_read_like_a_tar_and_its_checksums_are_compared() {
        let packed = gzip(SECOND);
        let members: [(&str, &[u8]); 4] =
            [("folder/", b""), ("folder/first.csv", FIRST), ("second.csv.gz", &packed), ("README", b"Some words.\n")];
        for deflate in [false, true] {
            let zip = zip_of(&members, deflate);
            for bytes in [&zip, &gzip(&zip)] {
                let TraceContents { arrivals, notes, .. } = read(bytes, &overlaid()).unwrap();
                assert_eq!(starts(&arrivals), [(0, 0), (10, 2), (30, 1), (40, 3)]);
                assert!(notes[1].ends_with("not traces, skipped: README"), "{notes:?}");
            }
        }
        let whole = zip_of(&members, false);
        let mut changed = whole.clone();
        let at = whole.windows(4).position(|bytes| bytes == b"1030").unwrap();
        changed[at + 2] = b'1';
        let text = read(&changed, &overlaid()).unwrap_err().to_string();
        assert!(text.contains(":folder/first.csv") && text.contains("not what the directory says"), "{text}");
        let text = read(&whole[..whole.len() - 40], &overlaid()).unwrap_err().to_string();
        assert!(text.contains("the zip is damaged or cut short (its directory is missing)"), "{text}");
        let text = read(&zip_of(&[("x", b"hello\n")], true), &overlaid()).unwrap_err().to_string();
        assert!(text.contains("the zip holds no file of a known format, only x"), "{text}");
    }

    #[derive(Debug)]
    struct TraceContents {
        arrivals: Vec<Arrival>,
        volumes: Vec<String>,
        notes: Vec<String>,
    }

    fn read(bytes: &[u8], options: &TraceOptions) -> Result<TraceContents, SourceError> {
        let file = file(bytes);
        let mut source = crate::trace::open(file.path(), options)?;
        let mut out = Vec::new();
        while let Some(arrival) = source.next()? {
            out.push(arrival);
        }
        Ok(TraceContents { arrivals: out, volumes: source.volumes().to_vec(), notes: source.notes() })
    }

    fn starts(arrivals: &[Arrival]) -> Vec<(u64, u64)> {
        arrivals.iter().map(|a| (a.at.as_ps() / 100_000, a.io.start.get())).collect()
    }

    const FIRST: &[u8] = b"1000,a,0,Read,0,512,1\n1030,a,0,Read,512,512,1\n";
    const SECOND: &[u8] = b"1010,a,1,Write,1024,512,1\n1040,a,1,Write,1536,512,1\n";

    fn overlaid() -> TraceOptions {
        TraceOptions { volumes: VolumeRule::Overlay, ..TraceOptions::default() }
    }

    #[test]
    fn members_are_merged_by_time_through_every_wrapping() {
        let long = format!("{}/second.csv.gz", "a-long-name".repeat(12));
        let tar = tar_of(&[
            ("first.csv", FIRST),
            (&long, &gzip(SECOND)),
            ("README", b"Some words, and no trace.\n"),
            ("empty.csv", b""),
        ]);
        let whole = zstd::encode_all(&tar[..], 1).unwrap();
        for bytes in [&tar, &gzip(&tar), &whole] {
            let TraceContents { arrivals, volumes, notes } = read(bytes, &overlaid()).unwrap();
            assert_eq!(starts(&arrivals), [(0, 0), (10, 2), (30, 1), (40, 3)]);
            assert_eq!(volumes, ["a,0", "a,1"]);
            let wanted = [
                "files of the archive, merged by time: 2",
                "files of the archive that are not traces, skipped: README",
            ];
            assert_eq!(notes, wanted);
        }
        // Repetition and conversion read the archive again.
        let twice = TraceOptions { repeat: 2, ..overlaid() };
        assert_eq!(read(&gzip(&tar), &twice).unwrap().arrivals.len(), 8);
        let (dir, from) = (tempfile::tempdir().unwrap(), file(&gzip(&tar)));
        let to = dir.path().join("t.parquet");
        assert_eq!(
            convert(from.path(), &std::fs::File::create(&to).unwrap(), &to, &TraceOptions::default())
                .unwrap()
                .stats
                .requests,
            4
        );
        // The output of a conversion can be a member.
        let again = read(&tar_of(&[("t.parquet", &std::fs::read(&to).unwrap())]), &overlaid()).unwrap();
        assert_eq!(starts(&again.arrivals), [(0, 0), (10, 2), (30, 1), (40, 3)]);
    }

    #[test]
    fn faults_name_the_member_and_its_line() {
        let damaged = [SECOND, b"1050,a,1,Write,x,512,1\n"].concat();
        let error = read(&tar_of(&[("first.csv", FIRST), ("b/second.csv", &damaged)]), &overlaid()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(":b/second.csv:3: the offset is not a number"), "{text}");
        let limited = TraceOptions { limit: Some(4), ..overlaid() };
        let members: [(&str, &[u8]); 2] = [("first.csv", FIRST), ("b/second.csv", &damaged)];
        assert_eq!(read(&tar_of(&members), &limited).unwrap().arrivals.len(), 4);
        // Errors about requests beyond the capacity, or too late ones, name the member.
        let small = TraceOptions { capacity: Some(base::units::Sectors::new(3)), ..overlaid() };
        let text = read(&tar_of(&[("first.csv", FIRST), ("second.csv", SECOND)]), &small).unwrap_err().to_string();
        assert!(text.contains(":second.csv:2: ") && text.contains("beyond the capacity"), "{text}");
        let late = [FIRST, b"1,a,0,Read,0,512,1\n"].concat();
        let strict = TraceOptions { tolerance: base::units::Span::from_ns(1), ..overlaid() };
        let text = read(&tar_of(&[("s.csv", SECOND), ("l.csv", &late)]), &strict).unwrap_err().to_string();
        assert!(text.contains(":l.csv:3: the time is"), "{text}");
    }

    #[test]
    fn an_archive_that_is_no_recording_is_refused() {
        let refused = |bytes: &[u8]| read(bytes, &overlaid()).unwrap_err().to_string();
        let two = tar_of(&[("a.csv", FIRST), ("b.spc", b"0,0,512,w,1.0\n")]);
        assert!(refused(&two).contains("two formats: a.csv is msr, b.spc is spc"));
        assert!(
            refused(&tar_of(&[("x", b"hello\n"), ("y", b"world\n")]))
                .contains("no file of a known format, only x and 1 more")
        );
        let whole = tar_of(&[("a.csv", &FIRST.repeat(40)), ("b.csv", &SECOND.repeat(40))]);
        assert!(refused(&whole[..1000]).contains("the tar is damaged or cut short"));
        assert!(!is_tar(&[0; 512]) && !is_tar(b"short") && is_tar(&whole));
        let mut changed = whole;
        changed[3] ^= 1;
        assert!(!is_tar(&changed));
    }

    #[test]
    fn nameless_volumes_are_kept_apart_by_their_files() {
        let line =
            |sector: u64| format!("start ; sector ; length ; op\n 1.0 ; {sector} ; 8 ; R ; 0 ; 0\n").into_bytes();
        let (first, second) = (line(0), line(8));
        let tar = tar_of(&[("a.load", &first), ("b.load", &second)]);
        let error = read(&tar, &TraceOptions::default()).unwrap_err();
        assert!(error.message().contains("a second volume appears, b.load after a.load"), "{error}");
        assert_eq!(read(&tar, &overlaid()).unwrap().arrivals.len(), 2);
        assert_eq!(read(&tar_of(&[("a.load", &first)]), &TraceOptions::default()).unwrap().volumes, [""]);
    }

    proptest! {
        #[test]
        fn damaged_archives_are_read_or_refused(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
            let packed = gzip(SECOND);
            let members: [(&str, &[u8]); 3] = [("first.csv", FIRST), ("second.csv.gz", &packed), ("README", b"x")];
            for mut bytes in [tar_of(&members), zip_of(&members, true)] {
                for (at, byte) in &edits {
                    // Most changes hit headers: each begins a block.
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                let _ = read(&bytes[..cut.index(bytes.len())], &overlaid());
                let _ = read(&bytes, &overlaid());
            }
        }
    }

    #[test]
    fn doubts_about_archive_members_are_reported_once() {
        let member = b"100 0 8 8 1\n200 0 16 8 1\n";
        let TraceContents { notes, .. } = read(&tar_of(&[("a", member), ("b", member)]), &overlaid()).unwrap();
        assert_eq!(notes.iter().filter(|note| note.contains("--time-unit")).count(), 1, "{notes:?}");
        let info = info(file(&tar_of(&[("a", member)])).path(), &TraceOptions::default()).unwrap();
        assert_eq!((info.doubts.len(), info.times.len(), info.sizes.len()), (1, 4, 2));
    }
}
