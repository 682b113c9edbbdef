//! The status in the text format of Prometheus (exposition format, version 0.0.4).

use std::fmt::Write;

use super::{DriveState, DriveStatus, Latency, Power, RaidStatus, Status, TranslationStatus, VerifyStatus};

/// The HTTP content type of the Prometheus text format.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric under construction.
struct Text(String);

impl Text {
    /// Begins a metric: `name` without `flashloom_`, the type `of`, and its meaning `help`.
    fn metric(&mut self, name: &str, of: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP flashloom_{name} {help}\n# TYPE flashloom_{name} {of}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "flashloom_{name}{braces} {value}");
    }

    fn plain(&mut self, name: &str, of: &str, help: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.metric(name, of, help);
            self.sample(name, "", value);
        }
    }

    fn verification(&mut self, verify: &VerifyStatus) {
        for (name, of, help, value) in [
            ("verified_reads_total", "counter", "Reads compared with what clients wrote.", verify.reads),
            ("verified_sectors_total", "counter", "Sectors compared with what clients wrote.", verify.sectors),
            ("violated_sectors_total", "counter", "Sectors for which the drive broke its promises.", verify.violations),
            ("unreadable_sectors", "gauge", "Sectors whose last read failed.", verify.unreadable),
            ("verification_memory_bytes", "gauge", "Memory of the verification.", verify.memory_bytes),
        ] {
            self.plain(name, of, help, Some(value as f64));
        }
    }

    fn raid(&mut self, raid: &RaidStatus) {
        let help = "Bytes written to the drives of the RAID for each that clients wrote.";
        self.plain("raid_write_amplification", "gauge", help, raid.write_amplification);
        let help = "Places in the stripes of the RAID that no drive has.";
        self.plain("raid_empty_places", "gauge", help, Some(f64::from(raid.empty_places)));
        let help = "Share of the stripes whose parity or mirrors are repaired.";
        self.plain("raid_repaired_ratio", "gauge", help, Some(raid.repaired.unwrap_or(1.0)));
        self.metric("raid_drive_failed", "gauge", "1 if the drive of the RAID has failed.");
        self.each_drive("raid_drive_failed", raid, |drive| {
            Some(f64::from(u8::from(drive.state == DriveState::Failed)))
        });
        self.metric("raid_drive_rebuilt_ratio", "gauge", "Share of the stripes that are rebuilt on a spare.");
        self.each_drive("raid_drive_rebuilt_ratio", raid, |drive| drive.rebuilt);
        self.metric("raid_drive_requests_total", "counter", "Requests to the drive.");
        self.each_drive("raid_drive_requests_total", raid, |drive| Some(drive.requests as f64));
        self.metric("raid_drive_read_bytes_total", "counter", "Bytes read from the drive.");
        self.each_drive("raid_drive_read_bytes_total", raid, |drive| Some(drive.read_bytes as f64));
        self.metric("raid_drive_written_bytes_total", "counter", "Bytes written to the drive.");
        self.each_drive("raid_drive_written_bytes_total", raid, |drive| Some(drive.written_bytes as f64));
        self.metric("raid_drive_bad_blocks", "gauge", "Blocks retired on the drive.");
        self.each_drive("raid_drive_bad_blocks", raid, |drive| Some(drive.bad_blocks as f64));
    }

    fn each_drive(&mut self, name: &str, raid: &RaidStatus, value: impl Fn(&DriveStatus) -> Option<f64>) {
        for (number, drive) in raid.drives.iter().enumerate() {
            if let Some(value) = value(drive) {
                self.sample(name, &format!("drive=\"{number}\""), value);
            }
        }
    }

    fn translation(&mut self, of: &TranslationStatus) {
        let help = "Mapping units written to zones for each that clients wrote.";
        self.plain("translation_write_amplification", "gauge", help, of.write_amplification);
        let help = "Mapping units programmed for each that was written to zones.";
        self.plain("translation_drive_write_amplification", "gauge", help, of.drive_write_amplification);
        self.plain("translation_free_zones", "gauge", "Free zones.", Some(f64::from(of.free_zones)));
        self.plain("translation_failed_zones", "gauge", "Zones that failed.", Some(of.failed_zones as f64));
        let help = "Zones emptied and reset.";
        self.plain("translation_collected_zones_total", "counter", help, Some(of.collected_zones as f64));
        let help = "Writes that waited for a zone.";
        self.plain("translation_stalled_writes_total", "counter", help, Some(of.stalled_writes as f64));
    }

    /// Quantiles of a latency; the sum and the count of a summary are optional and left out.
    fn quantiles(&mut self, name: &str, labels: &str, of: &Latency) {
        for (q, us) in [("0.5", of.p50_us), ("0.99", of.p99_us), ("0.999", of.p99_9_us), ("1", of.max_us)] {
            let comma = if labels.is_empty() { "" } else { "," };
            self.sample(name, &format!("{labels}{comma}quantile=\"{q}\""), us / 1e6);
        }
    }
}

impl Status {
    /// The status in the text format, with times in seconds and sizes in bytes, as Prometheus recommends.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = Text(String::new());
        text.plain("capacity_bytes", "gauge", "Bytes that a client can address.", Some(self.capacity_bytes as f64));
        let is_on = f64::from(u8::from(self.power == Power::On));
        text.plain("powered", "gauge", "1 while the power is on.", Some(is_on));
        text.plain("uptime_seconds", "gauge", "Time on the wall clock.", Some(self.uptime_s));
        text.plain("simulated_seconds", "gauge", "Simulated time.", Some(self.simulated_s));
        text.plain("outstanding_requests", "gauge", "Requests without an answer.", Some(self.outstanding as f64));
        text.metric("requests_total", "counter", "Requests of clients that were answered.");
        for kind in &self.requests {
            for (result, count) in [("done", kind.done), ("failed", kind.failed)] {
                text.sample("requests_total", &format!("kind=\"{}\",result=\"{result}\"", kind.kind), count as f64);
            }
        }
        text.metric("request_bytes_total", "counter", "Bytes of the requests that were carried out.");
        for kind in &self.requests {
            text.sample("request_bytes_total", &format!("kind=\"{}\"", kind.kind), kind.bytes as f64);
        }
        text.metric("latency_seconds", "gauge", "Simulated time from submission to answer, since the start.");
        for kind in &self.requests {
            if let Some(latency) = &kind.latency {
                text.quantiles("latency_seconds", &format!("kind=\"{}\"", kind.kind), latency);
            }
        }
        if let Some(lag) = &self.lag {
            text.metric("lag_seconds", "gauge", "How late answers were on the wall clock, since the start.");
            text.quantiles("lag_seconds", "", &lag.times);
            let help = "Share of answers later than 5 % of their latency.";
            text.plain("late_answers_ratio", "gauge", help, Some(lag.late_share));
        }
        let help = "Mapping units programmed for each that clients wrote.";
        text.plain("write_amplification", "gauge", help, self.write_amplification);
        text.plain("free_blocks", "gauge", "Free blocks of the FTL.", Some(self.free_blocks as f64));
        text.plain("bad_blocks", "gauge", "Blocks retired.", Some(self.bad_blocks as f64));
        let failed = Some(self.uncorrectable_requests as f64);
        text.plain("uncorrectable_requests_total", "counter", "Requests that the flash could not be read for.", failed);
        let refused = Some(self.refused_requests as f64);
        text.plain("refused_requests_total", "counter", "Requests refused because the drive was read-only.", refused);
        let is_read_only = f64::from(u8::from(self.read_only));
        text.plain("read_only", "gauge", "1 if the drive has refused the last write, worn out.", Some(is_read_only));
        let damaged = self.damaged_reads.map(|reads| reads as f64);
        text.plain("damaged_reads_total", "counter", "Reads of the state's files that found damaged data.", damaged);
        self.verify.iter().for_each(|verify| text.verification(verify));
        self.raid.iter().for_each(|raid| text.raid(raid));
        self.translation.iter().for_each(|of| text.translation(of));
        text.plain("power_cuts_total", "counter", "Power cuts.", Some(self.power_cuts as f64));
        text.plain("events_total", "counter", "Events that the simulation has handled.", Some(self.events as f64));
        text.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{KindStatus, LagStatus, SCHEMA};
    use super::*;

    #[test]
    fn every_sample_follows_its_type_and_no_metric_comes_twice() {
        let times = Latency { mean_us: 2.0, p50_us: 1.5, p99_us: 3.0, p99_9_us: 4.0, max_us: 5.0 };
        let kind = |kind: &str, latency| KindStatus { kind: kind.to_owned(), done: 3, failed: 1, bytes: 512, latency };
        let drive = |state, rebuilt| DriveStatus {
            state,
            rebuilt,
            requests: 7,
            read_bytes: 512,
            written_bytes: 1024,
            write_amplification: None,
            free_blocks: 3,
            bad_blocks: 1,
        };
        let status = Status {
            schema: SCHEMA.to_owned(),
            device: "demo".to_owned(),
            capacity_bytes: 4096,
            power: Power::Off,
            pace: "real".to_owned(),
            uptime_s: 2.5,
            simulated_s: 2.0,
            outstanding: 7,
            requests_in_second: 1,
            requests_per_s: 1.0,
            requests: vec![kind("read", Some(times)), kind("flush", None)],
            lag: Some(LagStatus { answers: 4, times, late_share: 0.25 }),
            write_amplification: None,
            free_blocks: 9,
            bad_blocks: 0,
            uncorrectable_requests: 2,
            refused_requests: 5,
            read_only: true,
            damaged_reads: Some(1),
            verify: Some(VerifyStatus { reads: 6, sectors: 48, violations: 3, ..VerifyStatus::default() }),
            raid: Some(RaidStatus {
                level: "raid1".to_owned(),
                write_amplification: Some(2.0),
                failed: 1,
                empty_places: 0,
                repaired: None,
                lost_chunks: 0,
                recovered_bytes: 0,
                drives: vec![drive(DriveState::Failed, None), drive(DriveState::Rebuilt, Some(0.25))],
            }),
            translation: Some(TranslationStatus {
                write_amplification: None,
                drive_write_amplification: None,
                zones: 8,
                free_zones: 5,
                failed_zones: 0,
                collected_zones: 2,
                stalled_writes: 1,
                mounting: false,
            }),
            power_cuts: 2,
            planned_faults: 0,
            last_recovery_s: None,
            lost_writes: false,
            events: 100,
            event_hash: String::new(),
        };
        let text = status.prometheus();
        let (mut types, mut now) = (BTreeSet::new(), "");
        for line in text.lines().filter(|line| !line.starts_with("# HELP")) {
            if let Some(of) = line.strip_prefix("# TYPE ") {
                now = of.split(' ').next().expect("a name");
                assert!(types.insert(now), "{now} comes twice");
                assert!(of.ends_with(" gauge") || now.ends_with("_total"), "{of}");
                continue;
            }
            let (name, value) = line.rsplit_once(' ').expect("a value");
            assert_eq!(name.split('{').next(), Some(now), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        for wanted in [
            "flashloom_powered 0\n",
            "flashloom_requests_total{kind=\"read\",result=\"failed\"} 1\n",
            "flashloom_latency_seconds{kind=\"read\",quantile=\"0.99\"} 0.000003\n",
            "flashloom_lag_seconds{quantile=\"1\"} 0.000005\n",
            "flashloom_late_answers_ratio 0.25\n",
            "flashloom_uncorrectable_requests_total 2\n",
            "flashloom_refused_requests_total 5\n",
            "flashloom_read_only 1\n",
            "flashloom_damaged_reads_total 1\n",
            "flashloom_verified_sectors_total 48\n",
            "flashloom_violated_sectors_total 3\n",
            "flashloom_raid_write_amplification 2\n",
            "flashloom_raid_drive_failed{drive=\"0\"} 1\n",
            "flashloom_raid_drive_rebuilt_ratio{drive=\"1\"} 0.25\n",
            "flashloom_raid_drive_written_bytes_total{drive=\"1\"} 1024\n",
            "flashloom_translation_free_zones 5\n",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains("flashloom_write_amplification"), "it is not known");
    }
}
