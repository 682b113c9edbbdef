//! Runs a bare event loop, `heap` or `rings`, in slices: for each line with a number of requests on stdin it runs
//! that many, and answers with its processor time and its wall-clock time in seconds, and the simulated rate.

use std::io::{self, BufRead, Write};

use floor::agenda::{Agenda, Heap, Rings};
use floor::clock::timed;
use floor::reads::Reads;

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("heap") => serve(Reads::<Heap>::new()),
        Some("rings") => serve(Reads::<Rings>::new()),
        _ => {
            eprintln!("usage: floor heap|rings, with numbers of requests on stdin");
            std::process::exit(2);
        }
    }
}

fn serve<A: Agenda>(mut reads: Reads<A>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let requests = line?.trim().parse().map_err(io::Error::other)?;
        let ((), cost) = timed(|| reads.run(requests));
        writeln!(out, "{} {} {}", cost.cpu, cost.wall, reads.simulated_rate())?;
        out.flush()?;
    }
    Ok(())
}
