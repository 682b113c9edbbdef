//! Integrity: every read returns the newest write, whatever else is under way; at the end, every sector of the drive
//! does.

use flash::backend::Op;
use ssd::Drive;

use super::{Trial, Work, script};

pub(super) fn integrity(trial: &Trial<'_>) -> Work {
    let mut host = trial.host();
    script::play(&mut host, &script::random(trial.seed, trial.capacity(), trial.effort.requests));
    host.run_until_idle();
    host.audit();
    let erases = host.ssd().counters().flash.op(Op::Erase).commands;
    assert!(erases > 0, "the script is too short to make the drive collect: the check proves nothing");
    Work::of(&host)
}
