//! The arguments of `flashloom convert-mqsim`.

use std::path::PathBuf;

use clap::Args;

use super::ReplaceArgs;

/// A configuration of MQSim.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertArgs {
    /// The configuration of the drive: MQSim's ssdconfig.xml
    #[arg(value_name = "SSDCONFIG.xml")]
    pub(crate) config: PathBuf,

    /// The flows: MQSim's workload.xml. Each synthetic flow becomes a workload file, and the command that runs each
    /// scenario is printed
    #[arg(value_name = "WORKLOAD.xml", requires = "out")]
    pub(crate) flows: Option<PathBuf>,

    /// Write the files into this directory, instead of the device file to the standard output: device.toml, and
    /// scenario-S-flow-F.toml for each flow
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Convert to the behaviour of real controllers where MQSim deviates: the whole cache is a write buffer, host reads
    /// cross the channel first and suspend programs and erases, dies of a chip work at once, and one command works on
    /// all planes of a die
    #[arg(long)]
    pub(crate) as_controllers_do: bool,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}
