use testkit::conformance::{CHECKS, Effort, Trial, settings};
#[test]
fn chang() {
    let filter = std::env::var("SETTING").unwrap_or("Chang".into());
    let only = std::env::var("CHECK").unwrap_or_default();
    let effort = if std::env::var("SOAK").is_ok() { Effort::SOAK } else { Effort::TEST };
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut bad = 0;
    for (i, s) in settings().iter().enumerate() {
        if !s.name.starts_with("Chang") || !s.name.contains(&filter) { continue }
        let resolved = match s.spec.resolve() { Ok(r) => r, Err(f) => { println!("{}: {f:?}", s.name); bad += 1; continue } };
        for c in CHECKS {
            if !c.name.contains(&only) { continue }
            for k in 0..seeds {
            let t = Trial { resolved: &resolved, seed: i as u64 + 1000 * k, effort };
            let start = std::time::Instant::now();
            match c.run(&s.name, &t) { Ok(w) => { if seeds == 1 { println!("ok {} {} {w:?} {:?}", s.name, c.name, start.elapsed()) } }, Err(f) => { bad += 1; println!("FAIL {f}") } }
            }
        }
    }
    assert_eq!(bad, 0);
}
