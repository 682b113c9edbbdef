//! A check is judged by its exit code alone, gets its files, and ends in time.

use super::*;

fn run(command: &str, limit: Duration) -> CheckResult {
    let dir = tempfile::tempdir().expect("a directory");
    let (image, log) = (dir.path().join("it's an image"), dir.path().join("log"));
    fs::write(&image, "content").expect("written");
    fs::write(&log, "one\n").expect("written");
    let check = Check { command: command.to_owned(), limit };
    let checked = check.run(dir.path(), &image, &log, 17).expect("a shell");
    let left = fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(left, 2, "only the files of the caller are left");
    checked
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_check_sees_the_image_the_lines_and_the_number() {
    let checked = run("cat {image} {log}; echo {point}", LONG);
    assert_eq!((checked.ending, checked.output.as_str()), (CheckOutcome::Good, "contentone\n17\n"));
}

#[test]
fn a_check_fails_by_its_exit_code_and_its_output_is_kept() {
    let checked = run("echo what; echo why >&2; exit 3", LONG);
    assert_eq!((checked.ending, checked.output.as_str()), (CheckOutcome::Code(3), "what\nwhy\n"));
    assert_eq!(run("kill -9 $$", LONG).ending, CheckOutcome::Signal);
    assert_eq!(run("no-such-command-at-all", LONG).ending, CheckOutcome::Code(127));
}

#[test]
fn of_a_long_output_the_end_is_kept() {
    let checked = run("yes | head -c 100000; echo the end", LONG);
    assert!(checked.output.ends_with("the end\n"), "{}", checked.output.len());
    assert_eq!(checked.output.len() as u64, MOST_OUTPUT);
}

#[test]
fn a_check_that_takes_too_long_is_ended_with_all_that_it_started() {
    // The child of the shell would keep the pipe open for an hour.
    let checked = run("sleep 3600 & sleep 3600", Duration::from_millis(50));
    assert_eq!(checked.ending, CheckOutcome::Late);
}
