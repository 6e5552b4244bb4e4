//! The events of profiles as types: samples, waits for monitors, exceptions, collections.

use std::borrow::Cow;

use crate::chunk::{Event, Header};
use crate::value::{Key, Record, Value};

/// An event that is known.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Known<'c> {
    /// `jdk.ExecutionSample`, `jdk.NativeMethodSample`
    Sample(Sample<'c>),
    /// `jdk.JavaMonitorEnter`
    Enter(Enter<'c>),
    /// `jdk.JavaExceptionThrow`, `jdk.JavaErrorThrow`
    Thrown(Thrown<'c>),
    /// `jdk.ExceptionStatistics`: what was thrown since the JVM began.
    Throwables(u64),
    /// `jdk.GarbageCollection`
    Collection(Collection<'c>),
    /// `jdk.GCPhasePause`
    Pause(Pause<'c>),
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread<'c> {
    /// Its name in Java, else the system's.
    pub name: Cow<'c, str>,
    /// The system's number.
    pub id: i64,
}

/// A sample of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<'c> {
    /// Ns since 1970.
    pub time: i64,
    /// The thread.
    pub thread: Option<Thread<'c>>,
    /// Its stack, see [`Names`](crate::Names).
    pub stack: Option<Key>,
    /// It was in native code, where it may wait.
    pub is_native: bool,
}

/// A thread that has waited for a monitor (`synchronized`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enter<'c> {
    /// Begin, ns since 1970.
    pub time: i64,
    /// How long it waited, ns.
    pub duration: i64,
    /// The thread.
    pub thread: Option<Thread<'c>>,
    /// Its stack.
    pub stack: Option<Key>,
    /// Class of the object.
    pub class: Option<Cow<'c, str>>,
    /// The thread that had it before.
    pub owner: Option<Thread<'c>>,
}

/// A throw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thrown<'c> {
    /// Ns since 1970.
    pub time: i64,
    /// The thread.
    pub thread: Option<Thread<'c>>,
    /// Its stack.
    pub stack: Option<Key>,
    /// Class of the exception.
    pub class: Option<Cow<'c, str>>,
    /// Its message.
    pub message: Option<Cow<'c, str>>,
}

/// A garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection<'c> {
    /// Begin, ns since 1970.
    pub time: i64,
    /// Its length in ns, in which the program may have run.
    pub duration: i64,
    /// Its number.
    pub id: i64,
    /// The collector: `G1New`.
    pub name: Option<Cow<'c, str>>,
    /// Why: `System.gc()`.
    pub cause: Option<Cow<'c, str>>,
    /// Pauses in ns.
    pub pauses: i64,
    /// The longest pause in ns.
    pub longest: i64,
}

/// A pause of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause<'c> {
    /// Begin, ns since 1970.
    pub time: i64,
    /// Its length in ns.
    pub duration: i64,
    /// Number of the collection.
    pub id: i64,
    /// `GC Pause`
    pub name: Option<Cow<'c, str>>,
}

impl<'c> Thread<'c> {
    fn of(event: &Record<'c>, field: &str) -> Option<Self> {
        let thread = event.get(field).record()?;
        let name = thread.get("javaName").text().or_else(|| thread.get("osName").text());
        Some(Self { name: name.unwrap_or_default(), id: int(&thread, "osThreadId") })
    }
}

/// `package.Class` of a constant of `java.lang.Class`.
#[must_use]
pub fn class_name<'c>(class: &Value<'c>) -> Option<Cow<'c, str>> {
    let name = class.record()?.get("name").text()?;
    Some(if name.contains('/') { name.replace('/', ".").into() } else { name })
}

fn int(record: &Record<'_>, field: &str) -> i64 {
    record.get(field).int().unwrap_or_default()
}

/// The event as a type. `None`: it is another one.
#[must_use]
pub fn known<'c>(header: &Header, event: &Event<'c>) -> Option<Known<'c>> {
    let name = event.class().name().strip_prefix("jdk.")?;
    let time = || header.time(int(event, "startTime"));
    let ns = |field| header.ns(int(event, field));
    let text = |field| event.get(field).text();
    let class = |field| class_name(&event.get(field));
    let thread = |field| Thread::of(event, field);
    let stack = || event.key("stackTrace").filter(|stack| stack.key != 0);
    Some(match name {
        "ExecutionSample" | "NativeMethodSample" => Known::Sample(Sample {
            time: time(),
            thread: thread("sampledThread"),
            stack: stack(),
            is_native: name == "NativeMethodSample",
        }),
        "JavaMonitorEnter" => Known::Enter(Enter {
            time: time(),
            duration: ns("duration"),
            thread: thread("eventThread"),
            stack: stack(),
            class: class("monitorClass"),
            owner: thread("previousOwner"),
        }),
        "JavaExceptionThrow" | "JavaErrorThrow" => Known::Thrown(Thrown {
            time: time(),
            thread: thread("eventThread"),
            stack: stack(),
            class: class("thrownClass"),
            message: text("message"),
        }),
        "ExceptionStatistics" => Known::Throwables(int(event, "throwables").cast_unsigned()),
        "GarbageCollection" => Known::Collection(Collection {
            time: time(),
            duration: ns("duration"),
            id: int(event, "gcId"),
            name: text("name"),
            cause: text("cause"),
            pauses: ns("sumOfPauses"),
            longest: ns("longestPause"),
        }),
        "GCPhasePause" => Known::Pause(Pause {
            time: time(),
            duration: ns("duration"),
            id: int(event, "gcId"),
            name: text("name"),
        }),
        _ => return None,
    })
}
