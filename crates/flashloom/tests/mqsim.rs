//! `flashloom convert-mqsim` on files with MQSim's default values, written for these tests.

mod grid;

use std::process::Output;

use serde_json::Value;

use crate::common::WorkFolder;

pub(crate) const CONFIG: &str = include_str!("mqsim/ssdconfig.xml");
pub(crate) const FLOWS: &str = include_str!("mqsim/workload.xml");

fn place() -> WorkFolder {
    WorkFolder::with(&[("ssdconfig.xml", CONFIG), ("workload.xml", FLOWS)])
}

/// The configuration with another value of a parameter.
#[track_caller]
fn with(text: &str, name: &str, value: &str) -> String {
    let (before, rest) = text.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("{name}"));
    let (_, after) = rest.split_once(&format!("</{name}>")).expect("its end");
    format!("{before}<{name}>{value}</{name}>{after}")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The value that a key has in the resolved device.
fn checked(place: &WorkFolder, toml: &str) -> String {
    place.write("d.toml", toml);
    place.printed(&["check", "d.toml"])
}

#[test]
fn the_default_configuration_of_mqsim_is_a_drive_that_check_accepts() {
    let place = place();
    let output = place.flashloom(&["convert-mqsim", "ssdconfig.xml"]);
    assert!(output.status.success(), "{}", said(&output));
    let toml = String::from_utf8(output.stdout.clone()).expect("text");
    let sheet = checked(&place, &toml);
    for wanted in [
        "476.16GiB for the host (511272902656 bytes) of 512GiB of flash",
        "2 bits per cell, 10000 cycles",
        "8 channels x 4 chips x 1 die = 32 dies",
        "4 planes x 2048 blocks x 256 pages of 8KiB",
        "read 75us, program 750us, erase 3.8ms",
        "custom (4GB/s, 0ps per command), 512 requests at once",
        "290ns for a command",
        "1MiB, volatile",
    ] {
        assert!(sheet.contains(wanted), "{wanted}: {sheet}");
    }
    // Each value has its origin.
    let table: toml::Table = toml.parse().expect("TOML");
    let lines = toml.lines().filter(|line| line.contains(" = ") && !line.starts_with('#'));
    assert!(lines.clone().count() > 45, "{toml}");
    for line in lines.filter(|line| !line.starts_with("source")) {
        assert!(line.split_once("  # ").is_some_and(|(_, from)| !from.is_empty()), "{line}");
    }
    for (key, value) in [
        ("lane-rate = \"333333kB/s\"", "Channel_Transfer_Rate"),
        ("start = 101", "GC_Exec_Threshold x Block_No_Per_Plane, and at least 10: MQSim starts below it"),
        ("victim = { policy = \"d-choices\", d = 11 }", "GC_Block_Selection_Policy"),
        ("rate = \"12800MB/s\"", "4 x Data_Cache_DRAM_Data_Rate x Data_Cache_DRAM_Data_Busrt_Size"),
        ("over-provisioning = \"7%\"", "Overprovisioning_Ratio"),
        ("unmapped-reads = \"flash-read\"", "MQSim reads pages that were never written from flash"),
        ("cmt = \"2MiB\"", "CMT_Capacity"),
        ("threshold = 100", "Static_Wearleveling_Threshold"),
    ] {
        let line = toml.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("{key}: {toml}"));
        assert!(line.ends_with(&format!("# {value}")), "{line}");
    }
    assert_eq!(table["ftl"]["placement"]["order"].as_str(), Some("channel-chip-die-plane"));
    // Every parameter is converted, is approximated or has no counterpart; the notes are also in the file.
    let notes = said(&output);
    for name in CONFIG.lines().filter_map(|line| line.strip_prefix('<')?.split_once("</")?.0.split_once('>')) {
        let (name, _) = name;
        let origin = toml.lines().filter(|line| line.contains("  # ")).any(|line| line.contains(name));
        let is_word = |line: &&str| line.split([' ', ':']).any(|word| word == name);
        let noted = notes.lines().filter(is_word).count();
        // These parameters choose among others, and have no value of their own in the device file.
        let chooses = ["HostInterface_Type", "Memory_Type", "Static_Wearleveling_Enabled"].contains(&name);
        assert!(origin || noted > 0 || chooses, "{name}: {notes}");
        assert!(noted <= 1, "{name} has {noted} notes");
    }
    for line in notes.lines() {
        let note = line.strip_prefix("note: ssdconfig.xml: ").unwrap_or_else(|| panic!("{line}"));
        assert!(note.contains(" is approximated: ") || note.contains(" has no counterpart: "), "{line}");
        assert!(toml.lines().any(|other| other == format!("# {note}")), "{line}");
    }
    assert!(notes.contains("CMD_Suspension_Support has no counterpart: MQSim never suspends"), "{notes}");
    assert!(!toml.contains("suspend ="), "{toml}");
}

#[test]
fn a_drive_that_does_what_controllers_do_suspends_with_the_times_of_mqsim() {
    let place = place();
    let convert = |text: &str| {
        place.write("other.xml", text);
        let toml = place.printed(&["convert-mqsim", "other.xml", "--as-controllers-do"]);
        let sheet = checked(&place, &toml);
        let table: toml::Table = toml.parse().expect("TOML");
        (table["flash"].get("suspend").cloned(), sheet)
    };
    let rules = |text: &str| Some(format!("x = {{ {text} }}").parse::<toml::Table>().expect("TOML")["x"].clone());
    let [both, none, programs] =
        ["PROGRAM_ERASE", "NONE", "PROGRAM"].map(|value| with(CONFIG, "CMD_Suspension_Support", value));
    let erases = "operations = 'erases', reads = 'all', writes = true, erase-time = '700us', threshold = '700us'";
    let (suspend, sheet) = convert(CONFIG);
    assert_eq!(suspend, rules(erases));
    assert!(sheet.contains("suspension  erases for all reads, erases for host writes, too"), "{sheet}");
    let times = "program-time = '100us', erase-time = '700us', threshold = '100us'";
    assert_eq!(convert(&both).0, rules(&format!("operations = 'both', reads = 'all', writes = true, {times}")));
    let times = "program-time = '100us', threshold = '100us'";
    assert_eq!(convert(&programs).0, rules(&format!("operations = 'programs', reads = 'all', {times}")));
    let misspelt = CONFIG.replace("Preferred_suspend_erase_time_for_read", "Prefered_suspend_erase_time_for_read");
    let misspelt = with(&misspelt, "Prefered_suspend_erase_time_for_read", "200000");
    assert_eq!(convert(&misspelt).0, rules(&erases.replace("threshold = '700us'", "threshold = '200us'")));
    for without in [&none, &with(CONFIG, "Preemptible_GC_Enabled", "false")] {
        assert_eq!(convert(without).0, None);
    }
}

#[test]
fn values_that_differ_are_other_values_of_the_drive() {
    let place = place();
    let base = place.printed(&["convert-mqsim", "ssdconfig.xml"]);
    for (name, value, wanted) in [
        ("HostInterface_Type", "SATA", "overhead = \"400us\", duplex = \"half\""),
        ("Ideal_Mapping_Table", "true", "kind = \"ram\""),
        ("Data_Cache_Capacity", "0", "Data_Cache_Capacity has no counterpart: no cache"),
        ("Plane_Allocation_Scheme", "PDWC", "order = \"plane-die-chip-channel\""),
        ("Plane_Allocation_Scheme", "F", "policy = \"least-loaded\""),
        ("Preemptible_GC_Enabled", "false", "commands = \"collection-first\""),
        ("GC_Block_Selection_Policy", "FIFO", "policy = \"fifo\""),
        ("GC_Block_Selection_Policy", "RANDOM_PP", "policy = \"random\""),
        ("Use_Copyback_for_GC", "true", "copy-back = true"),
        ("Static_Wearleveling_Enabled", "false", "Static_Wearleveling_Enabled is false"),
        ("Address_Mapping", "HYBRID", "HYBRID has no implementation in MQSim"),
        ("Flash_Technology", "SLC", "SLC flash has no such pages"),
        ("Flash_Technology", "slc", "cell = \"slc\""),
        ("Page_Program_Latency_MSB", "1500000", "program = [\"750us\", \"1500us\"]"),
        ("Plane_No_Per_Die", "1", "planes = 2 "),
        ("Die_No_Per_Chip", "1", "dies = 1                                    # Die_No_Per_Chip\n"),
        ("Plane_Allocation_Scheme", "DCWP", "the dies of a chip are planes of one die here"),
        ("Channel_Transfer_Rate", "800", "lane-rate = \"1000MB/s\""),
        ("Channel_Transfer_Rate", "1200", "above 1000 MT/s it takes no time there"),
        ("GC_Exec_Threshold", "0.001", "start = 9 "),
        ("Transaction_Scheduling_Policy", "FLIN", "transactions are not ordered by fairness"),
        ("Overprovisioning_Ratio", "0.127", "over-provisioning = \"12.7%\""),
    ] {
        place.write("other.xml", with(CONFIG, name, value));
        let toml = place.printed(&["convert-mqsim", "other.xml"]);
        assert!(toml.contains(wanted) && !base.contains(wanted), "{name} {value}: {toml}");
        checked(&place, &toml);
    }
    // Three pages of a word line: 256 pages would end inside of one.
    let tlc = with(
        &with(&with(CONFIG, "Flash_Technology", "TLC"), "Page_Read_Latency_CSB", "80000"),
        "Page_Program_Latency_CSB",
        "1",
    );
    place.write("tlc.xml", tlc);
    let toml = place.printed(&["convert-mqsim", "tlc.xml"]);
    assert!(toml.contains("pages_per_block = 255") && toml.contains("read = [\"75us\", \"80us\", \"75us\"]"), "{toml}");
    checked(&place, &toml);
}

#[test]
fn bad_files_are_refused_with_their_lines() {
    let place = place();
    let without = CONFIG.replace("<Page_Capacity>8192</Page_Capacity>\n", "<Page_Capcity>8192</Page_Capcity>\n");
    for (text, wanted) in [
        (
            CONFIG.replace("</Device_Parameter_Set>", ""),
            "a.xml:1: is not XML: the root node was opened but never closed",
        ),
        ("mine".to_owned(), "a.xml:1: is not XML: "),
        (FLOWS.to_owned(), "a.xml:2: the file is a <MQSim_IO_Scenarios>, not a <Execution_Parameter_Set>"),
        (without, "a.xml:49: <Flash_Parameter_Set> has no Page_Capacity; did you mean `Page_Capcity`? add it, e.g. "),
        (with(CONFIG, "Flash_Channel_Count", "eight"), "a.xml:44: Flash_Channel_Count: `eight` is not a whole number"),
        (
            with(CONFIG, "Flash_Channel_Count", "0"),
            "a.xml:44: Flash_Channel_Count: `0` is not a whole number above zero",
        ),
        (with(CONFIG, "Flash_Technology", "XLC"), "a.xml:50: Flash_Technology: `XLC` is unknown; did you mean"),
        (with(CONFIG, "Plane_Allocation_Scheme", "CWDD"), "`CWDD` is unknown; write the letters C, W, D and P"),
        (with(CONFIG, "Overprovisioning_Ratio", "1.5"), "a.xml:32: Overprovisioning_Ratio: 1.5 leaves nothing"),
        (with(CONFIG, "Overprovisioning_Ratio", "-1"), "Overprovisioning_Ratio: `-1` is not a number"),
        (
            with(CONFIG, "Overprovisioning_Ratio", "0.001"),
            "a.xml:32: Overprovisioning_Ratio: ftl.over-provisioning: a capacity of",
        ),
        (with(CONFIG, "Block_Erase_Latency", "99999999999999999999"), "is not a whole number"),
        (
            with(CONFIG, "Block_Erase_Latency", "9999999999999999999"),
            "a.xml:58: Block_Erase_Latency: flash.custom-part.timing.erase: ",
        ),
    ] {
        place.write("a.xml", &text);
        let output = place.flashloom(&["convert-mqsim", "a.xml"]);
        let said = said(&output);
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{said}");
        assert!(said.contains(wanted), "{wanted}: {said}");
        assert!(said.lines().count() <= 2, "{said}");
    }
    // All faults are reported at once.
    place.write(
        "a.xml",
        with(&with(CONFIG, "Seed", "1"), "Channel_Transfer_Rate", "x")
            .replace("<Flash_Technology>MLC", "<Flash_Technology>ULC"),
    );
    let said = said(&place.flashloom(&["convert-mqsim", "a.xml"]));
    assert!(said.contains("a.xml:46: Channel_Transfer_Rate") && said.contains("a.xml:50: Flash_Technology"), "{said}");
    let output = place.flashloom(&["convert-mqsim", "none.xml"]);
    assert!(
        output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("there is no such file")
    );
    let output = place.flashloom(&["convert-mqsim", "ssdconfig.xml", "workload.xml"]);
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("--out"));
}

#[test]
fn flows_are_workload_files_and_scenarios_are_commands_that_run() {
    let place = place();
    // A drive small enough for a test.
    place.write("small.xml", with(&with(CONFIG, "Block_No_Per_Plane", "64"), "Overprovisioning_Ratio", "0.2"));
    std::fs::create_dir(place.path("traces")).expect("made");
    place.write("traces/t.trace", "0 0 0 8 1\n1000 0 64 8 0\n");
    let output = place.flashloom(&["convert-mqsim", "small.xml", "workload.xml", "--out", "mq"]);
    assert!(output.status.success(), "{}", said(&output));
    let commands = String::from_utf8(output.stdout.clone()).expect("text");
    assert_eq!(
        commands,
        "flashloom run mq/device.toml mq/scenario-1-flow-1.toml --flow mq/scenario-1-flow-2.toml,queue=1 --precondition \
         preload:64KiB:12124MiB\n\
         flashloom run mq/device.toml traces/t.trace --format mqsim --time-unit ns --volumes overlay --extent wrap --repeat 2 \
         --precondition \
         preload:64KiB:9175MiB\n"
    );
    // The second flow has half of each plane of four channels out of eight, so its part is a quarter of the drive, of which 70 %
    // are written before. The only flow of the second scenario has the whole drive, of which 70 % are written.
    let capacity = place.json(&["check", "mq/device.toml", "--json"])[0]["capacity_bytes"].as_u64().expect("a number");
    assert_eq!([925, 700].map(|thousandths| (capacity * thousandths / 1000) >> 20), [12124, 9175]);
    assert_eq!(testkit::names(&place.path("mq")), ["device.toml", "scenario-1-flow-1.toml", "scenario-1-flow-2.toml"]);
    let device: toml::Table = place.read("mq/device.toml").parse().expect("TOML");
    let queues = device["host"]["queue"].as_array().expect("queues");
    let value = |text: &str| text.parse::<toml::Table>().expect("TOML")["x"].clone();
    assert_eq!(device["host"]["queue-depth"].as_integer(), Some(1024));
    assert_eq!(queues[0], value("x = { depth = 512, weight = 4 }"));
    assert_eq!(queues[1], value("x = { depth = 512, weight = 1, channels = [4, 5, 6, 7] }"));
    let first: toml::Table = place.read("mq/scenario-1-flow-1.toml").parse().expect("TOML");
    assert_eq!(first["requests"].as_integer(), Some(3000));
    assert_eq!(first["arrivals"], value("x = { kind = \"closed\", depth = 2 }"));
    let stream = value(
        "x = { reads = \"100%\", align = \"8KiB\", sizes = [{ size = \"4KiB\" }], region = { size = \"63.75%\" }, \
         address = { pattern = \"uniform\" } }",
    );
    assert_eq!(first["stream"][0], stream);
    let second: toml::Table = place.read("mq/scenario-1-flow-2.toml").parse().expect("TOML");
    // 104,857,600 bytes a second in requests of 16 KiB.
    assert_eq!(second["arrivals"], value("x = { kind = \"poisson\", rate = \"6400/s\" }"));
    let stream = value(
        "x = { reads = \"0%\", align = \"8KiB\", sizes = [{ size = \"8KiB..24KiB\" }], \
         region = { start = \"75%\", size = \"12.5%\" }, \
         address = { pattern = \"hot-cold\", hot_space = \"20%\", hot_access = \"80%\" } }",
    );
    assert_eq!(second["stream"][0], stream);
    for command in commands.lines() {
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        let result: Value = place.json(&[&arguments[..], &["--json", "--limit", "500"]].concat());
        assert!(!result.is_null(), "{command}");
    }
    // Without preconditioning MQSim reads unwritten data from flash, and so does the converted drive: 75 us for the array.
    let small = with(&with(CONFIG, "Block_No_Per_Plane", "64"), "Overprovisioning_Ratio", "0.2");
    place.write("new.xml", with(&small, "Enabled_Preconditioning", "false"));
    let commands = place.printed(&["convert-mqsim", "new.xml", "workload.xml", "--out", "mq"]);
    assert!(!commands.contains("--precondition"), "{commands}");
    for command in commands.lines() {
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        let result: Value = place.json(&[&arguments[..], &["--json", "--quiet", "--limit", "500"]].concat());
        let least = result["kinds"]["read"]["latency_us"]["min"].as_f64().expect("there are reads");
        assert!(least > 75.0 && result["unmapped_slots"].as_u64() > Some(0), "{command}: {least}");
    }
    // The folder is replaced like that of any result.
    place.printed(&["convert-mqsim", "small.xml", "--out", "mq"]);
    assert_eq!(testkit::names(&place.path("mq")), ["device.toml"]);
    for (name, value, wanted) in [
        ("Address_Distribution", "RANDOM", "workload.xml:15: Address_Distribution: `RANDOM` is unknown"),
        ("Read_Percentage", "101", "workload.xml:14: Read_Percentage: `101` is not a percentage"),
        ("Total_Requests_To_Generate", "0", "workload.xml:25: Stop_Time: the flow never ends"),
        ("Channel_IDs", "0;1", "workload.xml:7: Channel_IDs: `0;1` is not a list"),
        ("Channel_IDs", "0,8", "workload.xml:7: Channel_IDs: 8 is beyond Flash_Channel_Count, 8: the last is 7"),
    ] {
        place.write("workload.xml", with(FLOWS, name, value));
        let output = place.flashloom(&["convert-mqsim", "small.xml", "workload.xml", "--out", "bad"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{wanted}: {said}");
        assert!(!place.path("bad").exists());
    }
}

#[test]
fn what_mqsim_reads_is_read() {
    let place = place();
    // A closing tag of another name, and an unknown parameter in the place of one with a default.
    let odd = FLOWS
        .replacen("</Relay_Count>", "</Relay_Cuont>", 1)
        .replace("<Percentage_To_Be_Executed>", "<Percentage_To_Be_Execufted>");
    place.write("odd.xml", odd);
    let output = place.flashloom(&["convert-mqsim", "ssdconfig.xml", "odd.xml", "--out", "odd"]);
    let notes = said(&output);
    assert!(output.status.success(), "{notes}");
    for wanted in [
        "Percentage_To_Be_Executed is approximated: it is missing, and 100 is what MQSim takes then",
        "Percentage_To_Be_Execufted has no counterpart: Flashloom does not know this parameter",
    ] {
        assert!(notes.contains(wanted), "{wanted}: {notes}");
    }
    let sound = place.printed(&["convert-mqsim", "ssdconfig.xml", "workload.xml", "--out", "odd", "--force"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), sound);
}

#[test]
fn an_urgent_flow_is_an_urgent_queue() {
    let place = place();
    let queues = |flows: String| {
        place.write("urgent.xml", flows);
        place.printed(&["convert-mqsim", "ssdconfig.xml", "urgent.xml", "--out", "mq", "--force"]);
        let device: toml::Table = place.read("mq/device.toml").parse().expect("TOML");
        checked(&place, &place.read("mq/device.toml"));
        let queues = device["host"]["queue"].as_array().expect("queues").clone();
        queues.into_iter().map(|queue| (queue.get("urgent").cloned(), queue.get("weight").cloned())).collect::<Vec<_>>()
    };
    let urgent = FLOWS.replace(">HIGH<", ">URGENT<");
    assert_eq!(queues(urgent.clone()), [(Some(true.into()), None), (None, None)]);
    assert_eq!(queues(urgent.replace(">LOW<", ">URGENT<")), [(None, None), (None, None)], "no queue is before another");
}

#[test]
fn a_drive_has_the_channels_that_its_flows_use() {
    let place = place();
    let one = with(FLOWS, "Channel_IDs", "0,1,2,3");
    let one = one.replace("<Channel_IDs>0,1,2,3,4,5,6,7</Channel_IDs>", "<Channel_IDs>2,3</Channel_IDs>");
    place.write("some.xml", one.replace("<Channel_IDs>4,5,6,7</Channel_IDs>", "<Channel_IDs>3,5</Channel_IDs>"));
    place.printed(&["convert-mqsim", "ssdconfig.xml", "some.xml", "--out", "mq"]);
    let device: toml::Table = place.read("mq/device.toml").parse().expect("TOML");
    // The flows use channels 0, 1, 2, 3 and 5 of the eight.
    assert_eq!(device["flash"]["channels"].as_integer(), Some(5));
    let text = place.read("mq/device.toml");
    assert!(text.contains("# Flash_Channel_Count, of which the flows use so many"), "{text}");
    let queues = device["host"]["queue"].as_array().expect("queues");
    let channels = |queue: &toml::Value| {
        queue["channels"].as_array().map(|all| all.iter().filter_map(toml::Value::as_integer).collect::<Vec<_>>())
    };
    assert_eq!([channels(&queues[0]), channels(&queues[1])], [Some(vec![0, 1, 2, 3]), Some(vec![3, 4])]);
}

#[test]
fn a_drive_can_do_what_a_controller_does() {
    let place = place();
    let toml = place.printed(&["convert-mqsim", "ssdconfig.xml", "--as-controllers-do"]);
    let sheet = checked(&place, &toml);
    for wanted in ["8 channels x 4 chips x 2 dies = 64 dies", "2 planes x 2048 blocks", "256MiB, volatile"] {
        assert!(sheet.contains(wanted), "{wanted}: {sheet}");
    }
    for wanted in ["multi_plane = true", "bus = \"read-first\"", "start = 102", "lane-rate = \"333MB/s\""] {
        assert!(toml.contains(wanted), "{wanted}: {toml}");
    }
}
