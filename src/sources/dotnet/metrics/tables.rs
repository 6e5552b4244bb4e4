//! The tables: instance domains of a source beside its processes.

use super::CLUSTER;
use super::rows::*;
use crate::catalogue::{InDomDef, TableDef};
use crate::listed;
use crate::model::TableId;

/// Lower bounds of the ranges of pauses in us.
pub(crate) const PAUSE_EDGES: [u64; 14] = [
    0, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000,
];

/// Lower bounds of the ranges of waits for locks in us.
pub(crate) const CONTENTION_EDGES: [u64; 20] = [
    0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

pub(crate) fn pause_buckets() -> Vec<String> {
    crate::meter::bucket_names(&PAUSE_EDGES)
}

pub(crate) fn contention_buckets() -> Vec<String> {
    crate::meter::bucket_names(&CONTENTION_EDGES)
}

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Generations of .NET heaps.
    GENERATIONS = TableDef {
        name: "generation",
        cluster: CLUSTER + 10,
        indom: InDomDef {
            serial: 60,
            oneline: "Generations of .NET heaps",
            help: "One instance for each generation of each process: PROCESS::gen0, gen1, gen2, loh (large objects), poh (pinned objects), and background for the time of background collections.",
        },
        of_peer: true,
        max: 16384,
        score: GC_COUNT,
        initial: Vec::new,
    };
    /// Reasons of .NET garbage collections.
    REASONS = TableDef {
        name: "reason",
        cluster: CLUSTER + 11,
        indom: InDomDef {
            serial: 61,
            oneline: "Reasons of .NET garbage collections",
            help: "One instance for each reason of collections of each process: PROCESS::REASON.",
        },
        of_peer: true,
        max: 16384,
        score: GC_REASON,
        initial: Vec::new,
    };
    /// Lengths of .NET garbage collection pauses.
    PAUSE_BUCKETS = TableDef {
        name: "pause",
        cluster: CLUSTER + 12,
        indom: InDomDef {
            serial: 62,
            oneline: "Lengths of .NET garbage collection pauses",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        },
        of_peer: false,
        max: PAUSE_EDGES.len() + 1,
        score: PAUSES,
        initial: pause_buckets,
    };
    /// Lengths of waits for .NET locks.
    CONTENTION_BUCKETS = TableDef {
        name: "contention",
        cluster: CLUSTER + 13,
        indom: InDomDef {
            serial: 63,
            oneline: "Lengths of waits for .NET locks",
            help: "One instance for each range of lengths: LO-HI in us, LO included.",
        },
        of_peer: false,
        max: CONTENTION_EDGES.len() + 1,
        score: CONTENTIONS,
        initial: contention_buckets,
    };
    /// Types of .NET exceptions.
    EXCEPTION_TYPES = TableDef {
        name: "exception",
        cluster: CLUSTER + 14,
        indom: InDomDef {
            serial: 64,
            oneline: "Types of .NET exceptions",
            help: "One instance for each type of exception that each process threw: PROCESS::NAMESPACE.TYPE. A process's types beyond 200 are together in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        score: EXCEPTION_TYPE,
        initial: Vec::new,
    };
    /// Types that .NET processes allocate.
    ALLOC_TYPES = TableDef {
        name: "allocation",
        cluster: CLUSTER + 48,
        indom: InDomDef {
            serial: 65,
            oneline: "Types that .NET processes allocate",
            help: "One instance for each type of objects that each process allocated: PROCESS::NAMESPACE.TYPE. A process's types beyond 200 are together in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        score: ALLOC_TYPE_BYTES,
        initial: Vec::new,
    };
    /// .NET locks that threads waited for.
    LOCKS = TableDef {
        name: "lock",
        cluster: CLUSTER + 49,
        indom: InDomDef {
            serial: 66,
            oneline: ".NET locks that threads waited for",
            help: "One instance for each lock of each process: PROCESS::lock@ID, or with dotnet.locks the method that waited. A process's locks beyond 100 are together in PROCESS::other.",
        },
        of_peer: true,
        max: 16384,
        score: LOCK_TIME,
        initial: Vec::new,
    };
    /// Reasons of adjustments of .NET thread pools.
    ADJUSTMENTS = TableDef {
        name: "adjustment",
        cluster: CLUSTER + 50,
        indom: InDomDef {
            serial: 67,
            oneline: "Reasons of adjustments of .NET thread pools",
            help: "One instance for each reason of each process: PROCESS::REASON.",
        },
        of_peer: true,
        max: 8192,
        score: ADJUSTMENT,
        initial: Vec::new,
    };
    /// Tiers of .NET compilation.
    TIERS = TableDef {
        name: "tier",
        cluster: CLUSTER + 51,
        indom: InDomDef {
            serial: 68,
            oneline: "Tiers of .NET compilation",
            help: "One instance for each tier of each process: PROCESS::TIER.",
        },
        of_peer: true,
        max: 8192,
        score: JIT_TIER,
        initial: Vec::new,
    };
    /// Kinds of waits of .NET threads.
    WAITS = TableDef {
        name: "wait",
        cluster: CLUSTER + 52,
        indom: InDomDef {
            serial: 69,
            oneline: "Kinds of waits of .NET threads",
            help: "One instance for each kind of each process: PROCESS::monitor and PROCESS::other.",
        },
        of_peer: true,
        max: 4096,
        score: WAIT_TIME,
        initial: Vec::new,
    };
    /// Processor time of .NET processes.
    CPU = TableDef {
        name: "mode",
        cluster: CLUSTER + 53,
        indom: InDomDef {
            serial: 70,
            oneline: "Processor time of .NET processes",
            help: "PROCESS::user and PROCESS::system.",
        },
        of_peer: true,
        max: 4096,
        score: CPU_TIME,
        initial: Vec::new,
    };
    /// Stacks of .NET methods.
    STACKS = TableDef {
        name: "stack",
        cluster: CLUSTER + 54,
        indom: InDomDef {
            serial: 71,
            oneline: "Stacks of .NET methods",
            help: "One instance for each stack of managed methods, of all processes: NAMESPACE.TYPE.METHOD of each frame, outermost first, parted by commas, as flame graphs want it. Those with most processor time have instances, the others are together in the instance other.",
        },
        of_peer: false,
        max: 500,
        score: STACK_SAMPLES,
        initial: Vec::new,
    };
    /// Methods in .NET profiles.
    METHODS = TableDef {
        name: "method",
        cluster: CLUSTER + 55,
        indom: InDomDef {
            serial: 72,
            oneline: "Methods in .NET profiles",
            help: "One instance for each method in samples, of all processes. Those with most processor time have instances, the others are together in the instance other.",
        },
        of_peer: false,
        max: 500,
        score: METHOD_SELF,
        initial: Vec::new,
    };
    /// Series of .NET meters.
    SERIES = TableDef {
        name: "series",
        cluster: CLUSTER + 56,
        indom: InDomDef {
            serial: 73,
            oneline: "Series of .NET meters",
            help: "One instance for each set of tags of each process: PROCESS::KEY=VALUE,KEY=VALUE, sorted by key; PROCESS::- has no tags.",
        },
        of_peer: true,
        max: 16384,
        score: SERIES_UPDATES,
        initial: Vec::new,
    };
}
