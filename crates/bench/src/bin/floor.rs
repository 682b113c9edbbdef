//! Runs a bare event loop in slices: for each line with a number of requests on stdin it runs that many, and answers with
//! its processor time and its wall-clock time in seconds, the simulated rate, and programs and events for each write.

use std::io::{self, BufRead, Write};

use floor::agenda::{Agenda, Heap, Rings};
use floor::clock::timed;
use floor::{reads, writes};

/// A loop that runs in slices.
trait Slices {
    fn run(&mut self, requests: u64);

    fn simulated_rate(&self) -> f64;

    fn per_write(&self) -> [f64; 2] {
        [0.0; 2]
    }
}

impl<A: Agenda<reads::Step>> Slices for reads::Reads<A> {
    fn run(&mut self, requests: u64) {
        self.run(requests);
    }

    fn simulated_rate(&self) -> f64 {
        self.simulated_rate()
    }
}

impl<A: Agenda<writes::Step>> Slices for writes::Writes<A> {
    fn run(&mut self, requests: u64) {
        self.run(requests);
    }

    fn simulated_rate(&self) -> f64 {
        self.simulated_rate()
    }

    fn per_write(&self) -> [f64; 2] {
        self.per_write()
    }
}

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("heap") => serve(reads::Reads::<Heap<_>>::new()),
        Some("rings") => serve(reads::Reads::<Rings<3>>::new()),
        Some("heap-writes") => serve(writes::Writes::<Heap<_>>::new()),
        Some("ring-writes") => serve(writes::Writes::<Rings<5>>::new()),
        _ => {
            eprintln!("usage: floor heap|rings|heap-writes|ring-writes, with numbers of requests on stdin");
            std::process::exit(2);
        }
    }
}

fn serve(mut loops: impl Slices) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let requests = line?.trim().parse().map_err(io::Error::other)?;
        let ((), cost) = timed(|| loops.run(requests));
        let [programs, events] = loops.per_write();
        writeln!(out, "{} {} {} {programs} {events}", cost.cpu, cost.wall, loops.simulated_rate())?;
        out.flush()?;
    }
    Ok(())
}
