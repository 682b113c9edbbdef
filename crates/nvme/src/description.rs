//! The description of a subsystem and its drives for hosts: constants ([`Description`]) and present values ([`Drives`]).

/// The namespace identifier that stands for all namespaces.
pub(crate) const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// The names by which hosts know a subsystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The qualified name of the subsystem (SUBNQN).
    pub nqn: String,
    /// Model number: at most 40 characters of ASCII.
    pub model: String,
    /// Serial number: at most 20 characters of ASCII.
    pub serial: String,
    /// Firmware revision: at most 8 characters of ASCII.
    pub firmware: String,
    /// PCI vendor identifier; 0 for none.
    pub vendor: u16,
}

/// The ports and the limits by which hosts reach a subsystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The ports, for the discovery log page.
    pub ports: Vec<Port>,
    /// The hosts that may connect; none for all.
    pub hosts: Option<Vec<String>>,
    /// The most controllers, which is the most associations at a time.
    pub controllers: u16,
    /// The most I/O queues of a controller.
    pub io_queues: u16,
    /// Several controllers can access the namespaces, so that Linux makes a multipath device of each namespace.
    pub shared: bool,
}

/// An NVM subsystem of one or several drives, as hosts see it.
///
/// A drive is a namespace, and an endurance group with the namespace's identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The names by which hosts know the subsystem.
    pub identity: Identity,
    /// The ports, and the limits for hosts.
    pub access: Access,
    /// The namespaces, in the order of their identifiers.
    pub namespaces: Vec<Namespace>,
    /// True if hosts may sanitize the drives, by block erase.
    pub sanitize: bool,
    /// Power states, from state 0 on: 1 to 32.
    pub power_states: Vec<PowerState>,
    /// The drive has a volatile write cache.
    pub write_cache: bool,
    /// Warning composite temperature threshold in kelvins; 0 for none.
    pub warning_temperature: u16,
    /// Critical composite temperature threshold in kelvins; 0 for none.
    pub critical_temperature: u16,
}

/// Commands that not every drive can carry out. A command that a namespace lacks fails with Invalid Opcode; the controller
/// announces the command if another namespace has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalCommands {
    /// True if the drive has Write Uncorrectable, which marks blocks so that reads of them fail.
    pub write_uncorrectable: bool,
    /// True if the drive has Dataset Management, which deallocates blocks.
    pub dataset_management: bool,
    /// I/O Management Send, which gives reclaim unit handles new reclaim units.
    pub handle_update: bool,
}

impl OptionalCommands {
    /// A drive with all optional commands.
    pub const ALL: Self = Self { write_uncorrectable: true, dataset_management: true, handle_update: true };

    /// The commands that at least one of two drives has.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            write_uncorrectable: self.write_uncorrectable || other.write_uncorrectable,
            dataset_management: self.dataset_management || other.dataset_management,
            handle_update: self.handle_update || other.handle_update,
        }
    }
}

/// A namespace, which is a drive for its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The identifier, from 1 on.
    pub id: u32,
    /// Binary logarithm of the bytes of a block: 9 to 16.
    pub block_shift: u8,
    /// Size in blocks, which is the capacity for hosts.
    pub blocks: u64,
    /// The UUID of the namespace identification descriptors.
    pub uuid: [u8; 16],
    /// The NGUID of Identify Namespace and of the namespace identification descriptors.
    pub nguid: [u8; 16],
    /// Blocks that the drive writes as one, to whose multiples hosts should align writes and deallocations; at least 1.
    pub granularity: u16,
    /// The zones; none for a namespace of the NVM command set.
    pub zones: Option<Zones>,
    /// The optional commands that the drive can carry out.
    pub commands: OptionalCommands,
    /// Streams of the streams directive; 0 for none.
    pub streams: u16,
    /// Preferred size of a stream's writes in blocks; 0 for none.
    pub stream_blocks: u32,
    /// Flexible Data Placement, if the drive has it; it is enabled.
    pub placement: Option<Placement>,
    /// The reclaim unit handle of each placement handle; empty without Flexible Data Placement.
    pub placement_handles: Vec<u16>,
}

/// The zones of a namespace. All have the same size, and capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// Size in blocks. Linux needs a power of two.
    pub size: u64,
    /// Blocks that can be written.
    pub capacity: u64,
    /// The most active zones; none for no limit.
    pub max_active: Option<u32>,
    /// The most open zones; none for no limit.
    pub max_open: Option<u32>,
    /// The largest Zone Append as a power of two of 4 KiB; 0 for the largest transfer (ZASL).
    pub append_limit: u8,
    /// The zone random write areas; none if zones have none.
    pub random_write_area: Option<RandomWriteArea>,
}

/// Zone random write areas: their size and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomWriteArea {
    /// Size of an area in blocks.
    pub size: u16,
    /// The smallest step, in blocks, by which a flush of the area moves the write pointer.
    pub granularity: u16,
    /// The number of zones that can have an area at a time.
    pub resources: u32,
}

/// Flexible Data Placement: the one configuration of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// NRG: the number of reclaim groups.
    pub reclaim_groups: u16,
    /// The reclaim unit handles: true for a persistently isolated handle, false for an initially isolated handle.
    pub handles: Vec<bool>,
    /// Bytes of a reclaim unit.
    pub reclaim_unit: u64,
}

impl Placement {
    /// Bits of a placement identifier, from the top, that are the reclaim group (RGIF).
    #[must_use]
    pub const fn group_bits(&self) -> u32 {
        (self.reclaim_groups.saturating_sub(1) as u32 + 1).next_power_of_two().trailing_zeros()
    }

    /// The reclaim group and the placement handle of a placement identifier (TP4146).
    #[must_use]
    pub fn split(&self, identifier: u16) -> (u16, u16) {
        let bits = self.group_bits();
        let group = if bits == 0 { 0 } else { identifier >> (16 - bits) };
        (group, (u32::from(identifier) & (0xffff >> bits)) as u16)
    }

    /// The placement identifier of a reclaim group and a placement handle.
    #[must_use]
    pub fn join(&self, group: u16, handle: u16) -> u16 {
        let bits = self.group_bits();
        if bits == 0 { handle } else { group << (16 - bits) | handle }
    }
}

/// A power state, in the units of Identify Controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerState {
    /// The most power in steps of 0.01 W.
    pub power: u16,
    /// The drive carries out no I/O commands in the state.
    pub non_operational: bool,
    /// Microseconds to enter the state.
    pub entry: u32,
    /// Microseconds to leave the state.
    pub exit: u32,
    /// Power when idle in steps of 0.01 W; 0 for not known.
    pub idle_power: u16,
    /// Average power under load in steps of 0.01 W; 0 for not known.
    pub active_power: u16,
}

/// A TCP port of the subsystem, as the discovery log lists ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// True for an IPv6 address, false for an IPv4 address.
    pub ipv6: bool,
    /// The address in text.
    pub address: String,
    /// The number of the TCP port.
    pub service: u16,
    /// True if hosts must use TLS, as the discovery log page says.
    pub tls: bool,
}

/// The SMART values of one drive or of all, with the units of measure of log page 02h. The subsystem itself adds its controllers'
/// error log entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Reliability is degraded, by errors of the media or inside the drive.
    pub degraded: bool,
    /// The drive takes no more writes.
    pub read_only: bool,
    /// Composite temperature in kelvins.
    pub temperature: u16,
    /// Spare in percent of the initial one.
    pub spare: u8,
    /// The spare in percent below which the drive warns.
    pub spare_threshold: u8,
    /// Wear in percent; it may exceed 100.
    pub used: u8,
    /// Bytes that hosts have read since the drive was new.
    pub bytes_read: u128,
    /// Bytes that hosts have written.
    pub bytes_written: u128,
    /// Bytes that the media have written, copies of garbage collection included.
    pub media_bytes_written: u128,
    /// Read commands of hosts.
    pub reads: u128,
    /// The number of write commands of hosts.
    pub writes: u128,
    /// Minutes in which the drive was busy with I/O commands.
    pub busy_minutes: u128,
    /// Power cycles in the life of the drive.
    pub power_cycles: u128,
    /// Hours with power in the life of the drive.
    pub power_on_hours: u128,
    /// Losses of power without a shutdown.
    pub unsafe_shutdowns: u128,
    /// Unrecovered errors of the media.
    pub media_errors: u128,
    /// Minutes above the warning temperature.
    pub warning_minutes: u32,
    /// Minutes above the critical temperature.
    pub critical_minutes: u32,
    /// Bytes that the drive can take in its life; 0 for not known.
    pub endurance_bytes: u128,
}

/// Counters of Flexible Data Placement (TP4146).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementStatistics {
    /// Bytes that hosts have written.
    pub host_bytes: u128,
    /// Bytes that the media have written, copies of garbage collection included.
    pub media_bytes: u128,
    /// Bytes of the media that were erased.
    pub erased_bytes: u128,
}

/// The kind of an event of Flexible Data Placement (TP4146, FDP event types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementEventKind {
    /// A host event: a reclaim unit was changed before the host had written it whole.
    NotFullyWritten,
    /// A host event: a write named an invalid placement identifier.
    InvalidPlacementId,
    /// A controller event: the controller moved blocks to another reclaim unit.
    MediaReallocated {
        /// The number of moved blocks.
        moved: u16,
        /// The first moved block, if there is one.
        lba: Option<u64>,
    },
    /// A controller event: a reclaim unit handle was changed to another reclaim unit without the host's doing.
    ImplicitlyModified,
}

/// An event of Flexible Data Placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementEvent {
    /// The kind of the event, with the fields that only this kind has.
    pub kind: PlacementEventKind,
    /// Milliseconds since the start of 1970.
    pub milliseconds: u64,
    /// The placement identifier, if the event concerns one.
    pub identifier: Option<u16>,
    /// The namespace, if the event concerns one.
    pub namespace: Option<u32>,
    /// Reclaim group and reclaim unit handle, if the event concerns a handle.
    pub location: Option<(u16, u8)>,
}

/// The present values of the drives behind a subsystem. A drive has the identifier of its namespace.
pub trait Drives {
    /// The SMART values of all drives together.
    fn health(&self) -> Health;

    /// The SMART values of a drive.
    fn drive_health(&self, namespace: u32) -> Health;

    /// Blocks of a namespace that hold data.
    fn used_blocks(&self, namespace: u32) -> u64;

    /// The counters of Flexible Data Placement of a drive.
    fn placement_statistics(&self, namespace: u32) -> PlacementStatistics;

    /// For each reclaim unit handle of a drive, whether a namespace uses it.
    fn handles_in_use(&self, namespace: u32) -> Vec<bool>;

    /// The events of Flexible Data Placement of a drive, the latest first: of the host or of the controller.
    fn placement_events(&self, namespace: u32, of_host: bool) -> Vec<PlacementEvent>;
}

impl Description {
    /// The namespace with this identifier.
    #[must_use]
    pub fn namespace(&self, id: u32) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.id == id)
    }

    /// True if a namespace has zones.
    #[must_use]
    pub fn has_zones(&self) -> bool {
        self.namespaces.iter().any(|namespace| namespace.zones.is_some())
    }

    /// True if a drive has Flexible Data Placement.
    #[must_use]
    pub fn has_placement(&self) -> bool {
        self.namespaces.iter().any(|namespace| namespace.placement.is_some())
    }

    /// True if a drive has streams or Flexible Data Placement, which directives are for.
    #[must_use]
    pub fn has_directives(&self) -> bool {
        self.namespaces.iter().any(|namespace| namespace.streams > 0 || namespace.placement.is_some())
    }

    /// The optional commands that at least one namespace with `is_kind` has.
    #[must_use]
    pub fn commands_of(&self, is_kind: impl Fn(&Namespace) -> bool) -> OptionalCommands {
        let taken = self.namespaces.iter().filter(|namespace| is_kind(namespace));
        taken.fold(OptionalCommands::default(), |all, namespace| all.or(namespace.commands))
    }

    /// The highest identifier of a namespace.
    #[must_use]
    pub fn last_namespace(&self) -> u32 {
        self.namespaces.iter().map(|namespace| namespace.id).max().unwrap_or(1)
    }

    /// Bytes of all namespaces.
    #[must_use]
    pub fn capacity(&self) -> u128 {
        self.namespaces.iter().map(Namespace::capacity).sum()
    }

    /// True if the host with this name may connect.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        self.access.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|allowed| allowed == host))
    }
}

impl Namespace {
    /// Bytes of a logical block.
    #[must_use]
    pub const fn block(&self) -> u64 {
        1 << self.block_shift
    }

    /// Bytes of the namespace.
    #[must_use]
    pub fn capacity(&self) -> u128 {
        u128::from(self.blocks) << self.block_shift
    }

    /// Zones of the namespace; 0 for one without.
    #[must_use]
    pub fn zone_count(&self) -> u64 {
        self.zones.map_or(0, |zones| self.blocks / zones.size)
    }
}

#[cfg(test)]
mod tests {
    use super::Placement;

    #[test]
    fn a_placement_identifier_has_the_reclaim_group_in_its_top_bits() {
        let placement = |groups| Placement { reclaim_groups: groups, handles: vec![false; 8], reclaim_unit: 1 << 30 };
        assert_eq!(placement(1).group_bits(), 0);
        assert_eq!(placement(1).split(0x8003), (0, 0x8003));
        assert_eq!(placement(2).group_bits(), 1);
        assert_eq!(placement(2).split(0x8003), (1, 3));
        assert_eq!(placement(5).group_bits(), 3);
        assert_eq!(placement(5).join(4, 7), 0x8007);
        assert_eq!(placement(5).split(0x8007), (4, 7));
    }
}
