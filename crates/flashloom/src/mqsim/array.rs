//! The flash array of a MQSim configuration, in the manner of MQSim's back end or of a controller.

use super::Likeness;
use super::queues::Queues;
use super::sheet::Sheet;
use super::suspend::suspend;
use super::xml::XmlGroup;

/// True if the dies of a chip become planes of one die.
///
/// MQSim's scheduler sends a command to a chip only if the whole chip is idle (`TSU_OutOfOrder` asks for `ChipStatus::IDLE`), so
/// one die of a chip works at a time.
pub(super) fn is_merged(flash: &XmlGroup<'_, '_>, likeness: Likeness) -> bool {
    likeness == Likeness::Mqsim && flash.count("Die_No_Per_Chip", "2") > 1
}

/// Writes the tables of the flash array into the sheet.
pub(super) fn array(
    drive: &XmlGroup<'_, '_>,
    flash: &XmlGroup<'_, '_>,
    (queues, likeness): (&Queues, Likeness),
    sheet: &mut Sheet,
) {
    sheet.table("[flash]");
    let [channels, chips, dies, planes] = queues.sizes(drive, flash);
    for (key, of) in [("channels", &channels), ("chips", &chips)] {
        sheet.line(&format!("{key} = {}", of.used), &of.origin());
    }
    if is_merged(flash, likeness) {
        sheet.line("dies = 1", "Die_No_Per_Chip: one die of a chip works at a time in MQSim");
        sheet.line(&format!("planes = {}", dies.used * planes.used), "Die_No_Per_Chip x Plane_No_Per_Die");
    } else {
        sheet.line(&format!("dies = {}", dies.used), &dies.origin());
        sheet.line(&format!("planes = {}", planes.used), &planes.origin());
    }
    sheet.line(&format!("blocks = {}", flash.count("Block_No_Per_Plane", "2048")), "Block_No_Per_Plane");
    let width = drive.count("Flash_Channel_Width", "1").saturating_mul(8);
    sheet.line(&format!("width = {width}"), "Flash_Channel_Width, in bits");
    lane_rate(drive, likeness, sheet);
    sheet.line("controllers = \"none\"", "MQSim has none: transactions go to the chips");
    arbitration(drive, likeness, sheet);
    suspend(drive, flash, likeness, sheet);
    if planes.used > 1 {
        let why = match likeness {
            Likeness::Mqsim => {
                "each plane works by itself; MQSim joins commands to several planes of a die where their page numbers agree, \
                 which at random happens only with many requests under way"
            }
            Likeness::Controller => {
                "one command always works on all planes of a die; in MQSim only where page numbers agree"
            }
        };
        sheet.approximated("Plane_No_Per_Die", why);
    }
}

/// The rate of a channel. MQSim rounds the time of two bytes to whole nanoseconds: the integer part of 1000 / rate, times two
/// (`SSD_Device`).
fn lane_rate(drive: &XmlGroup<'_, '_>, likeness: Likeness, sheet: &mut Sheet) {
    let name = "Channel_Transfer_Rate";
    let nominal = drive.count(name, "333");
    let whole_ns = 1000 / nominal;
    if likeness == Likeness::Controller || whole_ns == 0 {
        sheet.line(&format!("lane-rate = \"{nominal}MB/s\""), name);
        if whole_ns == 0 {
            let why = "MQSim counts a transfer in whole nanoseconds, so above 1000 MT/s it takes no time there";
            sheet.approximated(name, why);
        }
        return;
    }
    // Kilobytes are exact enough for a rate of a few digits.
    let exact = 1_000_000 / whole_ns;
    sheet.line(&format!("lane-rate = \"{exact}kB/s\"").replace("000kB/s", "MB/s"), name);
    if exact / 1000 != nominal {
        let why = format!(
            "MQSim counts {whole_ns} ns for a byte, without the fraction of {:.2}, and this is its rate",
            1000.0 / nominal as f64
        );
        sheet.approximated(name, &why);
    }
}

fn arbitration(drive: &XmlGroup<'_, '_>, likeness: Likeness, sheet: &mut Sheet) {
    let name = "Transaction_Scheduling_Policy";
    let policies = [("OUT_OF_ORDER", ""), ("PRIORITY_OUT_OF_ORDER", "by priorities"), ("FLIN", "by fairness")];
    let policy = drive.choice(name, &policies).unwrap_or_default();
    let bus = match likeness {
        Likeness::Mqsim => "data-first",
        Likeness::Controller => "read-first",
    };
    let preemptible = !drive.has("Preemptible_GC_Enabled") || drive.flag("Preemptible_GC_Enabled");
    let (commands, order) = match preemptible {
        true => ("read-first", "host reads go first at the dies; copies and host writes take turns"),
        false => ("collection-first", "collection goes first at the dies, then host reads"),
    };
    let of = format!("{name}, Preemptible_GC_Enabled");
    sheet.line(&format!("arbitration = {{ commands = \"{commands}\", bus = \"{bus}\" }}"), &of);
    let others = match policy {
        "" => String::new(),
        policy => format!(", and transactions are not ordered {policy}"),
    };
    let why = format!("{order}; all else in order{others}");
    sheet.approximated(name, &why);
}
