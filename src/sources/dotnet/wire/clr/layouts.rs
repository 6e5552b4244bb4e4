//! Layouts of payloads as data, and how they are read: a table that was checked byte by byte with
//! captures of .NET 3.1, 9 and 10 (docs/protocols/dotnet.md 5). Events that nobody reads have a name only.

use crate::sources::dotnet::wire::Utf16;

/// An event of `version` has what exists since version `since`.
const fn has(since: u32, version: u32) -> bool {
    since <= version
}

/// Rows `Variant id "name" first {field type [version that appended it], …}` become variants of
/// [`Decoded`] and their decoding; rows of `known` have no fields here.
macro_rules! layouts {
    (
        typed {$(
            $variant:ident $id:literal $name:literal $first:literal {
                $($field:ident $ty:ident $($since:literal)?),*
            }
        )*}
        known {$($kid:literal $kname:literal $kfirst:literal;)*}
    ) => {
        /// A decoded event. Fields that a version does not have are 0 or empty.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "fields have the names of docs/protocols/dotnet.md 5")]
        pub enum Decoded<'a> {
            $(
                #[doc = $name]
                $variant { $($field: layouts!(@type $ty)),* },
            )*
            /// An event of the table that nobody reads.
            Known,
            /// The id is not in the table, or the version is older than its layout.
            Unknown,
        }

        /// Decodes an event of the runtime. A version newer than the table's is decoded as the
        /// newest of the table, since versions append fields.
        ///
        /// # Errors
        /// The payload is shorter than its layout.
        #[inline(always)]
        pub fn decode(
            id: u32,
            version: u32,
            pointer_size: u32,
            payload: &[u8],
        ) -> Result<Decoded<'_>, Short> {
            let mut cursor = Cursor::new(payload, pointer_size);
            match id {
                $($id if has($first, version) => Ok(Decoded::$variant {
                    $($field: layouts!(@read cursor version $ty $($since)?)),*
                }),)*
                $($kid if has($kfirst, version) => Ok(Decoded::Known),)*
                _ => Ok(Decoded::Unknown),
            }
        }

        /// Ids and names without versions.
        pub(crate) const NAMES: &[(u32, &str)] = &[$(($id, $name),)* $(($kid, $kname),)*];
    };
    (@type u1) => { u8 };
    (@type u2) => { u16 };
    (@type u4) => { u32 };
    (@type u8) => { u64 };
    (@type f8) => { f64 };
    (@type p) => { u64 };
    (@type s) => { Utf16<'a> };
    (@type ns) => { u32 };
    (@read $cursor:ident $version:ident $ty:ident) => { $cursor.$ty()? };
    (@read $cursor:ident $version:ident $ty:ident $since:literal) => {
        if has($since, $version) { $cursor.$ty()? } else { Default::default() }
    };
}

layouts! {
    typed {
        GcStart 1 "GCStart" 1 {
            count u4, depth u4, reason u4, kind u4, clr u2, sequence u8 2
        }
        GcEnd 2 "GCEnd" 1 { count u4, depth u4, clr u2 }
        RestartEnd 3 "GCRestartEEEnd" 1 { clr u2 }
        HeapStats 4 "GCHeapStats" 1 {
            size0 u8, promoted0 u8, size1 u8, promoted1 u8, size2 u8, promoted2 u8, size3 u8,
            promoted3 u8, finalization_size u8, finalization_count u8, pinned u4, sink_blocks u4,
            handles u4, clr u2, size4 u8 2, promoted4 u8 2
        }
        SuspendEnd 8 "GCSuspendEEEnd" 1 { clr u2 }
        SuspendBegin 9 "GCSuspendEEBegin" 1 { reason u4, count u4, clr u2 }
        AllocationTick 10 "GCAllocationTick" 2 {
            amount u4, kind u4, clr u2, amount64 u8, type_id p, type_name s, heap u4, address p 3,
            object_size u8 4
        }
        FinalizersEnd 13 "GCFinalizersEnd" 1 { count u4, clr u2 }
        WorkerStart 50 "ThreadPoolWorkerThreadStart" 0 { active u4, retired u4, clr u2 }
        WorkerStop 51 "ThreadPoolWorkerThreadStop" 0 { active u4, retired u4, clr u2 }
        PoolSample 54 "ThreadPoolWorkerThreadAdjustmentSample" 0 { throughput f8, clr u2 }
        PoolAdjustment 55 "ThreadPoolWorkerThreadAdjustmentAdjustment" 0 {
            throughput f8, target u4, reason u4, clr u2
        }
        WorkerWait 57 "ThreadPoolWorkerThreadWait" 0 { active u4, retired u4, clr u2 }
        PoolLimits 59 "ThreadPoolMinMaxThreads" 0 {
            min_workers u2, max_workers u2, min_io u2, max_io u2, clr u2
        }
        Exception 80 "ExceptionThrown" 1 {
            kind s, message s, address p, hresult u4, flags u2, clr u2
        }
        ContentionStart 81 "ContentionStart" 1 {
            flags u1, clr u2, lock u8 2, object u8 2, owner u8 2
        }
        ThreadCreated 85 "ThreadCreated" 0 {
            managed_id u8, domain u8, flags u4, index u4, thread u4, clr u2
        }
        ContentionStop 91 "ContentionStop" 0 { flags u1, clr u2, duration f8 1 }
        MethodLoad 143 "MethodLoadVerbose" 0 {
            method u8, module u8, address u8, size u4, token u4, flags u4, namespace s, name s,
            signature s, clr u2 1, rejit u8 2
        }
        MethodUnload 144 "MethodUnloadVerbose" 0 {
            method u8, module u8, address u8, size u4, token u4, flags u4, namespace s, name s,
            signature s, clr u2 1, rejit u8 2
        }
        JittingStarted 145 "MethodJittingStarted" 0 {
            method u8, module u8, token u4, il_size u4, namespace s, name s, signature s, clr u2 1
        }
        AssemblyLoad 154 "AssemblyLoad" 1 { assembly u8, domain u8, binding u8, flags u4, name s, clr u2 }
        AssemblyUnload 155 "AssemblyUnload" 1 {
            assembly u8, domain u8, binding u8, flags u4, name s, clr u2
        }
        GlobalHeap 205 "GCGlobalHeapHistory" 2 {
            youngest u8, heaps u4, depth u4, gen0_reductions u4, reason u4, mechanisms u4, clr u2,
            pause_mode u4, memory_load u4, condemn0 u4 3, condemn1 u4 3, times ns 4
        }
        CatchStart 250 "ExceptionCatchStart" 0 { address u8, method u8, name s, clr u2 }
        BackgroundJitStart 283 "TieredCompilationBackgroundJitStart" 0 { clr u2, pending u4 }
        BackgroundJitStop 284 "TieredCompilationBackgroundJitStop" 0 { clr u2, pending u4, jitted u4 }
        WaitStart 301 "WaitHandleWaitStart" 0 { source u1, object p, clr u2 }
        WaitStop 302 "WaitHandleWaitStop" 0 { clr u2 }
        AllocationSampled 303 "AllocationSampled" 0 {
            kind u4, clr u2, type_id p, type_name s, address p, object_size u8, offset u8
        }
    }
    known {
        5 "GCCreateSegment" 0;
        6 "GCFreeSegment" 0;
        7 "GCRestartEEBegin" 1;
        11 "GCCreateConcurrentThread" 1;
        12 "GCTerminateConcurrentThread" 1;
        14 "GCFinalizersBegin" 1;
        15 "BulkType" 0;
        16 "GCBulkRootEdge" 0;
        17 "GCBulkRootConditionalWeakTableElementEdge" 0;
        18 "GCBulkNode" 0;
        19 "GCBulkEdge" 0;
        20 "GCSampledObjectAllocationHigh" 0;
        21 "GCBulkSurvivingObjectRanges" 0;
        22 "GCBulkMovedObjectRanges" 0;
        23 "GCGenerationRange" 0;
        25 "GCMarkStackRoots" 0;
        26 "GCMarkFinalizeQueueRoots" 0;
        27 "GCMarkHandles" 0;
        28 "GCMarkOlderGenerationRoots" 0;
        29 "FinalizeObject" 0;
        30 "SetGCHandle" 0;
        31 "DestroyGCHandle" 0;
        32 "GCSampledObjectAllocationLow" 0;
        33 "PinObjectAtGCTime" 0;
        35 "GCTriggered" 0;
        36 "GCBulkRootCCW" 0;
        37 "GCBulkRCW" 0;
        38 "GCBulkRootStaticVar" 0;
        39 "GCDynamicEvent" 0;
        44 "IOThreadCreate" 1;
        45 "IOThreadTerminate" 1;
        52 "ThreadPoolWorkerThreadRetirementStart" 0;
        53 "ThreadPoolWorkerThreadRetirementStop" 0;
        56 "ThreadPoolWorkerThreadAdjustmentStats" 0;
        58 "YieldProcessorMeasurement" 0;
        60 "ThreadPoolWorkingThreadCount" 0;
        61 "ThreadPoolEnqueue" 0;
        62 "ThreadPoolDequeue" 0;
        63 "ThreadPoolIOEnqueue" 0;
        64 "ThreadPoolIODequeue" 0;
        65 "ThreadPoolIOPack" 0;
        70 "ThreadCreating" 0;
        71 "ThreadRunning" 0;
        72 "MethodDetails" 0;
        73 "TypeLoadStart" 0;
        74 "TypeLoadStop" 0;
        86 "ThreadTerminated" 0;
        88 "ILStubGenerated" 0;
        90 "ContentionLockCreated" 0;
        141 "MethodLoad" 0;
        142 "MethodUnload" 0;
        146 "MethodJitMemoryAllocatedForCode" 0;
        151 "DomainModuleLoad" 0;
        152 "ModuleLoad" 0;
        153 "ModuleUnload" 0;
        156 "AppDomainLoad" 1;
        157 "AppDomainUnload" 1;
        159 "R2RGetEntryPoint" 0;
        160 "R2RGetEntryPointStart" 0;
        185 "MethodJitInliningSucceeded" 0;
        186 "MethodJitInliningFailedAnsi" 0;
        187 "RuntimeInformationStart" 0;
        188 "MethodJitTailCallSucceeded" 0;
        190 "MethodILToNativeMap" 0;
        191 "MethodJitTailCallFailed" 0;
        192 "MethodJitInliningFailed" 0;
        200 "IncreaseMemoryPressure" 0;
        201 "DecreaseMemoryPressure" 0;
        202 "GCMarkWithType" 0;
        203 "GCJoin" 2;
        204 "GCPerHeapHistory" 3;
        208 "GCLOHCompact" 0;
        209 "GCFitBucketInfo" 0;
        251 "ExceptionCatchStop" 0;
        252 "ExceptionFinallyStart" 0;
        253 "ExceptionFinallyStop" 0;
        254 "ExceptionFilterStart" 0;
        255 "ExceptionFilterStop" 0;
        256 "ExceptionThrownStop" 0;
        270 "EventSource" 0;
        280 "TieredCompilationSettings" 0;
        281 "TieredCompilationPause" 0;
        282 "TieredCompilationResume" 0;
        290 "AssemblyLoadStart" 0;
        291 "AssemblyLoadStop" 0;
        292 "ResolutionAttempted" 0;
        296 "KnownPathProbed" 0;
    }
}

/// The payload is shorter than its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is shorter than its layout")]
pub struct Short;

/// The bytes of a payload that are not read yet. Methods have the names of the types in
/// docs/protocols/dotnet.md 5.
#[derive(Clone, Copy, Debug)]
struct Cursor<'a> {
    rest: &'a [u8],
    pointer_size: u32,
}

impl<'a> Cursor<'a> {
    const fn new(payload: &'a [u8], pointer_size: u32) -> Self {
        Self { rest: payload, pointer_size }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    fn u1(&mut self) -> Result<u8, Short> {
        self.take().map(u8::from_le_bytes)
    }

    #[inline]
    fn u2(&mut self) -> Result<u16, Short> {
        self.take().map(u16::from_le_bytes)
    }

    #[inline]
    fn u4(&mut self) -> Result<u32, Short> {
        self.take().map(u32::from_le_bytes)
    }

    #[inline]
    fn u8(&mut self) -> Result<u64, Short> {
        self.take().map(u64::from_le_bytes)
    }

    #[inline]
    fn f8(&mut self) -> Result<f64, Short> {
        self.take().map(f64::from_le_bytes)
    }

    /// A pointer.
    #[inline]
    fn p(&mut self) -> Result<u64, Short> {
        if self.pointer_size == 4 { self.u4().map(u64::from) } else { self.u8() }
    }

    /// A text.
    #[inline]
    fn s(&mut self) -> Result<Utf16<'a>, Short> {
        let (text, rest) = Utf16::split(self.rest).ok_or(Short)?;
        self.rest = rest;
        Ok(text)
    }

    /// Numbers of 32 bits with a count before them.
    fn ns(&mut self) -> Result<u32, Short> {
        let count = self.u4()?;
        self.rest = self.rest.get((count as usize).saturating_mul(4)..).ok_or(Short)?;
        Ok(count)
    }
}

/// Id and version of an event of the LTTng provider `DotNETRuntime`: `GCStart_V2` is (1, 2), and a
/// name without version has version 0. `None`: no event of the table has this name.
///
/// The event's fields in their order, packed without padding (texts as UTF-16 with a NUL), are the
/// payload that [`decode`] reads. An event that has `__data__` has the payload there
/// (docs/protocols/dotnet.md 5).
#[must_use]
pub fn by_lttng_name(name: &str) -> Option<(u32, u32)> {
    let (name, version) = match name.rsplit_once("_V") {
        Some((name, version)) => (name, version.parse().ok()?),
        None => (name, 0),
    };
    let (id, _) = NAMES.iter().find(|(_, known)| *known == name)?;
    Some((*id, version))
}
