//! The soak: the swarm over as many seeds as asked.
fn main() {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let swarm = testkit::Swarm { requests: args[0] as u32, cuts: args[1] as u32, faults: args[2] != 0 };
    for seed in args[3]..args[4] {
        eprintln!("seed {seed}");
        println!("{:?}", swarm.run(seed));
    }
}
