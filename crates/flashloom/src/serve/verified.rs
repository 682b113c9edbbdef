//! The messages on drives that are verified while they are served, and the exit of the command.

use serve::engine::ViolationCallback;
use ssd::FlushPolicy;
use study::catalogue::Device;
use verify::VerifyStatus;

use crate::exit::{Failure, say};

/// The most violations of a drive that are printed as they are found.
const NAMED: u64 = 16;

/// True if the description of a drive says that it ignores flushes, so that it loses data by design.
pub(super) fn ignores_flushes(device: &Device) -> bool {
    device.resolved.spec.buffer.as_ref().is_some_and(|buffer| buffer.flush == FlushPolicy::Ignore)
}

/// A function that prints the violations of a drive.
pub(super) fn on_violation(name: &str) -> ViolationCallback {
    let (name, mut count) = (name.to_owned(), 0_u64);
    Box::new(move |violation| {
        count += 1;
        match count {
            ..=NAMED => say(format_args!("{name}: violation: {violation}")),
            _ if count == NAMED + 1 => say(format_args!("{name}: more violations are not named any more")),
            _ => {}
        }
    })
}

/// A line on the comparisons of a drive.
pub(super) fn summary(verified: &VerifyStatus) -> String {
    let VerifyStatus { reads, sectors, adopted, .. } = verified;
    let believed = match adopted {
        0 => String::new(),
        _ => format!(", and believed {adopted} of which nobody knew the content"),
    };
    format!("verified {sectors} sectors in {reads} reads{believed}")
}

/// The failure of a drive with violations. If the description says that the drive ignores flushes, the violations are no bug.
pub(super) fn failure(name: &str, verified: &VerifyStatus, ignores_flushes: bool) -> Option<Failure> {
    let VerifyStatus { violations, unreadable, .. } = verified;
    if *violations > 0 && !ignores_flushes {
        let message = format!("{name}: the drive broke its promises for {violations} sectors");
        let replay = "that of this server, and what its clients did, which `--record FILE.parquet` keeps".to_owned();
        return Some(Failure::Bug { message, replay });
    }
    if *violations > 0 {
        return Some(Failure::Unexpected(format!(
            "{name}: the drive broke its promises for {violations} sectors: it ignores flushes \
             (buffer.flush)"
        )));
    }
    let text = format!("{name}: {unreadable} sectors cannot be read: the drive has lost what they held");
    (*unreadable > 0).then_some(Failure::Unexpected(text))
}
