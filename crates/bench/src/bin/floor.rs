//! Runs a bare event loop in slices. For each line on stdin, which is a number of requests, it runs that number and
//! prints its processor time and wall-clock time in seconds, the simulated rate, and per request the programs of the
//! flash (or the loads of translation pages) and the events.

use std::io::{self, BufRead, Write};

use floor::agenda::{Agenda, Heap, Rings};
use floor::buffered::BufferedWrites;
use floor::clock::timed;
use floor::mapped::MappedReads;
use floor::reads::Reads;
use floor::simulator::{Firmware, Simulator};
use floor::writes::Writes;

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("heap") => serve::<Heap, Reads>(),
        Some("rings") => serve::<Rings<3>, Reads>(),
        Some("heap-mapped") => serve::<Heap, MappedReads>(),
        Some("ring-mapped") => serve::<Rings<5>, MappedReads>(),
        Some("heap-buffered") => serve::<Heap, BufferedWrites>(),
        Some("heap-writes") => serve::<Heap, Writes>(),
        Some("ring-writes") => serve::<Rings<5>, Writes>(),
        _ => {
            eprintln!(
                "usage: floor heap|rings|heap-mapped|ring-mapped|heap-buffered|heap-writes|ring-writes, with numbers of requests on stdin"
            );
            std::process::exit(2);
        }
    }
}

/// Runs the slices that stdin asks for.
fn serve<A: Agenda, F: Firmware>() -> io::Result<()> {
    let mut simulator = Simulator::<A, F>::new();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let requests = line?.trim().parse().map_err(io::Error::other)?;
        let ((), cost) = timed(|| simulator.run(requests));
        let [commands, events] = simulator.per_request();
        writeln!(out, "{} {} {} {commands} {events}", cost.cpu, cost.wall, simulator.simulated_rate())?;
        out.flush()?;
    }
    Ok(())
}
