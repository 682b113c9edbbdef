//! Runs a bare event loop in slices. For each line on stdin, which is a number of requests, it runs that number and
//! prints its processor time and wall-clock time in seconds, the simulated rate, and per request the programs of the
//! flash (or the loads of translation pages) and the events.

use std::io::{self, BufRead, Write};

use floor::agenda::{Agenda, Heap, Rings};
use floor::buffered::{self, BufferedWrites};
use floor::clock::{Cost, timed};
use floor::mapped::{self, MappedReads};
use floor::reads::{self, Reads};
use floor::writes::{self, Writes};

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("heap") => serve_reads::<Heap<_>>(),
        Some("rings") => serve_reads::<Rings<3>>(),
        Some("heap-mapped") => serve_mapped::<Heap<_>>(),
        Some("ring-mapped") => serve_mapped::<Rings<5>>(),
        Some("heap-buffered") => serve_buffered::<Heap<_>>(),
        Some("heap-writes") => serve_writes::<Heap<_>>(),
        Some("ring-writes") => serve_writes::<Rings<5>>(),
        _ => {
            eprintln!(
                "usage: floor heap|rings|heap-mapped|ring-mapped|heap-buffered|heap-writes|ring-writes, with numbers of requests on stdin"
            );
            std::process::exit(2);
        }
    }
}

fn serve_reads<A: Agenda<reads::ReadStep>>() -> io::Result<()> {
    let mut reads = Reads::<A>::new();
    serve(|requests| {
        let ((), cost) = timed(|| reads.run(requests));
        (cost, reads.simulated_rate(), [0.0; 2])
    })
}

fn serve_mapped<A: Agenda<mapped::MapStep>>() -> io::Result<()> {
    let mut reads = MappedReads::<A>::new();
    serve(|requests| {
        let ((), cost) = timed(|| reads.run(requests));
        (cost, reads.simulated_rate(), reads.per_read())
    })
}

fn serve_buffered<A: Agenda<buffered::BufferStep>>() -> io::Result<()> {
    let mut writes = BufferedWrites::<A>::new();
    serve(|requests| {
        let ((), cost) = timed(|| writes.run(requests));
        (cost, writes.simulated_rate(), writes.per_write())
    })
}

fn serve_writes<A: Agenda<writes::WriteStep>>() -> io::Result<()> {
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
        let (cost, rate, [commands, events]) = slice(requests);
        writeln!(out, "{} {} {rate} {commands} {events}", cost.cpu, cost.wall)?;
        out.flush()?;
    }
    Ok(())
}
