//! A study in Rust: how the capacity that the host sees changes write amplification, one session for each point.
//!
//! `cargo run --example own_study`

use flashloom::{Device, Precondition, Session, Stop, TraceOptions, WarmUp, WorkloadFile};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("   capacity   write amplification   mean latency, us");
    let mut before = 1.0;
    for capacity in ["60MiB", "80MiB", "100MiB"] {
        // ANCHOR: session
        // A drive so small that it reaches its steady state soon.
        let settings = ["flash.blocks=26", "flash.pages=24", &format!("ftl.capacity={capacity}")];
        let device = Device::open_with("demo", settings)?;
        let session = Session::new(&device)
            .precondition(vec![Precondition::Fill, Precondition::RandomOverwrite(1.0)])
            .warm_up(WarmUp::Requests(20_000))
            .stop(Stop::Requests(30_000));
        let writes = session.open(&WorkloadFile::find("random-write-4k")?, &TraceOptions::default())?;
        let outcome = session.flow(writes).run()?;
        // ANCHOR_END: session
        let summary = outcome.first().summary();
        let amplification = summary.write_amplification.ok_or("nothing was written")?;
        println!("{capacity:>11} {amplification:>21.2} {:>18.1}", summary.kinds["write"].latency_us["mean"]);
        assert!(amplification > before, "less spare flash, more to copy");
        before = amplification;
    }
    Ok(())
}
