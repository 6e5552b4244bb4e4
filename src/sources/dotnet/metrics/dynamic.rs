//! Places of the metrics and parameters that processes define.

use super::tables::SERIES;
use crate::model::Place;

/// EventCounters: `apm.dotnet.counter.PROVIDER.NAME`.
pub(crate) const COUNTERS: Place = Place::Peers("counter");
/// Instruments of meters, by series: `apm.dotnet.meter.METER.INSTRUMENT`.
pub(crate) const METERS: Place = Place::Rows("meter", SERIES);
/// Fields of events: `apm.dotnet.param.PROVIDER.EVENT.FIELD`.
pub(crate) const FIELDS: Place = Place::Param;

/// The places, each with one line of help.
pub(crate) const PLACES: &[(Place, &str)] = &[
    (COUNTERS, "EventCounters of the providers in dotnet.counters, by provider"),
    (METERS, "Instruments of the meters in dotnet.meters, by meter"),
    (FIELDS, "Fields of events of the providers in dotnet.providers, as parameters of records"),
];
