//! The counters of a RAID, as if it were a single drive: the requests of its host, and the flash of all drives
//! together.

use base::units::Span;
use flash::backend::Account;
use ssd::Counters;

/// Adds up the counters of all drives. Counts of requests are left to the RAID.
pub(crate) fn together(drives: &[Counters]) -> Counters {
    let (first, others) = drives.split_first().expect("a RAID has a drive");
    let mut sum = first.clone();
    // The host's writes to the RAID include those that a buffer absorbs, so absorbed units are not subtracted.
    sum.absorbed_slots = 0;
    // Sums over drives are meaningless for counters of mechanisms inside a drive.
    (sum.map, sum.merges, sum.log_merges, sum.slc_mlc, sum.streams, sum.fdp) = (None, None, None, None, None, None);
    (sum.slc_cache, sum.refresh, sum.parity, sum.power, sum.errors, sum.slc_array) =
        (None, None, None, None, None, None);
    for (number, of) in (1..).zip(others) {
        add_account(&mut sum.flash, &of.flash);
        for (sum, of) in [
            (&mut sum.channel_busy, &of.channel_busy),
            (&mut sum.die_busy, &of.die_busy),
            (&mut sum.plane_busy, &of.plane_busy),
            (&mut sum.controller_busy, &of.controller_busy),
            (&mut sum.decoder_busy, &of.decoder_busy),
        ] {
            sum.extend_from_slice(of);
        }
        // The busiest of each kind, because a sum could be longer than the run.
        let longer = |sum: &mut Span, of: Span| *sum = (*sum).max(of);
        longer(&mut sum.processor_busy, of.processor_busy);
        longer(&mut sum.link_busy, of.link_busy);
        longer(&mut sum.ram_busy, of.ram_busy);
        sum.unmapped_slots += of.unmapped_slots;
        sum.unmapped_flash_reads += of.unmapped_flash_reads;
        sum.unreadable_copies += of.unreadable_copies;
        sum.free_blocks += of.free_blocks;
        sum.bad_blocks += of.bad_blocks;
        sum.event_hash = sum.event_hash.wrapping_add(of.event_hash.rotate_left(number));
        sum.events += of.events;
    }
    sum
}

fn add_account(sum: &mut Account, of: &Account) {
    of.rows().for_each(|(op, cause, tally)| *sum.at(op, cause) += tally);
}
