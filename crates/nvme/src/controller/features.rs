//! Features (NVMe base 2.0, sections 5.15 and 5.27; TP4146 for Flexible Data Placement).

use std::time::Duration;

use crate::description::Description;
use crate::layout::{Field, bytes_of, layout};
use crate::status::Status;

/// Feature identifiers (NVMe base 2.0, section 5.27.1).
pub(crate) mod id {
    pub(crate) const ARBITRATION: u8 = 0x01;
    pub(crate) const POWER_MANAGEMENT: u8 = 0x02;
    pub(crate) const TEMPERATURE_THRESHOLD: u8 = 0x04;
    pub(crate) const ERROR_RECOVERY: u8 = 0x05;
    pub(crate) const VOLATILE_WRITE_CACHE: u8 = 0x06;
    pub(crate) const NUMBER_OF_QUEUES: u8 = 0x07;
    pub(crate) const WRITE_ATOMICITY: u8 = 0x0a;
    pub(crate) const ASYNC_EVENTS: u8 = 0x0b;
    pub(crate) const TIMESTAMP: u8 = 0x0e;
    pub(crate) const KEEP_ALIVE: u8 = 0x0f;
    pub(crate) const HOST_BEHAVIOR: u8 = 0x16;
    pub(crate) const COMMAND_SET_PROFILE: u8 = 0x19;
    pub(crate) const PLACEMENT: u8 = 0x1d;
    pub(crate) const PLACEMENT_EVENTS: u8 = 0x1e;
    pub(crate) const HOST_ID: u8 = 0x81;
}

/// The features of a controller for I/O, each with "changeable" and "specific to a namespace".
pub(crate) const SUPPORTED: [(u8, bool, bool); 15] = [
    (id::ARBITRATION, true, false),
    (id::POWER_MANAGEMENT, true, false),
    (id::TEMPERATURE_THRESHOLD, true, false),
    (id::ERROR_RECOVERY, true, true),
    (id::VOLATILE_WRITE_CACHE, true, false),
    (id::NUMBER_OF_QUEUES, true, false),
    (id::WRITE_ATOMICITY, true, false),
    (id::ASYNC_EVENTS, true, false),
    (id::TIMESTAMP, true, false),
    (id::KEEP_ALIVE, true, false),
    (id::HOST_BEHAVIOR, true, false),
    (id::COMMAND_SET_PROFILE, true, false),
    (id::PLACEMENT, false, false),
    (id::PLACEMENT_EVENTS, true, true),
    (id::HOST_ID, false, false),
];

/// The types of events of Flexible Data Placement (TP4146).
const PLACEMENT_EVENTS: [u8; 6] = [0x00, 0x01, 0x02, 0x03, 0x80, 0x81];

layout! {
    /// Timestamp (NVMe base 2.0, section 5.27.1).
    struct Timestamp [8] {
        /// Milliseconds since the start of 1970, in six bytes.
        0 milliseconds: [u8; 6],
        /// Bit 0: the clock may have stopped. Bits 3:1: origin, 0 for a reset, 1 for the host.
        6 attributes: u8,
    }
}

/// A consequence that a Set Features command has outside of the values of the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Enables (true) or disables the volatile write cache.
    WriteCache(bool),
    PowerState(u8),
    /// The keep alive timeout in milliseconds.
    KeepAlive(u32),
}

/// A Set Features or Get Features command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureAccess<'a> {
    pub(crate) namespace: u32,
    pub(crate) cdw11: u32,
    pub(crate) cdw12: u32,
    pub(crate) data: &'a [u8],
    pub(crate) now: Duration,
}

/// The values that the host has set.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    arbitration: u32,
    power: u32,
    /// Thresholds in kelvins: the drive warns above the first and below the second.
    over_temperature: u16,
    under_temperature: u16,
    error_recovery: u32,
    write_cache: bool,
    queues: u32,
    write_atomicity: u32,
    async_events: u32,
    /// Milliseconds since the start of 1970, and the time at which the host set them.
    timestamp: Option<(u64, Duration)>,
    host_behavior: [u8; 512],
    /// Types of events that are enabled, by namespace and placement handle.
    placement_events: std::collections::BTreeMap<(u32, u16), Vec<u8>>,
}

fn invalid<T>() -> Result<T, Status> {
    Err(Status::INVALID_FIELD.do_not_retry())
}

impl Features {
    /// The values after a reset.
    pub(crate) fn new(description: &Description) -> Self {
        let queues = u32::from(description.access.io_queues.max(1)) - 1;
        Self {
            arbitration: 0,
            power: 0,
            over_temperature: description.warning_temperature,
            under_temperature: 0,
            error_recovery: 0,
            write_cache: description.write_cache,
            queues: queues | queues << 16,
            write_atomicity: 0,
            async_events: 0,
            timestamp: None,
            host_behavior: [0; 512],
            placement_events: Default::default(),
        }
    }

    /// The bits of "asynchronous event configuration".
    pub(crate) const fn async_events(&self) -> u32 {
        self.async_events
    }

    /// The I/O queues that the host may connect.
    pub(crate) const fn io_queues(&self) -> u16 {
        (self.queues & 0xffff) as u16 + 1
    }

    /// True if the temperature crosses a threshold; an unknown one, which is 0, crosses none.
    pub(crate) const fn is_temperature_critical(&self, temperature: u16) -> bool {
        let is_over = self.over_temperature != 0 && temperature >= self.over_temperature;
        temperature != 0 && (is_over || temperature <= self.under_temperature)
    }

    /// Milliseconds since the start of 1970; counted from 0 until the host sets the feature "timestamp".
    pub(crate) fn milliseconds(&self, now: Duration) -> u64 {
        let (base, since) = self.timestamp.unwrap_or_default();
        base.wrapping_add(now.saturating_sub(since).as_millis() as u64) & 0xffff_ffff_ffff
    }

    /// Get Features: dword 0, and data.
    pub(crate) fn get(
        &self,
        feature: u8,
        access: FeatureAccess<'_>,
        description: &Description,
    ) -> Result<(u32, Vec<u8>), Status> {
        let FeatureAccess { cdw11, now, .. } = access;
        let value = match feature {
            id::ARBITRATION => self.arbitration,
            id::POWER_MANAGEMENT => self.power,
            id::TEMPERATURE_THRESHOLD => match (cdw11 >> 16 & 0xf, cdw11 >> 20 & 3) {
                (0, 0) => u32::from(self.over_temperature),
                (0, 1) => u32::from(self.under_temperature) | 1 << 20,
                _ => return invalid(),
            },
            id::ERROR_RECOVERY => self.error_recovery,
            id::VOLATILE_WRITE_CACHE if description.write_cache => u32::from(self.write_cache),
            id::NUMBER_OF_QUEUES => self.queues,
            id::WRITE_ATOMICITY => self.write_atomicity,
            id::ASYNC_EVENTS => self.async_events,
            id::TIMESTAMP => {
                let milliseconds = self.milliseconds(now).to_le_bytes();
                let milliseconds = milliseconds.first_chunk().copied().unwrap_or_default();
                let attributes = u8::from(self.timestamp.is_some()) << 1;
                return Ok((0, bytes_of(&Timestamp { milliseconds, attributes })));
            }
            id::HOST_BEHAVIOR => return Ok((0, self.host_behavior.to_vec())),
            id::COMMAND_SET_PROFILE => 0,
            // Enabled (bit 0), with configuration 0 (bits 15:8).
            id::PLACEMENT => match description.namespace(cdw11 & 0xffff) {
                Some(drive) => u32::from(drive.placement.is_some()),
                None => return invalid(),
            },
            id::PLACEMENT_EVENTS => {
                let (handle, count) = (cdw11 as u16, (cdw11 >> 16 & 0xff) as usize);
                check_handle(handle, access.namespace, description)?;
                let enabled = self.placement_events.get(&(access.namespace, handle));
                let described = PLACEMENT_EVENTS.iter().take(count);
                let described = described.map(|kind| [*kind, enabled.is_some_and(|all| all.contains(kind)).into()]);
                let data: Vec<u8> = described.flatten().collect();
                return Ok((PLACEMENT_EVENTS.len() as u32, data));
            }
            _ => return invalid(),
        };
        Ok((value, Vec::new()))
    }

    /// Set Features: dword 0, and the consequence.
    pub(crate) fn set(
        &mut self,
        feature: u8,
        access: FeatureAccess<'_>,
        description: &Description,
    ) -> Result<(u32, Effect), Status> {
        let FeatureAccess { cdw11, cdw12, data, now, .. } = access;
        match feature {
            id::ARBITRATION => self.arbitration = cdw11,
            id::POWER_MANAGEMENT => {
                let state = (cdw11 & 0x1f) as u8;
                if usize::from(state) >= description.power_states.len() {
                    return invalid();
                }
                self.power = cdw11 & 0xff;
                return Ok((0, Effect::PowerState(state)));
            }
            id::TEMPERATURE_THRESHOLD => match (cdw11 >> 16 & 0xf, cdw11 >> 20 & 3) {
                (0 | 0xf, 0) => self.over_temperature = cdw11 as u16,
                (0 | 0xf, 1) => self.under_temperature = cdw11 as u16,
                _ => return invalid(),
            },
            // Bit 16: errors for deallocated blocks, which no namespace has.
            id::ERROR_RECOVERY if cdw11 >> 16 & 1 == 0 => self.error_recovery = cdw11 & 0xffff,
            id::VOLATILE_WRITE_CACHE if description.write_cache => {
                self.write_cache = cdw11 & 1 != 0;
                return Ok((0, Effect::WriteCache(self.write_cache)));
            }
            id::NUMBER_OF_QUEUES => {
                let (submission, completion) = (cdw11 & 0xffff, cdw11 >> 16);
                if submission == 0xffff || completion == 0xffff {
                    return invalid();
                }
                let most = u32::from(description.access.io_queues.max(1)) - 1;
                let queues = submission.min(completion).min(most);
                self.queues = queues | queues << 16;
                return Ok((self.queues, Effect::None));
            }
            id::WRITE_ATOMICITY => self.write_atomicity = cdw11 & 1,
            id::ASYNC_EVENTS => self.async_events = cdw11,
            id::TIMESTAMP => {
                let Some(bytes) = data.first_chunk::<8>() else { return invalid() };
                let Timestamp { milliseconds, .. } = Timestamp::load(bytes);
                let mut value = [0; 8];
                value[..6].copy_from_slice(&milliseconds);
                self.timestamp = Some((u64::from_le_bytes(value), now));
            }
            id::KEEP_ALIVE => return Ok((0, Effect::KeepAlive(cdw11))),
            id::HOST_BEHAVIOR => match data.first_chunk::<512>() {
                Some(data) => self.host_behavior = *data,
                None => return invalid(),
            },
            id::COMMAND_SET_PROFILE if cdw11 & 0x1ff == 0 => {}
            id::COMMAND_SET_PROFILE => return Err(Status::COMMAND_SET_COMBINATION_REJECTED.do_not_retry()),
            // Enabled with configuration 0 for good: TP4146 allows a change only while the endurance group has no namespace.
            id::PLACEMENT => {
                let drive = description.namespace(cdw11 & 0xffff);
                if drive.is_none_or(|drive| drive.placement.is_none()) {
                    return invalid();
                }
                if cdw12 & 0xff01 != 1 {
                    return Err(Status::COMMAND_SEQUENCE_ERROR.do_not_retry());
                }
            }
            id::PLACEMENT_EVENTS => {
                let (handle, count) = (cdw11 as u16, (cdw11 >> 16 & 0xff) as usize);
                check_handle(handle, access.namespace, description)?;
                let Some(kinds) = data.get(..count) else { return invalid() };
                if kinds.iter().any(|kind| !PLACEMENT_EVENTS.contains(kind)) {
                    return invalid();
                }
                let enabled = self.placement_events.entry((access.namespace, handle)).or_default();
                enabled.retain(|kind| !kinds.contains(kind));
                if cdw12 & 1 != 0 {
                    enabled.extend_from_slice(kinds);
                    enabled.sort_unstable();
                    enabled.dedup();
                }
            }
            // A host says its identifier when it connects.
            id::HOST_ID => return Err(Status::COMMAND_SEQUENCE_ERROR.do_not_retry()),
            _ => return invalid(),
        }
        Ok((0, Effect::None))
    }
}

fn check_handle(handle: u16, namespace: u32, description: &Description) -> Result<(), Status> {
    let namespace = description.namespace(namespace).ok_or(Status::INVALID_NAMESPACE.do_not_retry())?;
    if usize::from(handle) < namespace.placement_handles.len() { Ok(()) } else { invalid() }
}

/// The bytes that a Set Features command brings.
pub(crate) const fn data_to_controller(feature: u8, cdw11: u32) -> usize {
    match feature {
        id::TIMESTAMP => 8,
        id::HOST_BEHAVIOR => 512,
        id::PLACEMENT_EVENTS => (cdw11 >> 16 & 0xff) as usize,
        _ => 0,
    }
}
