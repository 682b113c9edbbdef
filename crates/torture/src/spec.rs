//! The file of a torture: what is recorded, where the power is cut, and what the user checks.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use base::fault::Fault;
use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::Precondition;

use crate::check::Check;
use crate::cut::PointsSpec;
use crate::replay::Honesty;

/// A torture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TortureSpec {
    /// Its name.
    pub name: String,
    /// The question that it asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The device: a file beside this one, or the name of one that comes with Flashloom. A journal has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["demo", "qlc"]))]
    pub device: Option<PathBuf>,
    /// Keys of the device to change, e.g. `["flash.size=1GiB"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The seed of the drive and of the random moments.
    #[serde(default)]
    pub seed: u64,
    /// Steps that bring the drive into a state before the workload, as `flashloom run --precondition` takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub precondition: Vec<Precondition>,
    /// A workload of Flashloom, whose requests the drive is given in simulated time: the drive itself is on trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["oltp"]))]
    pub workload: Option<PathBuf>,
    /// A command for the shell that uses the drive over NBD. `{socket}` stands for the Unix socket, `{uri}` for its NBD
    /// URI, `{here}` for the directory of this file. The lines that it prints are recorded with the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["fio --ioengine=nbd --uri={uri} job.fio"]))]
    pub run: Option<String>,
    /// The most requests of the workload; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// A journal that was recorded before: a file beside this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    /// Whether the drive does what it promises. The others are controls: the laboratory must find their losses.
    #[serde(default)]
    pub drive: Honesty,
    /// The moments at which the power is cut.
    #[serde(default)]
    pub points: PointsSpec,
    /// A command for the shell that checks the image of a recovered drive. Exit code 0 means that the image is good.
    /// `{image}` stands for the image, `{log}` for the file with the lines that the workload had printed by then, `{point}`
    /// for the number of the cut, `{here}` for the directory of this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["e2fsck -fn {image}"]))]
    pub check: Option<String>,
    /// The time that a check may take.
    #[serde(default = "minute")]
    pub check_limit: Span,
    /// Cuts at once; by default one per core. The results do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<NonZeroUsize>,
}

pub(crate) const fn minute() -> Span {
    Span::from_secs(60)
}

/// The source of the run that a torture cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recording {
    /// The requests of a Flashloom workload on this device.
    Workload {
        /// The path of the device file.
        device: PathBuf,
        /// The path of the workload file.
        workload: PathBuf,
    },
    /// A command of the user on this device.
    Command {
        /// The path of the device file.
        device: PathBuf,
        /// The command for the shell.
        command: String,
    },
    /// A journal that exists.
    Journal(PathBuf),
}

impl TortureSpec {
    /// The source of the run.
    ///
    /// # Errors
    /// The keys that exclude each other, or that are missing.
    pub fn recording(&self) -> Result<Recording, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut add = |key: &str, message: &str, remedy: &str| faults.push(Fault::new(key, message, remedy));
        if self.check_limit.is_zero() {
            add("check-limit", "leaves a check no time", "use e.g. \"60s\"");
        }
        if self.journal.is_some() {
            let idle = [
                ("device", self.device.is_some()),
                ("set", !self.set.is_empty()),
                ("precondition", !self.precondition.is_empty()),
                ("workload", self.workload.is_some()),
                ("run", self.run.is_some()),
                ("limit", self.limit.is_some()),
            ];
            for (key, _) in idle.into_iter().filter(|(_, given)| *given) {
                add(key, "has no effect beside a journal, which is a run that is over", "leave it out");
            }
        } else {
            if self.device.is_none() {
                add("device", "is missing", "name a device, e.g. device = \"demo\", or a journal");
            }
            match (&self.workload, &self.run) {
                (None, None) => {
                    add("run", "is missing", "write a command that uses the drive, or name a workload or a journal");
                }
                (Some(_), Some(_)) => add("run", "is one run too many beside a workload", "leave one of them out"),
                (None, Some(_)) if self.limit.is_some() => {
                    add("limit", "has no effect on a command", "leave it out");
                }
                _ => {}
            }
        }
        let recording = match (&self.journal, &self.device, &self.workload, &self.run) {
            (Some(journal), ..) => Recording::Journal(journal.clone()),
            (None, Some(device), Some(workload), _) => {
                Recording::Workload { device: device.clone(), workload: workload.clone() }
            }
            (None, Some(device), None, Some(command)) => {
                Recording::Command { device: device.clone(), command: command.clone() }
            }
            _ => return Err(faults),
        };
        if faults.is_empty() { Ok(recording) } else { Err(faults) }
    }

    /// The user's check with its time limit, if there is one.
    #[must_use]
    pub fn checking(&self) -> Option<Check> {
        checking(self.check.as_ref(), self.check_limit)
    }
}

/// A check with this command and this time limit.
pub(crate) fn checking(command: Option<&String>, limit: Span) -> Option<Check> {
    let limit = Duration::from_secs_f64(limit.as_secs_f64());
    command.cloned().map(|command| Check { command, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let spec: TortureSpec = toml::from_str(&format!("name = \"t\"\n{text}")).expect("TOML");
        let keys = |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.path).collect();
        spec.recording().err().map_or(Vec::new(), keys)
    }

    #[test]
    fn a_torture_has_one_run_to_begin_with() {
        assert_eq!(faults("device = \"demo\"\nworkload = \"oltp\""), Vec::<String>::new());
        assert_eq!(faults("journal = \"run.journal\""), Vec::<String>::new());
        assert_eq!(faults("device = \"demo\"\nrun = \"true\""), Vec::<String>::new());
        assert_eq!(faults(""), ["device", "run"]);
        assert_eq!(faults("device = \"demo\"\nrun = \"true\"\nworkload = \"oltp\""), ["run"]);
        assert_eq!(faults("device = \"demo\"\nrun = \"true\"\nlimit = 3"), ["limit"]);
        assert_eq!(faults("journal = \"j\"\ndevice = \"demo\"\nlimit = 3"), ["device", "limit"]);
        assert_eq!(faults("journal = \"j\"\ncheck-limit = \"0s\""), ["check-limit"]);
    }
}
