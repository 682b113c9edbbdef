//! The examples run and pass their own checks.

#[path = "../examples/embed.rs"]
#[allow(unreachable_pub)] // A program of its own elsewhere.
mod embed;
#[path = "../examples/own_ftl.rs"]
#[allow(unreachable_pub)]
mod own_ftl;
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

#[test]
fn the_example_own_ftl_runs_and_loses_nothing() {
    own_ftl::main().expect("it runs");
}

#[test]
fn the_example_own_study_runs() {
    own_study::main().expect("it runs");
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
        let writes = flashloom::Workload::find("zipf-write-4k").expect("built in");
        let flow = session.open(&writes, &flashloom::TraceOptions::default()).expect("it opens");
        session.flow(flow).run().expect("it runs").first().event_hash()
    };
    let greedy = flashloom::Device::open_with("demo", &settings[..4]).expect("a drive");
    assert_ne!(run(&device), run(&greedy), "it chooses other victims than greedy");
    let text = device.config().to_string();
    assert!(text.contains("version = \"1\""), "the version is in the key of each result: {text}");
}
