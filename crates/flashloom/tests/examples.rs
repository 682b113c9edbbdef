//! The examples run and pass their own checks.

use base::units::{Bytes, Lpn, Psn, Ratio};
use flashloom::ftl::map_unit::{DftlSpec, EvictSpec, MapSpec, OwnMapSpec};
use flashloom::ftl::simple::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleWrite};
use flashloom::ftl::{FtlKind, FtlSpec};
use testkit::conformance::{self, Effort, Trial};

#[path = "../examples/embed.rs"]
#[allow(unreachable_pub)] // A program of its own elsewhere.
mod embed;
#[path = "../examples/own_ftl.rs"]
#[allow(unreachable_pub, dead_code)] // Its `main` reads the arguments of the program.
mod own_ftl;
#[path = "../examples/own_map.rs"]
#[allow(unreachable_pub, dead_code)]
mod own_map;
#[path = "../examples/own_policies.rs"]
#[allow(unreachable_pub, dead_code)] // Its `main` reads the arguments of the program.
mod own_policies;
#[path = "../examples/own_study.rs"]
#[allow(unreachable_pub)]
mod own_study;
#[path = "../examples/own_victim.rs"]
#[allow(unreachable_pub, dead_code)] // Its `main` reads the arguments of the program.
mod own_victim;

#[test]
fn the_example_embed_runs() {
    embed::main().expect("it runs");
}

// ANCHOR: conformance
/// The table `[ftl]` of an FTL of the program, with room for failed blocks.
fn own(name: &str) -> FtlSpec {
    let kind = FtlKind::try_from(format!("own:{name}")).expect("a name");
    FtlSpec { kind, over_provisioning: Some(Ratio::new(0.7)), ..FtlSpec::default() }
}

#[test]
fn the_ftl_of_the_example_passes_the_conformance_suite() {
    own_ftl::register().expect("a new name");
    let settings = conformance::settings_of(&[own("log")]);
    assert!(settings.len() > 20, "{} settings", settings.len());
    let work = conformance::run(&settings, Effort::TEST, 1).unwrap_or_else(|failures| panic!("{}", failures[0]));
    assert!(work.cuts > 1000 && work.failures > 100, "{work:?}");
}
// ANCHOR_END: conformance

/// The table `[ftl]` of a page map behind the map unit of the example, with room for two failed blocks on every device of the suite.
/// The least room is with blocks of 12 pages, of which translation pages take 5 of 8 in two of the four dies. The other two hold
/// 5 superblocks of 24 mapping units each. Less two failed ones and one for overwrites, 168 mapping units are left: 22 % of the drive.
fn behind_learned(error: f64) -> FtlSpec {
    let map = OwnMapSpec { name: "learned".into(), version: None, ram: Bytes::new(512) };
    FtlSpec {
        map: MapSpec::Own(map),
        options: [("error".to_owned(), error)].into(),
        over_provisioning: Some(Ratio::new(0.79)),
        map_unit: Some(Bytes::new(512)),
        ..FtlSpec::default()
    }
}

#[test]
fn the_map_unit_of_the_example_passes_the_conformance_suite() {
    own_map::register().expect("a new name");
    let settings = conformance::settings_of(&[behind_learned(0.0), behind_learned(2.0)]);
    assert!(settings.len() > 20, "{} settings", settings.len());
    let work = conformance::run(&settings, Effort::TEST, 1).unwrap_or_else(|failures| panic!("{}", failures[0]));
    assert!(work.cuts > 1000 && work.failures > 100, "{work:?}");
}

#[test]
fn seeds_that_once_failed_behind_the_map_unit_of_the_example_pass() {
    own_map::register().expect("a new name");
    let settings = conformance::settings_of(&[behind_learned(0.0), behind_learned(2.0)]);
    for (check, name, seed) in [
        // Failed blocks left too little room for the capacity.
        ("erase failures", "page, sample 0, blocks of 12 pages", 29),
        // Reads returned data that had been discarded while it was being written to flash.
        ("integrity", "page, sample 0, buffered", 13),
        ("integrity", "page, sample 1, buffered", 34),
    ] {
        let setting = settings.iter().find(|setting| setting.name == name).expect("a setting");
        let resolved = setting.spec.resolve().expect("every setting is valid");
        let trial = Trial { resolved: &resolved, seed, effort: Effort::TEST };
        let check = conformance::check(check).expect("a check of the suite");
        check.run(name, &trial).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn segments_tell_the_places_of_sequential_data_with_little_ram_and_entries_those_of_random_data() {
    own_map::register().expect("the same version");
    let hits = |ram: u64, address: &str| {
        let device = flashloom::Device::parse(format!(
            r"name = 'own'
flash = {{ part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 64, pages = 64, planes = 1 }}
ftl = {{ over-provisioning = '20%', map = {{ kind = 'own', name = 'learned', ram = '{ram}B' }} }}"
        ));
        let device = device.expect("a drive");
        let session = flashloom::Session::new(&device)
            .precondition(vec![flashloom::Precondition::Fill])
            .verify(true)
            .stop(flashloom::Stop::Requests(20_000));
        let load = format!(
            r"name = 'own'
requests = 20_000
arrivals = {{ kind = 'closed', depth = 8 }}
[[stream]]
reads = '90%'
align = '2KiB'
sizes = [{{ size = '2KiB' }}]
address = {{ pattern = '{address}' }}
"
        );
        let load = flashloom::WorkloadFile::parse(&load).expect("a workload");
        let flow = session.open(&load, &flashloom::TraceOptions::default()).expect("it opens");
        let outcome = session.flow(flow).run().expect("no read is wrong");
        let map = outcome.first().result.counters().map.expect("a map unit");
        map.cmt_hits as f64 / map.questions as f64
    };
    let (sequential, random) = (hits(1024, "sequential"), hits(1024, "uniform"));
    assert!(sequential > 0.7, "{sequential}: a segment tells what a hundred entries tell");
    assert!(random < 0.6, "{random}: random writes leave no lines");
    assert!(hits(256 << 10, "uniform") > random + 0.2, "with more RAM it knows more");
}

/// The FTL of the example with a bug: after a copy its map still has the old place.
#[derive(Clone, Debug)]
struct Forgetful(own_ftl::LogFtl);

impl SimpleFtl for Forgetful {
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        Self(SimpleFtl::mount(drive))
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        self.0.place(lpn)
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        self.0.write(flash, write);
    }

    fn discard(&mut self, _: Lpn) {}

    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: CommandEnd) {
        self.0.done(flash, done);
    }
}

#[test]
fn the_conformance_suite_finds_the_bug_of_an_own_ftl() {
    flashloom::ftl::register_simple_ftl::<Forgetful>("forgetful", "1").expect("a new name");
    let settings = conformance::settings_of(&[own("forgetful")]);
    let failures = conformance::run(&settings[..1], Effort::TEST, 1).expect_err("it forgets discards");
    assert!(failures.iter().any(|failure| failure.check == "integrity"), "{failures:?}");
}

#[test]
fn an_own_ftl_runs_by_its_name_as_the_others_do() {
    const OWN: &str = r"name = 'own'
flash = { part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 24, pages = 32, planes = 1 }
ftl = { kind = 'own:log', over-provisioning = '50%' }";
    let unknown = flashloom::Device::parse(OWN.replace("own:log", "own:lag"));
    let text = unknown.expect_err("nobody has registered it").to_string();
    assert!(text.contains("ftl.kind") && text.contains("no FTL `lag` is registered in this program"), "{text}");
    own_ftl::register().expect("the same version");
    let device = flashloom::Device::parse(OWN).expect("it is known");
    assert!(device.config().to_string().contains("version = \"1\""), "the version is in the key of each result");
    let session = flashloom::Session::new(&device)
        .precondition(vec![flashloom::Precondition::Fill])
        .verify(true)
        .stop(flashloom::Stop::Requests(20_000));
    // The workload has partial writes, too: a page has 2 KiB.
    let writes = r"name = 'mixed'
requests = 20_000
arrivals = { kind = 'closed', depth = 8 }
[[stream]]
reads = '30%'
sizes = [{ size = '1KiB', share = '50%' }, { size = '6KiB', share = '50%' }]
address = { pattern = 'uniform' }
";
    let writes = flashloom::WorkloadFile::parse(writes).expect("a workload");
    let flow = session.open(&writes, &flashloom::TraceOptions::default()).expect("it opens");
    let summary = session.flow(flow).run().expect("no read is wrong").first().summary();
    assert!(summary.write_amplification.is_some_and(|waf| waf > 1.0), "{summary:?}");
}

#[test]
fn keys_of_other_ftls_are_refused_with_an_own_ftl() {
    own_ftl::register().expect("the same version");
    let text = r"name = 'own'
flash = { part = 'K9K8G08U0M', blocks = 24, pages = 32, planes = 1 }
ftl = { kind = 'own:log', over-provisioning = '50%', gc = { start = 7 }, version = '2' }";
    let text = flashloom::Device::parse(text).expect_err("two faults").to_string();
    assert!(text.contains("ftl.options") && text.contains("registered with version \"1\""), "{text}");
    let text = flashloom::Device::open_with("demo", ["ftl.options={a=1}"]).expect_err("not its own").to_string();
    assert!(text.contains("for an FTL or a map unit of the program only"), "{text}");
}

#[test]
fn the_example_own_study_runs() {
    own_study::main().expect("it runs");
}

#[test]
fn the_policies_of_the_example_own_policies_pass_the_conformance_suite() {
    own_policies::register().expect("new names");
    let evict = EvictSpec::Own { name: "clean-first".into(), version: None };
    let map = MapSpec::Dftl(DftlSpec { cmt: Bytes::new(1024), evict, ..DftlSpec::PUBLISHED });
    let ftl: FtlSpec = toml::from_str(
        r"over-provisioning = '80%'
map-unit = '512B'
placement = { policy = 'own', name = 'around' }
gc = { start = 3, stop = 4, pace = { policy = 'own', name = 'polite' } }",
    )
    .expect("a table");
    let settings = conformance::settings_of(&[FtlSpec { map, ..ftl }]);
    conformance::run(&settings, Effort::TEST, 1).unwrap_or_else(|failures| panic!("{}", failures[0]));
}

#[test]
fn the_policy_of_the_example_own_victim_is_known_by_its_name() {
    let settings = [
        "flash.blocks=26",
        "flash.pages=24",
        "ftl.capacity=100MiB",
        "buffer.size=64KiB",
        "ftl.gc.victim={policy='own',name='patient'}",
    ];
    let device = flashloom::Device::open_with("demo", settings);
    assert!(device.is_err_and(|faults| faults.to_string().contains("no victim policy `patient` is registered")));
    own_victim::register().expect("a new name");
    let device = flashloom::Device::open_with("demo", settings).expect("it is known now");
    let run = |device| {
        let session = flashloom::Session::new(device)
            .precondition(vec![flashloom::Precondition::Fill])
            .stop(flashloom::Stop::Requests(30_000));
        let writes = flashloom::WorkloadFile::find("zipf-write-4k").expect("built in");
        let flow = session.open(&writes, &flashloom::TraceOptions::default()).expect("it opens");
        session.flow(flow).run().expect("it runs").first().event_hash()
    };
    let greedy = flashloom::Device::open_with("demo", &settings[..4]).expect("a drive");
    assert_ne!(run(&device), run(&greedy), "it chooses other victims than greedy");
    let text = device.config().to_string();
    assert!(text.contains("version = \"1\""), "the version is in the key of each result: {text}");
}
