//! `--help`.

/// What `--help` prints.
pub(super) const HELP: &str = "\
Usage: pcp [PCP OPTIONS] apm export [OPTIONS] [SOURCE.KIND ...]

Sends event records of pmdaapm to tools that know traces: live or from an archive.
Without SOURCE.KIND all kinds are read; zorka and profiler.* are all kinds of a source.

Where to (several at once)
  --otlp URL|FILE         OTLP by HTTP, as Jaeger, Tempo, the OpenTelemetry Collector and others take it;
                          /v1/traces is appended. A FILE has JSON, or protobuf if its name ends with .pb;
                          - is the standard output
                          [default: OTEL_EXPORTER_OTLP_ENDPOINT if nothing else is asked for]
  --perfetto FILE         a trace for ui.perfetto.dev; live with -f it can be opened while it grows
  --chrome FILE           the same as Chrome's JSON; the name should end with .trace.json
  --counters METRIC,...   values of these metrics in such a trace; of counters their rates
  --pprof FILE|URL        stacks with their time, without records: for go tool pprof, or sent to Pyroscope
  --speedscope FILE       the same for speedscope.app. With --trace or --slowest those of single calls, by their trees
From where
  -h, --host HOST         pmcd of this host [default: this host]
  -a, --archive ARCHIVE   an archive of pmlogger
  -S, --start TIME        -T, --finish TIME  -O, --origin TIME  -A, --align TIME
                          the part of an archive, as in PCPIntro(1)
  -Z, --timezone ZONE     -z, --hostzone  the time zone of those
  -f, --follow            live: goes on until it is interrupted
  -t, --interval TIME     live: between two looks [default: 1 second]; of stacks the time of the profile
                          [default: 2 seconds, with -f 10 seconds]
  --total                 of stacks all that was counted
  --lines FILE            lines of `pcp apm events`, for stacks of `pcp apm folded`; - is the standard input
Which
  -x, --filter EXPRESSION live: only records for which it holds
  --trace ID              only this trace; its begin will do
  --slowest N             only the N slowest calls that have a tree of methods, as in pcp apm tree
  --service PATTERN       only services that match; * matches anything. Collections, pauses and waits for locks of
                          all are kept, unless they are spans of their own; with --trace and --slowest those of
                          the same processes and time
  --all                   collections, pauses, waits, samples and all others as spans of their own too
How OTLP is sent
  --json                  JSON instead of protobuf
  --header NAME=VALUE     a header, with percent signs as in URLs; several times
  --compression gzip|none [default: gzip]
  --shift                 all times later, so that the newest of an archive is now: some receivers refuse old spans
As a service
  --config FILE           options from a file: follows for ever, waits for receivers instead of giving up
  --state FILE            what has been delivered is noted there, and not sent again after a restart
  --check                 only checks the options and the file
  -V, --version           -?, --help

Environment: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _COMPRESSION, _TIMEOUT, _PROTOCOL, _CERTIFICATE,
_CLIENT_CERTIFICATE, _CLIENT_KEY, each also with TRACES_ before the last part.
Exit status: 0 all was delivered; 1 something was refused or is wrong; 2 wrong options.
";
