//! The log pages 02h, SMART / health information, and 09h, endurance group (NVMe base 2.0, section 5.16.1).

use crate::controller::Controller;
use crate::description::Health;
use crate::layout::{bytes_of, layout};

layout! {
    /// Log page 02h: SMART / health information.
    struct Smart [512] {
        0 critical_warning: u8,
        /// Kelvins.
        1 temperature: [u8; 2],
        3 spare: u8,
        4 spare_threshold: u8,
        5 used: u8,
        6 group_warnings: u8,
        /// In 1000 units of 512 bytes.
        32 data_units_read: u128,
        48 data_units_written: u128,
        64 reads: u128,
        80 writes: u128,
        /// Minutes.
        96 busy_time: u128,
        112 power_cycles: u128,
        128 power_on_hours: u128,
        144 unsafe_shutdowns: u128,
        160 media_errors: u128,
        176 error_log_entries: u128,
        /// Minutes.
        192 warning_time: u32,
        196 critical_time: u32,
        200 sensors: [u16; 8],
    }
}

layout! {
    /// Log page 09h: the values of one endurance group.
    struct EnduranceGroup [512] {
        0 critical_warning: u8,
        3 spare: u8,
        4 spare_threshold: u8,
        5 used: u8,
        /// In thousands of millions of bytes.
        32 endurance_estimate: u128,
        48 data_units_read: u128,
        64 data_units_written: u128,
        80 media_units_written: u128,
        96 reads: u128,
        112 writes: u128,
        128 media_errors: u128,
        144 error_log_entries: u128,
        /// Bytes.
        160 capacity: u128,
        176 unallocated: u128,
    }
}

/// Bits of the critical warning (byte 0 of log page 02h).
pub(crate) mod warning {
    pub(crate) const SPARE: u8 = 1 << 0;
    pub(crate) const TEMPERATURE: u8 = 1 << 1;
    pub(crate) const DEGRADED: u8 = 1 << 2;
    pub(crate) const READ_ONLY: u8 = 1 << 3;
}

/// Data units: 1000 times 512 bytes, rounded up.
const fn data_units(bytes: u128) -> u128 {
    bytes.div_ceil(512_000)
}

fn spare_and_media(health: &Health) -> u8 {
    let mut warnings = 0;
    if health.spare < health.spare_threshold {
        warnings |= warning::SPARE;
    }
    if health.degraded {
        warnings |= warning::DEGRADED;
    }
    if health.read_only {
        warnings |= warning::READ_ONLY;
    }
    warnings
}

/// The critical warnings of a controller, whose host chooses the temperature thresholds.
pub(crate) fn critical_warning(health: &Health, this: &Controller) -> u8 {
    let temperature = this.features.is_temperature_critical(health.temperature);
    spare_and_media(health) | if temperature { warning::TEMPERATURE } else { 0 }
}

pub(super) fn smart(health: &Health, this: &Controller) -> Vec<u8> {
    let mut sensors = [0; 8];
    sensors[0] = health.temperature;
    bytes_of(&Smart {
        critical_warning: critical_warning(health, this),
        temperature: health.temperature.to_le_bytes(),
        spare: health.spare,
        spare_threshold: health.spare_threshold,
        used: health.used,
        group_warnings: spare_and_media(health),
        data_units_read: data_units(health.bytes_read),
        data_units_written: data_units(health.bytes_written),
        reads: health.reads,
        writes: health.writes,
        busy_time: health.busy_minutes,
        power_cycles: health.power_cycles,
        power_on_hours: health.power_on_hours,
        unsafe_shutdowns: health.unsafe_shutdowns,
        media_errors: health.media_errors,
        error_log_entries: this.errors.count().into(),
        warning_time: health.warning_minutes,
        critical_time: health.critical_minutes,
        sensors,
    })
}

pub(super) fn endurance_group(health: &Health, this: &Controller, capacity: u128) -> Vec<u8> {
    // In 10^9 bytes, as the data units of this page are.
    let billions = |bytes: u128| bytes.div_ceil(1_000_000_000);
    bytes_of(&EnduranceGroup {
        critical_warning: spare_and_media(health),
        spare: health.spare,
        spare_threshold: health.spare_threshold,
        used: health.used,
        endurance_estimate: billions(health.endurance_bytes),
        data_units_read: billions(health.bytes_read),
        data_units_written: billions(health.bytes_written),
        media_units_written: billions(health.media_bytes_written),
        reads: health.reads,
        writes: health.writes,
        media_errors: health.media_errors,
        error_log_entries: this.errors.count().into(),
        capacity,
        unallocated: 0,
    })
}
