//! Removal of keys that the resolver refuses in a random description because they have no effect.

use flash::backend::{Arbitration, Completion, Controllers, SuspendSpec, Transfer};
use ftl::{ProcessorSpec, SlcMlcSpec};
use ssd::{BufferSpec, GcSpec, PlacementSpec, QueueArbitration, ReadTransfer, Spec, WearSpec};

/// Removes every key that is refused because it has no effect on this device.
///
/// # Panics
/// If the resolver names a key that this function cannot remove.
pub fn leave_out_idle(spec: &mut Spec) {
    let faults = spec.resolve().map_or_else(|faults| faults, |_| Vec::new());
    for fault in faults.iter().filter(|fault| fault.message.starts_with("has no effect here")) {
        leave_out(spec, &fault.path);
    }
}

fn leave_out(spec: &mut Spec, path: &str) {
    if let (Some(key), Some(chang)) = (path.strip_prefix("ftl.chang."), &mut spec.ftl.chang) {
        return leave_out_of_chang(chang, key);
    }
    if let (Some(key), Some(rules)) = (path.strip_prefix("flash.suspend."), &mut spec.flash.suspend) {
        return leave_out_of_suspend(rules, key);
    }
    match path {
        "flash.multi-plane" => spec.flash.multi_plane = None,
        "flash.cache-mode" => spec.flash.cache_mode = true,
        "flash.cache-across-lists" => spec.flash.cache_across_lists = false,
        "flash.paired-pages" => spec.flash.paired_pages = false,
        "flash.transfer" => spec.flash.transfer = Transfer::default(),
        "flash.arbitration.bus" => spec.flash.arbitration.bus = Arbitration::default().bus,
        "flash.arbitration.between-pages" => spec.flash.arbitration.between_pages = true,
        "flash.completion" => spec.flash.completion = Completion::default(),
        "flash.controllers" => spec.flash.controllers = Controllers::default(),
        "ftl.gc" => spec.ftl.gc = GcSpec::default(),
        "ftl.gc.copy-back" => spec.ftl.gc.copy_back = false,
        "ftl.placement" => spec.ftl.placement = PlacementSpec::default(),
        "ftl.wear.check-every" => spec.ftl.wear.check_every = WearSpec::default().check_every,
        "ftl.map-gather" => spec.ftl.map_gather = None,
        "ftl.hydra.processor.read-cycles" => {
            let processor = spec.ftl.hydra.as_mut().and_then(|hydra| hydra.processor.as_mut());
            processor.expect("a processor").read_cycles = ProcessorSpec::default().read_cycles;
        }
        "host.read-transfer" => spec.host.read_transfer = ReadTransfer::default(),
        "host.burst" => spec.host.burst = 1,
        "host.arbitration" => {
            spec.host.arbitration = QueueArbitration::default();
            spec.host.queue.iter_mut().for_each(|queue| queue.weight = None);
        }
        "buffer.low" => {
            let buffer = spec.buffer.as_mut().expect("a buffer");
            buffer.low = BufferSpec::new(buffer.size).low;
        }
        _ => panic!("{path} has no effect, and its default is unknown"),
    }
}

fn leave_out_of_suspend(rules: &mut SuspendSpec, key: &str) {
    let plain = SuspendSpec::default();
    match key {
        "writes" => rules.writes = plain.writes,
        "program-steps" => rules.program_steps = plain.program_steps,
        "program-time" => rules.program_time = plain.program_time,
        "program-resume" => rules.program_resume = plain.program_resume,
        "erase-steps" => rules.erase_steps = plain.erase_steps,
        "erase-time" => rules.erase_time = plain.erase_time,
        "erase-resume" => rules.erase_resume = plain.erase_resume,
        "progress" => rules.progress = plain.progress,
        _ => panic!("flash.suspend.{key} has no effect, and its default is unknown"),
    }
}

fn leave_out_of_chang(chang: &mut SlcMlcSpec, key: &str) {
    let plain = SlcMlcSpec::default();
    match key {
        "threshold" => chang.threshold = plain.threshold,
        "recluster-every" => chang.recluster_every = plain.recluster_every,
        "hash-entries" => chang.hash_entries = plain.hash_entries,
        "probing" => chang.probing = plain.probing,
        "probes" => chang.probes = plain.probes,
        "throttle" => chang.throttle = plain.throttle,
        "throttle-step" => chang.throttle_step = plain.throttle_step,
        "throttle-every" => chang.throttle_every = plain.throttle_every,
        "copy-back" => chang.copy_back = plain.copy_back,
        "fold-assistance" => chang.fold_assistance = plain.fold_assistance,
        "safety-valve" => chang.safety_valve = plain.safety_valve,
        "mapping-cache" => chang.mapping_cache = plain.mapping_cache,
        "scan-data-blocks" => chang.scan_data_blocks = plain.scan_data_blocks,
        _ => panic!("ftl.chang.{key} has no effect, and its default is unknown"),
    }
}
