//! Refuses options that do not go together with `--until worn`.

use study::plan::TargetState;

use crate::args::RunArgs;
use crate::exit::Failure;

/// Refuses options that exclude each other, or have no effect without `--until worn`.
pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
    let faults = super::spec(args).conflicts();
    match faults
        .first()
        .filter(|_| args.measured.until == Some(TargetState::Worn))
        .or(faults.iter().find(|fault| ["rounds", "warranty"].contains(&fault.path.as_str())))
    {
        None => Ok(()),
        Some(fault) => Err(Failure::Input(format!("--{}: {}; {}", fault.path, fault.message, fault.remedy))),
    }
}
