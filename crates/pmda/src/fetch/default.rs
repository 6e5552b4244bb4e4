//! The fetch of an agent that answers value by value, as pmdaFetch(3) does.

use pcp_event::{Pmid, Value, ValueType};

use super::FetchRequest;
use super::results::Results;
use crate::error::Error;
use crate::handler::Handler;
use crate::ids::IN_NULL;
use crate::tables::Tables;

/// Answers a fetch by calling [`Handler::value`] for each instance in the profile. This is the
/// default of [`Handler::fetch`], for agents that override it to add work once per fetch.
pub fn fetch_values<H: Handler + ?Sized>(
    handler: &mut H,
    request: &FetchRequest<'_>,
    tables: &mut Tables,
    results: &mut Results,
) {
    for (place, pmid) in request.places() {
        results.begin_set(place, pmid);
        let outcome = values_of(handler, request, pmid, tables, results);
        results.end_set(outcome);
    }
}

fn values_of<H: Handler + ?Sized>(
    handler: &mut H,
    request: &FetchRequest<'_>,
    pmid: Pmid,
    tables: &mut Tables,
    results: &mut Results,
) -> Result<(), Error> {
    let (ty, indom) = tables.find(pmid.0).ok_or(Error::PMID)?;
    let instances = match indom {
        None => vec![IN_NULL],
        Some(indom) => {
            handler.refresh(indom, tables);
            request.profile.select(indom, tables.instances(indom))
        }
    };
    let mut outcome = Ok(());
    for inst in instances {
        match handler.value(pmid, inst) {
            Ok(Some(value)) => add(results, inst, ty, &value),
            Ok(None) => {}
            Err(error) => outcome = Err(error),
        }
        if !results.budget.step(1) {
            results.refuse();
        }
        if results.is_refused() {
            break;
        }
    }
    outcome
}

/// Adds a value, encoded in the type of its metric.
fn add(results: &mut Results, inst: u32, ty: ValueType, value: &Value) {
    match value {
        Value::Text(text) if ty == ValueType::Text => results.text(inst, text),
        Value::F32(number) if ty == ValueType::F32 => {
            results.number(inst, ty, number.to_bits().into());
        }
        _ => match value.to_bits(ty) {
            Some(bits) => results.number(inst, ty, bits),
            None => {
                debug_assert!(false, "a value that does not fit the type {ty:?}");
                results.refuse();
            }
        },
    }
}
