//! Suspension of programs and erases. MQSim has parameters for it and never suspends: in both of its schedulers the switch
//! that decides falls through to a refusal (MQSim's pull request 62).

use super::Likeness;
use super::sheet::Sheet;
use super::toml_text::time;
use super::xml::XmlGroup;

const SUPPORT: &str = "CMD_Suspension_Support";
const PROGRAM: &str = "Suspend_Program_Time";
const ERASE: &str = "Suspend_Erase_Time";

/// The parameters that say how much of an operation must be left, each with whether it is about erases. MQSim's reader
/// misspells one.
const LEAST: [(&str, bool); 4] = [
    ("Preferred_suspend_erase_time_for_read", true),
    ("Prefered_suspend_erase_time_for_read", true),
    ("Preferred_suspend_erase_time_for_write", true),
    ("Preferred_suspend_write_time_for_read", false),
];

/// Writes the key `suspend` of the flash array, if the drive follows controllers and not MQSim.
pub(super) fn suspend(drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>, likeness: Likeness, sheet: &mut Sheet) {
    let all = [(flash, SUPPORT), (flash, PROGRAM), (flash, ERASE)].into_iter();
    let all: Vec<&str> = all
        .chain(LEAST.map(|(name, _)| (drive, name)))
        .filter(|(of, name)| of.has(name))
        .map(|(_, name)| name)
        .collect();
    let without = |first: &str, sheet: &mut Sheet| {
        let others = "the drive suspends no operation of the flash";
        all.iter().for_each(|name| sheet.without(name, if *name == all[0] { first } else { others }));
    };
    if !flash.has(SUPPORT) {
        return all.iter().for_each(|name| sheet.without(name, "no operation of the flash is suspended"));
    }
    let kinds = [
        ("NONE", None),
        ("PROGRAM", Some(("programs", true, false))),
        ("ERASE", Some(("erases", false, true))),
        ("PROGRAM_ERASE", Some(("both", true, true))),
    ];
    let Some(kind) = flash.choice(SUPPORT, &kinds) else { return };
    let Some((operations, programs, erases)) = kind else {
        return without("no operation of the flash is suspended", sheet);
    };
    if likeness == Likeness::Mqsim {
        let why = "MQSim never suspends an operation, whatever this says, and neither does the drive; with --as-controllers-do \
                   it does";
        return without(why, sheet);
    }
    if drive.has("Preemptible_GC_Enabled") && !drive.flag("Preemptible_GC_Enabled") {
        return without("collection goes first at the dies, so nothing is suspended for reads", sheet);
    }
    let mut rules = vec![format!("operations = \"{operations}\""), "reads = \"all\"".to_owned()];
    let mut from = vec![SUPPORT];
    for (name, key, is_suspended) in [(PROGRAM, "program-time", programs), (ERASE, "erase-time", erases)] {
        if is_suspended {
            rules.push(format!("{key} = \"{}\"", time(flash.whole(name, "100000"))));
            from.push(name);
        } else if flash.has(name) {
            sheet.without(name, "such operations are not suspended");
        }
    }
    if erases {
        // Writes may interrupt an erase.
        rules.push("writes = true".to_owned());
    }
    let given = LEAST.iter().filter(|(name, _)| drive.has(name));
    let (about, others): (Vec<_>, Vec<_>) = given.partition(|(_, of_erase)| if *of_erase { erases } else { programs });
    others.iter().for_each(|(name, _)| sheet.without(name, "such operations are not suspended"));
    let left: Vec<u64> = about.iter().map(|(name, _)| drive.whole(name, "100000")).collect();
    if let Some(least) = left.iter().min() {
        rules.push(format!("threshold = \"{}\"", time(*least)));
        from.extend(about.iter().map(|(name, _)| *name));
        for ((name, _), _) in about.iter().zip(&left).filter(|(_, ns)| *ns > least) {
            sheet.approximated(name, "the drive has one threshold for all operations, the least of them");
        }
    }
    sheet.line(&format!("suspend = {{ {} }}", rules.join(", ")), &from.join(", "));
}
