//! The lines about a translation over zones in the table of a run.

use base::units::Bytes;
use study::summary::TranslationSummary;
use study::text::count;

/// The lines about the writes of users, the copies of collection, and failures.
pub(super) fn lines(of: &TranslationSummary) -> Vec<String> {
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}"));
    let number = |number: u64| count(number as f64);
    let mut lines = vec![
        format!(
            "translation over zones: write amplification {} of the host, {} of the drive; map of {} in the host's RAM",
            times(of.write_amplification),
            times(of.drive_write_amplification),
            Bytes::new(of.map_bytes),
        ),
        format!(
            "  units: {} written, {} copied ({} in vain), {} of summaries; zones: {} emptied, {} of them without a copy, {} free",
            number(of.written),
            number(of.copied),
            number(of.vain_copies),
            number(of.summaries),
            number(of.collected_zones + of.dead_zones),
            number(of.dead_zones),
            of.free_zones,
        ),
    ];
    if of.stalled_writes > 0 {
        let mean = of.stalled_us / of.stalled_writes as f64;
        lines.push(format!("  writes that waited for a zone: {}, {mean:.0} us in the mean", number(of.stalled_writes)));
    }
    if of.failed_zones + of.lost_units > 0 {
        let (zones, units) = (number(of.failed_zones), number(of.lost_units));
        lines.push(format!("  zones that failed: {zones}; units that could not be read for their copy: {units}"));
    }
    lines
}
