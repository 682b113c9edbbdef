//! Traces from the command line: through pipes, with units of measure and columns that only the user knows, and with
//! times beyond the largest.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::common::{DEVICE, WorkFolder};
use crate::shown::{MarkdownPage, root};

impl WorkFolder {
    /// Runs the command with these bytes on standard input, from a pipe.
    fn fed(&self, arguments: &[&str], bytes: &[u8]) -> Output {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // The command closes the pipe early if it refuses the trace or has enough requests.
        let _ = stdin.write_all(bytes);
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", error(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// An SPC trace with a request each millisecond.
fn spc(requests: u32) -> String {
    (0..requests).fold(String::new(), |mut text, n| {
        let _ =
            writeln!(text, "0,{},4096,{},{}.{:03}", n % 64 * 8, if n % 3 == 0 { 'w' } else { 'r' }, n / 1000, n % 1000);
        text
    })
}

#[test]
fn a_trace_from_a_pipe_runs_like_one_from_a_file() {
    let place = WorkFolder::new();
    let text = spc(2_000);
    place.write("t.spc", text.as_bytes());
    let packed = Command::new("gzip").arg("-c").arg(place.path("t.spc")).output().expect("gzip").stdout;
    for more in [&[][..], &["--repeat", "3"], &["--extent", "compact"], &["--limit", "10"]] {
        let arguments = |trace| [&["run", "d.toml", trace, "--json", "--quiet"], more].concat();
        let file = json(&place.flashloom(&arguments("t.spc")));
        for bytes in [text.as_bytes(), &packed] {
            let mut traces = vec!["-"];
            if cfg!(target_os = "linux") {
                traces.push("/dev/stdin");
            }
            for trace in traces {
                let piped = json(&place.fed(&arguments(trace), bytes));
                assert_eq!(piped["event_hash"], file["event_hash"], "{trace} {more:?}");
                assert_eq!(piped["requests"], file["requests"], "{trace} {more:?}");
            }
        }
    }
    assert_eq!(json(&place.fed(&["run", "d.toml", "-", "--json"], text.as_bytes()))["workload"], "stdin");
    let info = json(&place.fed(&["trace", "info", "-", "--json"], text.as_bytes()));
    assert_eq!((&info["requests"], &info["format"]), (&2_000.into(), &"spc".into()));
    let output = place.fed(&["trace", "convert", "-", "t.parquet"], &packed);
    assert!(output.status.success(), "{}", error(&output));
    let parquet = fs::read(place.path("t.parquet")).expect("there");
    assert_eq!(json(&place.fed(&["trace", "info", "-", "--json"], &parquet))["requests"], 2_000);
    // Several runs share one read of the pipe.
    place.write("other.toml", DEVICE);
    let compared = place.fed(
        &["compare", "-", "d.toml", "other.toml", "--seed", "1", "--seeds", "2", "--json", "--quiet"],
        text.as_bytes(),
    );
    assert!(compared.status.success(), "{}", error(&compared));
}

#[test]
fn faults_in_a_pipe_are_reported_with_their_line() {
    let place = WorkFolder::new();
    let bad = spc(5) + "0,1,x,w,1.0\n";
    let output = place.fed(&["run", "d.toml", "-"], bad.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("<stdin>:6: the size is not a number: `x`"), "{}", error(&output));
    let output = place.fed(&["run", "d.toml", "-"], b"");
    assert!(output.status.code() == Some(2) && error(&output).contains("<stdin>: the file is empty"));
    let output = place.fed(&["run", "d.toml", "-", "--flow", "-"], spc(5).as_bytes());
    assert!(
        output.status.code() == Some(2) && error(&output).contains("cannot share standard input"),
        "{}",
        error(&output)
    );
}

/// DiskSim's layout in whole numbers, 50 apart: the unit of time is unknown.
fn bare() -> String {
    (0..200).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{} 0 {} 8 1", n * 50, n % 64 * 24);
        text
    })
}

#[test]
fn a_guessed_time_unit_is_reported_and_can_be_overridden() {
    let place = WorkFolder::new();
    place.write("t.trace", bare().as_bytes());
    let output = place.flashloom(&["run", "d.toml", "t.trace", "--json", "--quiet"]);
    let told = error(&output);
    assert!(told.contains("note: t.trace: read as mqsim, times in ns") && told.contains("--time-unit us"), "{told}");
    assert!(told.contains("which no drive serves"), "{told}");
    let result = json(&output);
    let notes = result["notes"].as_array().expect("a list");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("--time-unit ns confirms"))));
    // In microseconds the trace takes a thousand times as long, and no unit is in doubt.
    let named = place.flashloom(&["run", "d.toml", "t.trace", "--time-unit", "us", "--json", "--quiet"]);
    assert_eq!(error(&named), "");
    let named = json(&named);
    assert!(named["notes"].as_array().is_none_or(Vec::is_empty), "{named}");
    assert!(named["simulated_s"].as_f64() > Some(9e-3), "{named}");
    // The alternative units are listed, each with its consequences.
    let info = place.flashloom(&["trace", "info", "t.trace"]);
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    for wanted in
        ["--time-unit", "9.95us", "9.95ms", "taken  more than any drive can serve", "--size-unit", "4KiB", "32KiB"]
    {
        assert!(text.contains(wanted), "`{wanted}` is not in {text}");
    }
    let info = json(&place.flashloom(&["trace", "info", "t.trace", "--json"]));
    assert_eq!((&info["times"][2]["unit"], &info["times"][3]["absurd"]), (&"us".into(), &true.into()));
    assert_eq!(info["doubts"][0]["about"], "time-unit");
    let output = place.flashloom(&["trace", "convert", "t.trace", "t.parquet"]);
    assert!(output.status.success() && error(&output).contains("note: read as mqsim"), "{}", error(&output));
    // Studies and comparisons report the doubt before they run, and take the units of measure too.
    let compare = |more: &[&str]| place.flashloom(&[&["compare", "t.trace", "d.toml", "--quiet"], more].concat());
    let (plain, named) = (compare(&[]), compare(&["--time-unit", "us", "--size-unit", "512B"]));
    assert!(plain.status.success() && error(&plain).contains("note: t.trace: read as mqsim"), "{}", error(&plain));
    assert!(named.status.success() && !error(&named).contains("note: "), "{}", error(&named));
    let study = "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"t.trace\"\nmetrics = [\"read.mean\"]\n";
    place.write("s.toml", study.as_bytes());
    let output = place.flashloom(&["study", "s.toml", "--quiet"]);
    assert!(output.status.success() && error(&output).contains("t.trace: read as mqsim"), "{}", error(&output));
    place.write("s.toml", format!("{study}run = {{ time-unit = \"us\", size-unit = \"4KiB\" }}\n").as_bytes());
    let output = place.flashloom(&["study", "s.toml", "--quiet"]);
    assert!(output.status.success() && error(&output).is_empty(), "{}", error(&output));
    place.write("s.toml", format!("{study}run = {{ time-unit = \"minutes\" }}\n").as_bytes());
    let output = place.flashloom(&["study", "s.toml", "--quiet"]);
    assert!(
        output.status.code() == Some(2) && error(&output).contains("run.time-unit: `minutes` is not a unit of time"),
        "{}",
        error(&output)
    );
}

#[test]
fn a_log_with_waits_is_replayed_by_them() {
    let place = WorkFolder::new();
    place.write(
        "w.iolog",
        b"fio version 2 iolog\nf add\nf read 0 4096\nf wait 5 0\nf read 4096 4096\nf wait 12 0\nf read 0 4096\n",
    );
    let run = |more: &[&str]| place.flashloom(&[&["run", "d.toml", "w.iolog", "--json", "--quiet"], more].concat());
    let output = run(&[]);
    assert!(error(&output).contains("taken as fio replays them"), "{}", error(&output));
    let result = json(&output);
    let seconds = |result: &serde_json::Value| result["simulated_s"].as_f64().expect("a time");
    assert!((0.012..0.013).contains(&seconds(&result)), "{result}");
    assert_eq!(result["pacing"], "replay, depth 1");
    // With the waits of fio's manual the log takes 17 us; without waits, as long as the drive takes.
    let manual = seconds(&json(&run(&["--time-unit", "us"])));
    let closed = seconds(&json(&run(&["--depth", "1"])));
    assert!(manual < 0.001 && closed < 0.001, "{manual} {closed}");
    assert!(error(&run(&["--time-unit", "ms"])).is_empty());
    // A converted log keeps its waits.
    let output = place.flashloom(&["trace", "convert", "w.iolog", "w.parquet"]);
    assert!(output.status.success(), "{}", error(&output));
    let again = json(&place.flashloom(&["run", "d.toml", "w.parquet", "--json", "--quiet"]));
    assert_eq!((&again["event_hash"], &again["pacing"]), (&result["event_hash"], &result["pacing"]));
}

#[test]
fn a_doubt_is_an_error_if_the_user_asks_for_it() {
    let place = WorkFolder::new();
    place.write("t.trace", bare().as_bytes());
    place.write("s.toml", b"name = \"s\"\ndevice = \"d.toml\"\nworkload = \"t.trace\"\nmetrics = [\"read.mean\"]\nrun = { strict = true }\n");
    for arguments in [
        &["run", "d.toml", "t.trace", "--strict", "--quiet"][..],
        &["compare", "t.trace", "d.toml", "--strict", "--quiet"],
        &["trace", "info", "t.trace", "--strict"],
        &["trace", "convert", "t.trace", "t.parquet", "--strict"],
        &["study", "s.toml", "--quiet"],
    ] {
        let output = place.flashloom(arguments);
        let told = error(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(
            told.contains("read as mqsim, times in ns") && told.contains("leave out --strict"),
            "{arguments:?}: {told}"
        );
    }
    assert!(!place.path("t.parquet").exists());
    let named = ["run", "d.toml", "t.trace", "--strict", "--quiet", "--time-unit", "us", "--size-unit", "512B"];
    let output = place.flashloom(&named);
    assert!(output.status.success(), "{}", error(&output));
}

#[test]
fn the_files_of_a_recording_are_named_by_their_directory() {
    let place = WorkFolder::new();
    let sample = workload::trace::Format::Blktrace.sample().expect("bytes");
    fs::create_dir(place.path("rec")).expect("a directory");
    for cpu in [0, 3] {
        place.write(&format!("rec/sda.blktrace.{cpu}"), &sample);
    }
    for name in ["rec", "rec/sda", "rec/sda.blktrace"] {
        let info = json(&place.flashloom(&["trace", "info", name, "--json"]));
        assert_eq!((&info["requests"], &info["doubts"]), (&2.into(), &serde_json::json!([])), "{name}");
        let run = json(&place.flashloom(&["run", "d.toml", name, "--json", "--quiet"]));
        assert_eq!(run["requests"], 2, "{name}");
    }
    let one = json(&place.flashloom(&["trace", "info", "rec/sda.blktrace.3", "--json"]));
    assert_eq!((&one["requests"], &one["doubts"][0]["files"]), (&1.into(), &2.into()));
    // An output never replaces a file of the trace.
    let output = place.flashloom(&["trace", "convert", "rec", "rec/sda.blktrace.0", "--force"]);
    assert_eq!((output.status.code(), fs::read(place.path("rec/sda.blktrace.0")).expect("there")), (Some(2), sample));
}

#[test]
fn a_csv_with_any_columns_is_read() {
    let place = WorkFolder::new();
    let text = "stamp;what;where;bytes\n1,000;RD;0x10;4096\n1,002;WR;32;8192\n1,003;RD;16;4096\n";
    place.write("t.csv", text.as_bytes());
    let output = place.flashloom(&["run", "d.toml", "t.csv"]);
    let told = error(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("the format is not known: the first line is `stamp;what;where;bytes`"), "{told}");
    assert!(told.contains("--columns '"), "{told}");
    let columns = "time=stamp:s,op=what,offset=where:512B,size=bytes:B,delimiter=semicolon,decimal=comma";
    let result = json(&place.flashloom(&["run", "d.toml", "t.csv", "--columns", columns, "--json", "--quiet"]));
    assert_eq!((&result["requests"], &result["kinds"]["read"]["requests"]), (&3.into(), &2.into()));
    place.write("d.csv", b"time,op,offset,size\n0.5,read,0,512\n");
    let info = json(&place.flashloom(&["trace", "info", "d.csv", "--format", "csv", "--json"]));
    assert_eq!((&info["requests"], &info["format"]), (&1.into(), &"csv".into()));
    let study = format!(
        "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"t.csv\"\nmetrics = [\"read.mean\"]\nrun = {{ columns = \"{columns}\" }}\n"
    );
    place.write("s.toml", study.as_bytes());
    let output = place.flashloom(&["study", "s.toml", "--quiet"]);
    assert!(output.status.success(), "{}", error(&output));
    for (columns, wanted) in
        [("time=stamp", "--columns names no column for the op"), ("x", "`x` does not describe a column")]
    {
        let output = place.flashloom(&["run", "d.toml", "t.csv", "--columns", columns]);
        let told = error(&output);
        assert!(
            output.status.code() == Some(2) && (told.contains(wanted) || told.contains("unit of the time")),
            "{told}"
        );
    }
}

#[test]
fn a_request_after_the_end_of_time_is_refused_at_its_line() {
    let place = WorkFolder::new();
    // Three requests in a week, with Windows file times.
    place.write("week.csv", b"1000,a,0,Read,0,512,1\n3024000001000,a,0,Read,0,512,1\n6048000001000,a,0,Read,0,512,1\n");
    let arguments = ["run", "d.toml", "week.csv", "--quiet"];
    let run = |more: &[&str]| place.flashloom(&[&arguments[..], more].concat());
    assert!(run(&["--time-scale", "28"]).status.success());
    for (more, place) in [
        (&["--time-scale", "31"][..], "week.csv:3: request 2 arrives after the end of simulated time"),
        (&["--time-scale", "60"], "week.csv:2: request 1 arrives"),
        (&["--time-scale", "1e300"], "week.csv:2: request 1 arrives"),
        (&["--repeat", "40"], "week.csv:2: request 58 arrives after the end"),
        (&["--repeat", "10", "--time-scale", "4"], "arrives after the end of simulated time"),
        (&["--time-scale", "31", "--flow", "week.csv"], "week.csv:3: request 2 arrives"),
        (&["--time-scale", "31", "--precondition", "fill"], "week.csv:3: request 2 arrives"),
    ] {
        let output = run(more);
        let told = error(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {told}");
        assert!(told.contains(place), "{more:?}: {told}");
    }
    let week = fs::canonicalize("../../../shared/traces/msr/web_3.csv.zst");
    let Ok(week) = week else {
        println!("skipped: ../shared/traces is absent");
        return;
    };
    let week = week.to_string_lossy().into_owned();
    let output = place.flashloom(&["run", "d.toml", &week, "--extent", "wrap", "--time-scale", "31", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert!(error(&output).contains("web_3.csv.zst:"), "{}", error(&output));
}

#[test]
fn a_described_workload_beyond_the_end_of_time_is_refused() {
    let place = WorkFolder::new();
    let workload = |arrivals: &str, limits: &str| {
        format!(
            "name = \"w\"\n{limits}\narrivals = {{ {arrivals} }}\n[[stream]]\nreads = \"50%\"\nsizes = [{{ size = \"4KiB\" }}]\n\
             address = {{ pattern = \"uniform\" }}\n"
        )
    };
    let slow = "kind = \"fixed\", rate = \"0.0000001/s\"";
    let bursts = "kind = \"bursts\", length = 3.0, gap = \"1000000s\", rate = \"0.0000001/s\"";
    for (arrivals, limits, scale) in [
        (slow, "requests = 9", "1"),
        (bursts, "requests = 90", "1"),
        ("kind = \"poisson\", rate = \"0.00000001/s\"", "requests = 90", "1"),
        ("kind = \"fixed\", rate = \"1/s\"", "requests = 9", "1e9"),
    ] {
        place.write("w.toml", workload(arrivals, limits).as_bytes());
        let output = place.flashloom(&["run", "d.toml", "w.toml", "--time-scale", scale, "--quiet"]);
        let told = error(&output);
        assert!(
            output.status.code() == Some(2) && told.contains("after the end of simulated time"),
            "{arrivals}: {told}"
        );
    }
    // A duration ends the workload before the end of time.
    place.write("w.toml", workload(slow, "duration = \"15000000s\"").as_bytes());
    assert_eq!(json(&place.flashloom(&["run", "d.toml", "w.toml", "--json", "--quiet"]))["requests"], 2);
    place.write("w.fio", b"[a]\nrw=randread\nbs=4k\nsize=1m\nrate_iops=1\nnumber_ios=9\nruntime=300d\ntime_based\n");
    let output = place.flashloom(&["run", "d.toml", "w.fio", "--quiet"]);
    assert!(output.status.code() == Some(2), "{}", error(&output));
    place.write("j.fio", b"[a]\nrw=randread\nbs=4k\nsize=1m\nrate_iops=1\n");
    let output = place.flashloom(&["run", "d.toml", "j.fio", "--time-scale", "1e9", "--quiet"]);
    assert!(error(&output).contains("after the end of simulated time"), "{}", error(&output));
}

/// The recordings in `workloads/recorded` hold what their page says of each.
#[test]
fn recorded_workloads_are_as_their_page_says() {
    let place = WorkFolder::new();
    let folder = root().join("workloads/recorded");
    let page = MarkdownPage::at("workloads/recorded/README.md").text;
    let number = |text: &str| text.trim().replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("`{text}`"));
    let mut described = Vec::new();
    for section in page.split("\n## `").skip(1) {
        let (name, text) = section.split_once("`\n").expect("a name");
        let info = place.json(&["trace", "info", &folder.join(name).to_string_lossy(), "--json"]);
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.windows(2).position(|pair| pair == ["requests", "in"]).expect("a number of requests");
        assert_eq!(info["requests"], number(words[at - 1]), "{name}");
        let seconds = info["span_s"].as_f64().expect("a time");
        assert!((seconds - number(words[at + 2]) as f64).abs() <= 0.5, "{name}: {seconds} s");
        // The sum of the phases, by the titles of the columns.
        let titles = text.lines().find(|line| line.starts_with("| phase |")).expect("a table");
        let sums = text.lines().find(|line| line.starts_with("| all |")).expect("the sum");
        for kind in ["reads", "discards", "flushes"] {
            let column = titles.split('|').position(|cell| cell.trim() == kind).expect("a column");
            let sum = number(sums.split('|').nth(column).expect("a cell"));
            assert_eq!(info[kind]["requests"], sum, "{name}: {kind}");
        }
        described.push(name.to_owned());
    }
    let files = fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut there: Vec<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    there.retain(|name| name != "README.md");
    there.sort();
    described.sort();
    assert_eq!(described, there);
}
