//! The counters that are looked up (docs/protocols/jvm-hsperfdata.md 3): all others are walked over.

macro_rules! counters {
    ($($counter:ident $name:literal,)*) => {
        /// A counter by its name, in the order of names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Counter {
            $(#[doc = concat!("`", $name, "`")] $counter,)*
        }

        /// Names in the order of bytes: a name is found by bisection.
        const NAMES: [(&str, Counter); COUNTERS] = [$(($name, Counter::$counter),)*];

        /// Number of counters.
        pub(super) const COUNTERS: usize = [$($name,)*].len();
    };
}

counters! {
    JitTime "java.ci.totalTime", ClassesLoaded "java.cls.loadedClasses",
    SharedLoaded "java.cls.sharedLoadedClasses", SharedUnloaded "java.cls.sharedUnloadedClasses",
    ClassesUnloaded "java.cls.unloadedClasses", ClassPath "java.property.java.class.path",
    Version "java.property.java.version", VmInfo "java.property.java.vm.info",
    VmName "java.property.java.vm.name",
    Specification "java.property.java.vm.specification.version",
    Vendor "java.property.java.vm.vendor", VmVersion "java.property.java.vm.version",
    VmArgs "java.rt.vmArgs", ThreadsDaemon "java.threads.daemon", ThreadsLive "java.threads.live",
    ThreadsPeak "java.threads.livePeak", ThreadsStarted "java.threads.started",
    CodeBytes "sun.ci.nmethodCodeSize", Bailouts "sun.ci.totalBailouts",
    Compiles "sun.ci.totalCompiles", Invalidates "sun.ci.totalInvalidates",
    ClassTime "sun.cls.time", Cause "sun.gc.cause", Count0 "sun.gc.collector.0.invocations",
    Entry0 "sun.gc.collector.0.lastEntryTime", Exit0 "sun.gc.collector.0.lastExitTime",
    Name0 "sun.gc.collector.0.name", Time0 "sun.gc.collector.0.time",
    Count1 "sun.gc.collector.1.invocations", Entry1 "sun.gc.collector.1.lastEntryTime",
    Exit1 "sun.gc.collector.1.lastExitTime", Name1 "sun.gc.collector.1.name",
    Time1 "sun.gc.collector.1.time", Count2 "sun.gc.collector.2.invocations",
    Entry2 "sun.gc.collector.2.lastEntryTime", Exit2 "sun.gc.collector.2.lastExitTime",
    Name2 "sun.gc.collector.2.name", Time2 "sun.gc.collector.2.time",
    ClassSpaceCapacity "sun.gc.compressedclassspace.capacity",
    ClassSpaceUsed "sun.gc.compressedclassspace.used", YoungCapacity "sun.gc.generation.0.capacity",
    YoungMax "sun.gc.generation.0.maxCapacity", EdenCapacity "sun.gc.generation.0.space.0.capacity",
    EdenMax "sun.gc.generation.0.space.0.maxCapacity", EdenUsed "sun.gc.generation.0.space.0.used",
    Survivor0Capacity "sun.gc.generation.0.space.1.capacity",
    Survivor0Max "sun.gc.generation.0.space.1.maxCapacity",
    Survivor0Used "sun.gc.generation.0.space.1.used",
    Survivor1Capacity "sun.gc.generation.0.space.2.capacity",
    Survivor1Max "sun.gc.generation.0.space.2.maxCapacity",
    Survivor1Used "sun.gc.generation.0.space.2.used", YoungSpaces "sun.gc.generation.0.spaces",
    OldCapacity "sun.gc.generation.1.capacity", OldMax "sun.gc.generation.1.maxCapacity",
    OldSpaceCapacity "sun.gc.generation.1.space.0.capacity",
    OldSpaceMax "sun.gc.generation.1.space.0.maxCapacity",
    OldSpaceUsed "sun.gc.generation.1.space.0.used", OldSpaces "sun.gc.generation.1.spaces",
    LastCause "sun.gc.lastCause", MetaspaceCapacity "sun.gc.metaspace.capacity",
    MetaspaceUsed "sun.gc.metaspace.used", PolicyName "sun.gc.policy.name",
    Promoted "sun.gc.policy.promoted", Survived "sun.gc.policy.survived",
    Frequency "sun.os.hrt.frequency", Contended "sun.rt._sync_ContendedLockAttempts",
    BeginTime "sun.rt.createVmBeginTime", Command "sun.rt.javaCommand",
    Capabilities "sun.rt.jvmCapabilities", SafepointSyncTime "sun.rt.safepointSyncTime",
    SafepointTime "sun.rt.safepointTime", Safepoints "sun.rt.safepoints",
    GcCpuTime "sun.threads.total_gc_cpu_time", VmOperationTime "sun.threads.vmOperationTime",
}

impl Counter {
    /// The counter of a name, if it is looked up.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()?;
        NAMES.get(at).map(|&(_, counter)| counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(NAMES.is_sorted_by(|a, b| a.0 < b.0));
        for (at, (name, counter)) in NAMES.into_iter().enumerate() {
            assert_eq!((counter as usize, Counter::named(name.as_bytes())), (at, Some(counter)));
        }
        for name in ["", "java.ci", "sun.gc.collector.99.invocations", "z"] {
            assert_eq!(Counter::named(name.as_bytes()), None);
        }
    }
}
