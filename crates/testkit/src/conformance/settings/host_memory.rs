//! Settings with a map cache in the host memory buffer, which the host takes back and gives again.

use base::units::{Bytes, Rate, Span};
use ftl::map_unit::{CdftlSpec, DftlSpec, FmmuSpec, HmbSpec};
use ssd::{HostMemoryChange, HostMemorySpec, LinkSpec, MapSpec, Spec};

use super::{Book, buffer};

/// Memory for eight translation pages of 512 bytes, the fewest that form a set of the cache.
pub(crate) const ASKED: HmbSpec =
    HmbSpec { preferred: Bytes::new(4096), minimum: Bytes::new(4096), latency: Span::from_us(1) };

/// Changes of the host memory buffer: the host takes the memory back and gives it again, at growing intervals.
pub(crate) fn changing() -> HostMemorySpec {
    let change = |step: u32| HostMemoryChange {
        at: Span::from_us(200) * (1 << step),
        size: Bytes::new(if step.is_multiple_of(2) { 0 } else { 4096 }),
    };
    HostMemorySpec { size: None, changes: (0..12).map(change).collect() }
}

/// Returns the map with so few cached pages that it loads pages often, and with the host memory buffer; `None` for a
/// map without such a cache.
pub(crate) fn in_host_memory(map: MapSpec) -> Option<MapSpec> {
    let (block, page, hmb) = (Bytes::new(64), Bytes::new(512), Some(ASKED));
    Some(match map {
        MapSpec::Dftl(spec) => MapSpec::Dftl(DftlSpec { cmt: block * 2, ways: 1, hmb, ..spec }),
        MapSpec::Cdftl(spec) => MapSpec::Cdftl(CdftlSpec { cmt: block * 2, ctp: page, ways: 1, cores: 1, hmb, ..spec }),
        MapSpec::Fmmu(spec) => MapSpec::Fmmu(FmmuSpec { cmt: block * 2, ctp: page, ways: 1, hmb, ..spec }),
        MapSpec::Ram | MapSpec::Table { .. } | MapSpec::Uncached { .. } | MapSpec::Own(_) => return None,
    })
}

impl Book {
    pub(super) fn host_memories(&mut self) {
        let Some(map) = in_host_memory(self.map) else { return };
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.add(format!("host memory{name}"), |spec| {
                (spec.ftl.map, spec.host.hmb) = (map, Some(changing()));
                change(spec);
            });
        };
        add("", &|_| {});
        add(", never taken back", &|spec| spec.host.hmb = None);
        add(", buffered", &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add(", over a slow link, chopped requests", &|spec| {
            (spec.host.chop, spec.host.queue_depth) = (Some(Bytes::new(1024)), 32);
            spec.host.link = LinkSpec { rate: Some(Rate::new(20_000_000)), ..LinkSpec::default() };
        });
    }
}
