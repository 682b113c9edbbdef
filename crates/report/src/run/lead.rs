//! The first paragraph of a run's page: the run, the result, and warnings about conclusions.

use base::units::Span;

use study::summary::Summary;
use study::text::{capacities, count, duration};

use super::life;
use crate::page::Lead;
use crate::sentence::{seeds, sentence, several, unsupported};

pub(super) fn lead(stages: &[&Summary]) -> Lead {
    let each: Vec<Lead> = stages.iter().map(|summary| of(summary)).collect();
    let numbered = |number: usize, text: &str| {
        if each.len() > 1 { format!("Stage {}: {text}", number + 1) } else { text.to_owned() }
    };
    let mut all = Lead::default();
    for (i, lead) in each.iter().enumerate() {
        all.compared = format!("{} {}", all.compared, numbered(i, &lead.compared)).trim().to_owned();
        let first = lead.came_out.iter().take(1).map(|text| numbered(i, text));
        all.came_out.extend(first.chain(lead.came_out.iter().skip(1).cloned()));
        all.caution.extend(lead.caution.iter().map(|text| numbered(i, text)));
    }
    all.caution.extend(seeds(1));
    all
}

fn of(summary: &Summary) -> Lead {
    let span = duration(Span::from_secs_f64(summary.simulated_s).as_us_f64());
    let (requests, written) = (count(summary.requests as f64), summary.validity.capacities_written);
    let wrote =
        if written > 0.0 { format!(", which wrote {} of the capacity", capacities(written)) } else { String::new() };
    let loop_of =
        if summary.pacing == "open" { "in an open loop".to_owned() } else { format!("in a loop, {}", summary.pacing) };
    let compared = format!(
        "{} served {} {loop_of}: {requests} requests in {span} of simulated time{wrote}.",
        summary.device, summary.workload
    );
    let mut came_out: Vec<String> = summary.life.iter().flat_map(life::sentences).collect();
    for kind in ["read", "write"] {
        let Some(of) = summary.kinds.get(kind) else { continue };
        let hidden = summary.validity.unsupported.get(kind).map_or(&[][..], Vec::as_slice);
        let Some(mean) = of.latency_us.get("mean") else { continue };
        let p99 = of.latency_us.get("p99").filter(|_| !hidden.contains(&"p99"));
        let slow = p99.map_or_else(String::new, |us| format!(", and 99 % of them at most {}", duration(*us)));
        came_out.push(sentence(&format!("{} took {} on average{slow}", several(kind), duration(*mean))));
    }
    if let Some(rate) = summary.requests_per_s {
        came_out.push(format!("The drive completed {} requests per second.", count(rate)));
    }
    if let Some(waf) = summary.write_amplification {
        let steady = summary.validity.steady.get("waf").map_or("", |of| match of.steady {
            true => ", in steady state by SNIA's rule",
            false => ", which is not steady by SNIA's rule",
        });
        came_out.push(format!("Write amplification was {waf:.2}{steady}."));
    }
    let mut caution: Vec<String> = summary.validity.warnings.iter().map(|text| sentence(text)).collect();
    caution.extend(unsupported(summary));
    Lead { compared, came_out, caution }
}
