//! The lines about a RAID in the table of a run.

use base::units::Bytes;
use study::summary::RaidSummary;
use study::text::count;

/// The lines about requests to the drives of a RAID, the ways to its parity, and the rebuilt data.
pub(super) fn lines(of: &RaidSummary) -> Vec<String> {
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
    let bytes = |bytes: u64| Bytes::new(bytes).to_string();
    let failed = match of.failed_drives() {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let mut lines = vec![format!(
        "RAID: {} drives{failed}; bytes of drives per byte of the host: {} written, {} read; write amplification of the drives: {}",
        of.drives.len(),
        times(of.write_amplification),
        times(of.read_amplification),
        times(of.drive_write_amplification),
    )];
    let updates = [of.full_updates, of.modify_updates, of.reconstruct_updates, of.recover_updates];
    if updates.iter().any(|updates| *updates > 0) {
        let [full, modify, reconstruct, recover] = updates.map(|updates| count(updates as f64));
        lines.push(format!(
            "  parity: {full} whole stripes, {modify} from old data and parity, {reconstruct} from the rest of the stripe, {recover} after recovery"
        ));
    }
    if let Some(journal) = &of.journal {
        let [records, checkpoints, waits] =
            [journal.records, journal.checkpoints, journal.waits].map(|n| count(n as f64));
        let size = bytes(journal.bytes);
        lines.push(format!(
            "  journal: {records} records, {size} written, {checkpoints} checkpoints; {waits} waited for room"
        ));
    }
    let recovered = [
        (of.recovered_bytes, "of reads computed from other drives"),
        (of.rewritten_bytes, "unreadable and written again"),
        (of.rebuilt_bytes, "rebuilt on spares"),
        (of.repaired_bytes, "of parity and mirrors repaired"),
    ];
    let recovered: Vec<String> =
        recovered.iter().filter(|(size, _)| *size > 0).map(|(size, what)| format!("{} {what}", bytes(*size))).collect();
    if !recovered.is_empty() {
        let end = of.rebuilt_s.map_or_else(String::new, |at| format!(" (until {at:.3} s)"));
        lines.push(format!("  {}{end}", recovered.join(", ")));
    }
    if of.lost_chunks > 0 {
        lines.push(format!("  chunks that nothing could bring back: {}", of.lost_chunks));
    }
    lines
}
