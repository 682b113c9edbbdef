//! The status as a table.

use std::fmt;

use base::units::{Bytes, Span};

use super::{DriveStatus, KindStatus, LagStatus, Latency, Power, RaidStatus, Status, TranslationStatus, VerifyStatus};

/// Microseconds, with one decimal below 100 us.
fn time(us: f64) -> String {
    if us < 100.0 { format!("{us:.1} us") } else { format!("{us:.0} us") }
}

fn seconds(s: f64) -> String {
    let shown = Span::from_secs_f64(s);
    shown.to_string()
}

fn per_cent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn amplification(of: Option<f64>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| format!("{of:.3}"))
}

fn raid_lines(raid: &RaidStatus) -> Vec<(&'static str, String)> {
    let of = format!("{} of {} drives in all, {} failed", raid.level, raid.drives.len(), raid.failed);
    let mut lines = vec![("raid", of)];
    lines.push((
        "",
        format!("bytes of drives per byte of clients: {} written", amplification(raid.write_amplification)),
    ));
    for (number, share) in (0..).zip(&raid.drives).filter_map(|(number, drive)| Some((number, drive.rebuilt?))) {
        lines.push(("", format!("drive {number} is being rebuilt: {}", per_cent(share))));
    }
    if let Some(share) = raid.repaired {
        lines.push(("", format!("parity and mirrors are being repaired: {}", per_cent(share))));
    }
    if raid.empty_places > 0 {
        lines.push(("", format!("{} places in the stripes have no drive", raid.empty_places)));
    }
    if raid.lost_chunks > 0 {
        lines.push(("", format!("{} chunks could not be rebuilt", raid.lost_chunks)));
    }
    lines
}

/// The lines on a translation over zones, each with its name.
fn translation_lines(of: &TranslationStatus) -> Vec<(&'static str, String)> {
    let (own, below) = (amplification(of.write_amplification), amplification(of.drive_write_amplification));
    let failed = if of.failed_zones > 0 { format!(", {} failed", of.failed_zones) } else { String::new() };
    let mut lines = vec![
        ("translation", format!("write amplification {own} of the host, {below} of the drive")),
        ("zones", format!("{} of {} free, {} collected{failed}", of.free_zones, of.zones, of.collected_zones)),
    ];
    if of.stalled_writes > 0 {
        lines.push(("", format!("{} writes have waited for a zone", of.stalled_writes)));
    }
    if of.mounting {
        lines.push(("", "the map is being read from the zones; requests wait".to_owned()));
    }
    lines
}

/// A sentence broken into lines that leave room for the name of a value.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        match last.len() + word.len() {
            _ if last.is_empty() => last.push_str(word),
            ..59 => last.extend([" ", word]),
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_state(f)?;
        self.write_damage(f)?;
        line(f, "events", format!("{}, hash {}", self.events, self.event_hash))?;
        writeln!(f)?;
        self.write_requests(f)?;
        self.raid.as_ref().map_or(Ok(()), |raid| write_drives(f, raid))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: String) -> fmt::Result {
    writeln!(f, "{name:<20} {value}")
}

impl Status {
    /// The lines on power, time, load and blocks.
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, "device", format!("{}, {}", self.device, Bytes::new(self.capacity_bytes)))?;
        let power = match self.power {
            Power::On => "on",
            Power::Off => "off",
        };
        let cuts = if self.power_cuts == 1 { "1 cut".to_owned() } else { format!("{} cuts", self.power_cuts) };
        let recovery = self.last_recovery_s.map(|s| format!(", last recovery {}", seconds(s))).unwrap_or_default();
        line(f, "power", format!("{power}, {cuts}{recovery}"))?;
        if self.lost_writes {
            line(f, "", "writes were lost: flushes fail until power-off".to_owned())?;
        }
        line(f, "pace", self.pace.clone())?;
        line(f, "time", format!("{:.1} s up, {:.6} s simulated", self.uptime_s, self.simulated_s))?;
        let rate = format!("{:.0}/s, {} in the last second", self.requests_per_s, self.requests_in_second);
        line(f, "requests", format!("{rate}, {} outstanding", self.outstanding))?;
        match &self.lag {
            None => line(f, "lag", "none: no answer had a time".to_owned())?,
            Some(LagStatus { times, late_share, .. }) => {
                let Latency { mean_us, p99_us, max_us, .. } = *times;
                let times = format!("mean {}, p99 {}, worst {}", time(mean_us), time(p99_us), time(max_us));
                line(f, "lag", times)?;
                line(f, "", format!("{:.2} % of the answers late by over 5 % of their latency", late_share * 100.0))?;
            }
        }
        line(f, "write amplification", amplification(self.write_amplification))?;
        let read_only = if self.read_only { ", takes no more writes" } else { "" };
        line(f, "blocks", format!("{} free, {} bad{read_only}", self.free_blocks, self.bad_blocks))?;
        let layers = self.raid.iter().flat_map(raid_lines);
        for (name, text) in layers.chain(self.translation.iter().flat_map(translation_lines)) {
            line(f, name, text)?;
        }
        Ok(())
    }

    /// The lines on failures, wrong content and planned faults, each only if there are any.
    fn write_damage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.uncorrectable_requests > 0 {
            line(f, "uncorrectable", format!("{} requests failed", self.uncorrectable_requests))?;
        }
        if self.refused_requests > 0 {
            line(f, "refused", format!("{} requests, because the drive was read-only", self.refused_requests))?;
        }
        if let Some(reads @ 1..) = self.damaged_reads {
            line(f, "damaged files", format!("{reads} reads found other data than was written"))?;
        }
        if let Some(VerifyStatus { reads, sectors, adopted, unreadable, violations, first_violations, .. }) =
            &self.verify
        {
            line(f, "verified", format!("{sectors} sectors in {reads} reads, {adopted} believed"))?;
            if *unreadable > 0 {
                line(f, "", format!("{unreadable} sectors cannot be read"))?;
            }
            if *violations > 0 {
                line(f, "", format!("broken promises for {violations} sectors"))?;
                first_violations.iter().flat_map(|text| wrapped(text)).try_for_each(|text| line(f, "", text))?;
            }
        }
        if self.planned_faults > 0 {
            line(f, "planned faults", self.planned_faults.to_string())?;
        }
        Ok(())
    }

    /// The table of requests by their kind.
    fn write_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<13} {:>10} {:>8} {:>11} {:>10} {:>10} {:>10}",
            "", "done", "failed", "bytes", "mean", "p99", "max"
        )?;
        for KindStatus { kind, done, failed, bytes, latency } in &self.requests {
            let at = |pick: fn(&Latency) -> f64| latency.as_ref().map_or_else(|| "-".to_owned(), |of| time(pick(of)));
            let bytes = if *bytes == 0 { "-".to_owned() } else { Bytes::new(*bytes).to_string() };
            let (mean, p99, max) = (at(|of| of.mean_us), at(|of| of.p99_us), at(|of| of.max_us));
            writeln!(f, "{kind:<13} {done:>10} {failed:>8} {bytes:>11} {mean:>10} {p99:>10} {max:>10}")?;
        }
        Ok(())
    }
}

/// The table of the drives of a RAID.
fn write_drives(f: &mut fmt::Formatter<'_>, raid: &RaidStatus) -> fmt::Result {
    writeln!(
        f,
        "\n{:<13} {:>10} {:>12} {:>12} {:>8} {:>11} {:>7}",
        "", "requests", "read", "written", "waf", "free blocks", "bad"
    )?;
    for (number, drive) in raid.drives.iter().enumerate() {
        let DriveStatus { state, requests, write_amplification, free_blocks, bad_blocks, .. } = drive;
        let (read, written) = (Bytes::new(drive.read_bytes).to_string(), Bytes::new(drive.written_bytes).to_string());
        let (name, waf) = (format!("{number} {}", state.name()), amplification(*write_amplification));
        writeln!(f, "{name:<13} {requests:>10} {read:>12} {written:>12} {waf:>8} {free_blocks:>11} {bad_blocks:>7}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::DriveState;
    use super::*;

    #[test]
    fn the_table_fits_into_eighty_columns() {
        let times = Latency { mean_us: 81.25, p50_us: 80.0, p99_us: 1234.5, p99_9_us: 99_999.0, max_us: 12_345_678.0 };
        let kind = |kind: &str| KindStatus {
            kind: kind.to_owned(),
            done: 123_456_789,
            failed: 12,
            bytes: 505_678_512_128,
            latency: Some(times),
        };
        let drive = |state, rebuilt| DriveStatus {
            state,
            rebuilt,
            requests: 123_456_789,
            read_bytes: 505_678_512_128,
            written_bytes: 505_678_512_128,
            write_amplification: Some(12.345),
            free_blocks: 123_456,
            bad_blocks: 1234,
        };
        let status = Status {
            schema: super::super::SCHEMA.to_owned(),
            device: "demo".to_owned(),
            capacity_bytes: 1 << 30,
            power: Power::On,
            pace: "0.1".to_owned(),
            uptime_s: 123_456.7,
            simulated_s: 12_345.67,
            outstanding: 128,
            requests_in_second: 60_000,
            requests_per_s: 59_876.5,
            requests: vec![kind("read"), kind("write-zeroes")],
            lag: Some(LagStatus { answers: 7, times, late_share: 0.0125 }),
            write_amplification: Some(1.25),
            free_blocks: 1234,
            bad_blocks: 1,
            uncorrectable_requests: 12,
            refused_requests: 34,
            read_only: true,
            damaged_reads: Some(2),
            verify: Some(VerifyStatus {
                reads: 123_456_789,
                sectors: 987_654_321,
                adopted: 123_456_789,
                unreadable: 8,
                violations: 4,
                first_violations: vec!["word ".repeat(30)],
                ..VerifyStatus::default()
            }),
            raid: Some(RaidStatus {
                level: "raid5".to_owned(),
                write_amplification: Some(2.5),
                failed: 1,
                empty_places: 0,
                repaired: Some(0.5),
                lost_chunks: 2,
                recovered_bytes: 4096,
                drives: vec![drive(DriveState::Failed, None), drive(DriveState::Rebuilt, Some(0.25))],
            }),
            translation: Some(TranslationStatus {
                write_amplification: Some(12.345),
                drive_write_amplification: Some(1.0),
                zones: 12_345,
                free_zones: 12_345,
                failed_zones: 3,
                collected_zones: 123_456,
                stalled_writes: 123_456,
                mounting: true,
            }),
            power_cuts: 1,
            planned_faults: 3,
            last_recovery_s: Some(0.025),
            lost_writes: true,
            events: u64::MAX,
            event_hash: "0123456789abcdef".to_owned(),
        };
        let text = status.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for wanted in [
            "8 sectors cannot be read",
            "broken promises for 4 sectors",
            "1 bad, takes no more writes",
            "12 requests failed",
            "34 requests, because",
            "1 cut, last recovery 25ms",
            "mean 81.2 us, p99 1234 us",
            "1.25 % of the answers late",
            "flushes fail",
            "raid5 of 2 drives in all, 1 failed",
            "drive 1 is being rebuilt: 25 %",
            "repaired: 50 %",
            "12345 of 12345 free, 123456 collected, 3 failed",
            "0 failed       123456789",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let json = serde_json::to_string(&status).expect("numbers and texts");
        assert_eq!(serde_json::from_str::<Status>(&json).expect("the same"), status);
    }
}
