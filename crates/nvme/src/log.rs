//! Get Log Page (NVMe base 2.0, section 5.16): which pages there are, and the part of one that a host asks for.

mod effects;
pub(crate) mod health;
mod placement;

use crate::controller::{Controller, ControllerKind};
use crate::description::ALL_NAMESPACES;
use crate::discovery;
use crate::entry::SubmissionEntry;
use crate::identify::Context;
use crate::layout::{bytes_of, layout, text};
use crate::maintenance::Maintenance;
use crate::status::Status;

/// Log page identifiers (NVMe base 2.0, section 5.16.1; TP4146; ZNS 1.1, figure 45).
pub(crate) mod page {
    pub(crate) const SUPPORTED: u8 = 0x00;
    pub(crate) const ERRORS: u8 = 0x01;
    pub(crate) const HEALTH: u8 = 0x02;
    pub(crate) const FIRMWARE: u8 = 0x03;
    pub(crate) const CHANGED_NAMESPACES: u8 = 0x04;
    pub(crate) const EFFECTS: u8 = 0x05;
    pub(crate) const SELF_TEST: u8 = 0x06;
    pub(crate) const ENDURANCE_GROUP: u8 = 0x09;
    pub(crate) const FEATURE_EFFECTS: u8 = 0x12;
    pub(crate) const MANAGEMENT_EFFECTS: u8 = 0x13;
    pub(crate) const PLACEMENT_CONFIGURATIONS: u8 = 0x20;
    pub(crate) const PLACEMENT_HANDLES: u8 = 0x21;
    pub(crate) const PLACEMENT_STATISTICS: u8 = 0x22;
    pub(crate) const PLACEMENT_EVENTS: u8 = 0x23;
    pub(crate) const DISCOVERY: u8 = 0x70;
    pub(crate) const SANITIZE: u8 = 0x81;
    pub(crate) const CHANGED_ZONES: u8 = 0xbf;
}

/// The pages of a controller for I/O.
const PAGES: [u8; 12] = [
    page::SUPPORTED,
    page::ERRORS,
    page::HEALTH,
    page::FIRMWARE,
    page::CHANGED_NAMESPACES,
    page::EFFECTS,
    page::SELF_TEST,
    page::ENDURANCE_GROUP,
    page::FEATURE_EFFECTS,
    page::MANAGEMENT_EFFECTS,
    page::SANITIZE,
    page::CHANGED_ZONES,
];

/// The pages of a drive with Flexible Data Placement.
const PLACEMENT_PAGES: [u8; 4] =
    [page::PLACEMENT_CONFIGURATIONS, page::PLACEMENT_HANDLES, page::PLACEMENT_STATISTICS, page::PLACEMENT_EVENTS];

/// The highest offset that a host may read: bytes behind a page's last field are zeros, so that pages may be read in
/// pieces of any length.
const LONGEST: u64 = 1 << 20;

layout! {
    /// Firmware slot information (NVMe base 2.0, section 5.16.1, log page 03h).
    struct Firmware [512] {
        /// Bits 2:0: the slot that is active.
        0 active: u8,
        8 slot_1: [u8; 8],
    }
}

/// The parameters of Get Log Page.
struct PageRequest {
    page: u8,
    /// LSP: the field that is specific to the log page.
    specific: u8,
    /// RAE: events stay masked, and lists of changes stay.
    retains_events: bool,
    length: usize,
    /// LSI: the identifier of an endurance group, for its pages.
    identifier: u16,
    offset: u64,
    command_set: u8,
    namespace: u32,
}

impl PageRequest {
    fn new(entry: &SubmissionEntry) -> Result<Self, Status> {
        let (cdw10, cdw11, cdw14) = (entry.cdw(10), entry.cdw(11), entry.cdw(14));
        let dwords = u64::from(cdw10 >> 16 | (cdw11 & 0xffff) << 16) + 1;
        let offset = entry.cdw_pair(12);
        // Bit 23 of dword 14: the offset is an index.
        if !offset.is_multiple_of(4) || cdw14 >> 23 & 1 != 0 {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        if u64::from(entry.data_length()) != dwords * 4 {
            return Err(Status::SGL_LENGTH_INVALID.do_not_retry());
        }
        Ok(Self {
            page: cdw10 as u8,
            specific: (cdw10 >> 8 & 0x7f) as u8,
            retains_events: cdw10 >> 15 & 1 != 0,
            length: entry.data_length() as usize,
            identifier: (cdw11 >> 16) as u16,
            offset,
            command_set: (cdw14 >> 24) as u8,
            namespace: entry.namespace(),
        })
    }
}

/// Answers Get Log Page.
pub(crate) fn get(
    context: &Context<'_>,
    this: &mut Controller,
    maintenance: &mut Maintenance,
    generation: u64,
    entry: &SubmissionEntry,
) -> Result<Vec<u8>, Status> {
    let request = PageRequest::new(entry)?;
    let whole = whole(context, this, maintenance, generation, &request)?;
    let mut data = part(&whole, request.offset, request.length)?;
    if !request.retains_events {
        this.events.clear(request.page, request.namespace);
        match request.page {
            page::CHANGED_NAMESPACES => this.changes.clear_namespaces(),
            page::CHANGED_ZONES => this.changes.clear_zones(request.namespace),
            _ => {}
        }
    }
    data.resize(request.length, 0);
    Ok(data)
}

/// The part of a page from `offset` on: at most `length` bytes, fewer at the end of the page.
fn part(whole: &[u8], offset: u64, length: usize) -> Result<Vec<u8>, Status> {
    if offset > LONGEST.max(whole.len() as u64) {
        return Err(Status::INVALID_FIELD.do_not_retry());
    }
    let from = whole.len().min(offset as usize);
    Ok(whole[from..whole.len().min(from + length)].to_vec())
}

fn whole(
    context: &Context<'_>,
    this: &Controller,
    maintenance: &mut Maintenance,
    generation: u64,
    request: &PageRequest,
) -> Result<Vec<u8>, Status> {
    let Context { description, drives, now, .. } = *context;
    if this.kind == ControllerKind::Discovery {
        return match request.page {
            page::DISCOVERY => Ok(discovery::page(description, &this.host.nqn, generation)),
            page::SUPPORTED => Ok(supported(&[page::SUPPORTED, page::DISCOVERY])),
            _ => Err(Status::LOG_PAGE_INVALID.do_not_retry()),
        };
    }
    let invalid = Err(Status::INVALID_FIELD.do_not_retry());
    // The drive is an endurance group, whose identifier is that of its namespace.
    let group = || description.namespace(request.identifier.into());
    match request.page {
        page::SUPPORTED => {
            let mut pages = PAGES.to_vec();
            pages.extend(PLACEMENT_PAGES.iter().filter(|_| description.has_placement()));
            Ok(supported(&pages))
        }
        page::ERRORS => Ok(this.errors.page()),
        // SMART values are those of the controller: LPA says that a namespace has none of its own.
        page::HEALTH
            if ![0, ALL_NAMESPACES].contains(&request.namespace)
                && description.namespace(request.namespace).is_none() =>
        {
            Err(Status::INVALID_NAMESPACE.do_not_retry())
        }
        page::HEALTH => Ok(health::smart(&drives.health(), this)),
        page::FIRMWARE => Ok(bytes_of(&Firmware { active: 1, slot_1: text(&description.identity.firmware, b' ') })),
        page::CHANGED_NAMESPACES => Ok(this.changes.namespace_page()),
        page::EFFECTS => effects::commands(description, request.command_set),
        page::SELF_TEST => Ok(maintenance.self_test_page(now)),
        page::ENDURANCE_GROUP => match group() {
            Some(namespace) => {
                Ok(health::endurance_group(&drives.drive_health(namespace.id), this, namespace.capacity()))
            }
            None => invalid,
        },
        page::FEATURE_EFFECTS => Ok(effects::features(description)),
        page::MANAGEMENT_EFFECTS => Ok(vec![0; 4096]),
        page::SANITIZE => Ok(maintenance.sanitize_page()),
        page::CHANGED_ZONES => {
            let zones = description.namespace(request.namespace).and_then(|namespace| namespace.zones);
            zones.ok_or(Status::INVALID_NAMESPACE.do_not_retry())?;
            Ok(this.changes.zone_page(request.namespace))
        }
        0x20..=0x23 if !description.has_placement() => Err(Status::LOG_PAGE_INVALID.do_not_retry()),
        0x20..=0x23 => {
            let Some(namespace) = group() else { return invalid };
            let Some(placement) = &namespace.placement else { return invalid };
            Ok(match request.page {
                page::PLACEMENT_CONFIGURATIONS => {
                    placement::configurations(placement, namespace, description.write_cache)
                }
                page::PLACEMENT_HANDLES => placement::handles(placement, &drives.handles_in_use(namespace.id)),
                page::PLACEMENT_STATISTICS => placement::statistics(&drives.placement_statistics(namespace.id)),
                _ => placement::events(&drives.placement_events(namespace.id, request.specific & 1 != 0)),
            })
        }
        _ => Err(Status::LOG_PAGE_INVALID.do_not_retry()),
    }
}

/// Supported log pages (log page 00h): bit 0 of each page's dword.
fn supported(pages: &[u8]) -> Vec<u8> {
    let mut data = vec![0; 1024];
    for page in pages {
        data[usize::from(*page) * 4] = 1;
    }
    data
}
