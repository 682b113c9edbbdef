//! Runs a bare event loop in slices: for each line with a number of requests on stdin it runs that many, and answers with
//! its processor time and its wall-clock time in seconds, the simulated rate, and programs and events for each write.

use std::io::{self, BufRead, Write};

use floor::agenda::{Agenda, Heap, Rings};
use floor::clock::{Cost, timed};
use floor::reads::{self, Reads};
use floor::writes::{self, Writes};

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("heap") => serve_reads::<Heap<_>>(),
        Some("rings") => serve_reads::<Rings<3>>(),
        Some("heap-writes") => serve_writes::<Heap<_>>(),
        Some("ring-writes") => serve_writes::<Rings<5>>(),
        _ => {
            eprintln!("usage: floor heap|rings|heap-writes|ring-writes, with numbers of requests on stdin");
            std::process::exit(2);
        }
    }
}

fn serve_reads<A: Agenda<reads::Step>>() -> io::Result<()> {
    let mut reads = Reads::<A>::new();
    serve(|requests| {
        let ((), cost) = timed(|| reads.run(requests));
        (cost, reads.simulated_rate(), [0.0; 2])
    })
}

fn serve_writes<A: Agenda<writes::Step>>() -> io::Result<()> {
    let mut writes = Writes::<A>::new();
    serve(|requests| {
        let ((), cost) = timed(|| writes.run(requests));
        (cost, writes.simulated_rate(), writes.per_write())
    })
}

/// Runs the slices that stdin asks for.
fn serve(mut slice: impl FnMut(u64) -> (Cost, f64, [f64; 2])) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let requests = line?.trim().parse().map_err(io::Error::other)?;
        let (cost, rate, [programs, events]) = slice(requests);
        writeln!(out, "{} {} {rate} {programs} {events}", cost.cpu, cost.wall)?;
        out.flush()?;
    }
    Ok(())
}
