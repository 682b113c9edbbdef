//! `flashloom explain`: where the time of requests went.

use std::io::{self, Write};

use report::{explained_table, request_table};
use study::watch::Watch;
use study::watch::explain::{Explanation, OneRequest};

use crate::args::RunArgs;
use crate::exit::{Failure, print};
use crate::run::perform;

/// Runs `flashloom explain`.
pub(crate) fn explain(args: &RunArgs, request: Option<u64>, results: &mut dyn Write) -> Result<(), Failure> {
    if args.output.timeline.is_some() {
        let remedy = "give --timeline to `flashloom run`";
        return Err(Failure::Input(format!("explain writes no timeline; {remedy}")));
    }
    if args.seeds > 1 {
        let remedy = "leave out --seeds, or give it to `flashloom run`";
        return Err(Failure::Input(format!("explain shows the requests of one run; {remedy}")));
    }
    // `flashloom explain` leaves the results of the run itself to `flashloom run`.
    let watch = match request {
        Some(_) => Watch::default().journeys(request),
        None => Watch::default().explaining(),
    };
    let outcome = perform(args, Some(watch), &mut io::sink())?;
    let watch = outcome.watch.as_ref().expect("somebody watched");
    let one = match request {
        None => None,
        Some(number) => {
            let journey = watch.finished().iter().find(|journey| journey.tag == number);
            let missing = || {
                let count = watch.finished().len();
                Failure::Input(format!(
                    "--request {number}: the run has {count} requests, counted from 0; name one of them"
                ))
            };
            Some(OneRequest::new(journey.ok_or_else(missing)?, watch.legs()))
        }
    };
    let all = Explanation::new(watch.bands(), one);
    let text = match &all.request {
        _ if args.output.json => all.json(),
        Some(one) => request_table(one),
        None => explained_table(&all.explained),
    };
    print(results, &text)
}
