//! The layout of a region (docs/protocols/jvm-hsperfdata.md 2): the prologue, or why there is none; its entries, one
//! after the other; the directory of those that are looked up, by which each reading has its values.

use std::fmt::{Display, Formatter};

use super::limits;
use crate::read::{Cursor, Order};

/// Bytes of a prologue.
pub(crate) const PROLOGUE: usize = 32;
/// In this order in the file for both byte orders.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// The version since JDK 1.4.2. Minor versions only add.
const MAJOR: u8 = 2;

/// Why a region is not read. Values that it had are not used any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The JVM has not told yet that it has started up, or has made the file and not written the prologue: no bytes,
    /// or zeros. It is read again soon, and has no reason to be shown for some seconds.
    Starting,
    /// This many bytes: fewer than a prologue has, or more than [`limits::REGION`].
    Length(usize),
    /// Other bytes than the magic ones.
    Magic([u8; 4]),
    /// A byte order that is neither 0 nor 1.
    Order(u8),
    /// Major and minor version.
    Version(u8, u8),
    /// Offset of the first entry: within the prologue, behind the end, or not aligned.
    First(i32),
    /// Number of entries: negative, or above [`limits::ENTRIES`].
    Entries(i32),
    /// Bytes in use: negative, before the first entry, or more than the `length` bytes given.
    Used { used: i32, length: usize },
}

const UNKNOWN: &str = "the format of its performance data is not known";
const OTHER: &str = "not a performance data file";
const DAMAGED: &str = "its performance data is damaged";

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Starting => f.write_str("starting"),
            Self::Version(major, minor) => write!(f, "{UNKNOWN} (version {major}.{minor})"),
            Self::Length(length) => write!(f, "{OTHER} ({length} bytes)"),
            Self::Magic(bytes) => write!(f, "{OTHER} (it begins with {bytes:02x?})"),
            Self::Order(byte) => write!(f, "{DAMAGED} (byte order {byte})"),
            Self::First(at) => write!(f, "{DAMAGED} (first entry at {at})"),
            Self::Entries(count) => write!(f, "{DAMAGED} ({count} entries)"),
            Self::Used { used, length } => write!(f, "{DAMAGED} ({used} bytes in use of {length})"),
        }
    }
}

/// A prologue whose numbers fit the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prologue {
    /// Byte order of the JVM's machine.
    pub(crate) order: Order,
    /// Bytes in use, this prologue included.
    pub(crate) used: usize,
    /// Bytes of counters that found no room.
    pub(crate) overflow: u64,
    /// Ticks since the JVM's start when an entry was added last.
    pub(crate) changed: i64,
    /// Offset of the first entry.
    pub(crate) first: usize,
    /// Number of entries.
    pub(crate) entries: u32,
}

impl Prologue {
    /// Reads the prologue of a region: all of it, or at least the bytes in use.
    ///
    /// # Errors
    /// The region cannot be read, or not yet.
    pub(crate) fn parse(region: &[u8]) -> Result<Self, Refusal> {
        if region.len() > limits::REGION {
            return Err(Refusal::Length(region.len()));
        }
        let Some(head) = region.first_chunk::<PROLOGUE>() else {
            let empty = region.is_empty();
            return Err(if empty { Refusal::Starting } else { Refusal::Length(region.len()) });
        };
        let &[a, b, c, d, order, major, minor, accessible, ref rest @ ..] = head;
        if head.iter().all(|&byte| byte == 0) {
            return Err(Refusal::Starting);
        }
        if [a, b, c, d] != MAGIC {
            return Err(Refusal::Magic([a, b, c, d]));
        }
        let order = match order {
            0 => Order::Big,
            1 => Order::Little,
            other => return Err(Refusal::Order(other)),
        };
        if major != MAJOR {
            return Err(Refusal::Version(major, minor));
        }
        if accessible != 1 {
            return Err(Refusal::Starting);
        }
        let mut rest = Cursor::new(rest, order);
        let (used, overflow) = (rest.i32().unwrap_or_default(), rest.i32().unwrap_or_default());
        let changed = rest.i64().unwrap_or_default();
        let (first, count) = (rest.i32().unwrap_or_default(), rest.i32().unwrap_or_default());
        let length = region.len();
        let start = usize::try_from(first).ok().filter(|at| (PROLOGUE..=length).contains(at));
        let start = start.filter(|at| at.is_multiple_of(4)).ok_or(Refusal::First(first))?;
        let entries = u32::try_from(count).ok().filter(|&entries| entries <= limits::ENTRIES);
        let entries = entries.ok_or(Refusal::Entries(count))?;
        let end = usize::try_from(used).ok().filter(|&end| end <= length);
        let end = end.filter(|&end| entries == 0 || end >= start);
        let end = end.ok_or(Refusal::Used { used, length })?;
        let overflow = u64::try_from(overflow).unwrap_or_default();
        Ok(Self { order, used: end, overflow, changed, first: start, entries })
    }
}

/// Bytes of an entry's head, and the least that an entry can have.
const HEAD: usize = 20;
/// Types as in class files: jlong and bytes. A JVM writes no other.
const LONG: u8 = b'J';
const BYTES: u8 = b'B';
/// The unit of bytes that are a text.
const STRING: u8 = 5;

/// Where a value is, by its offset in the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset in the region; 0: there is no such counter.
    pub(crate) at: u32,
    /// Bytes of a text; 0: a jlong.
    pub(crate) length: u32,
}

/// An entry that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Printable ASCII without blanks, 1 to [`limits::NAME`] bytes.
    pub(crate) name: &'a [u8],
    pub(crate) place: Place,
}

/// A walk over the entries. An item is `None` for one to be skipped: its name or data is outside of
/// it, or of a type that is not known.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    /// The bytes in use.
    bytes: &'a [u8],
    prologue: Prologue,
    at: usize,
    left: u32,
}

impl<'a> Walk<'a> {
    /// Over the region that has this prologue.
    pub(crate) fn new(region: &'a [u8], prologue: Prologue) -> Self {
        let bytes = region.get(..prologue.used).unwrap_or_default();
        Self { bytes, prologue, at: prologue.first, left: prologue.entries }
    }

    /// Entries that are announced and were not met. Behind a walk that has ended: the directory is
    /// damaged, or the JVM has counted an entry that it had not filled in.
    pub(crate) const fn left(&self) -> u32 {
        self.left
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Option<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let mut head = Cursor::new(self.bytes.get(self.at..)?, self.prologue.order);
        let length = usize::try_from(head.i32()?).ok()?;
        if length < HEAD || !length.is_multiple_of(4) {
            return None;
        }
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        let entry = entry(bytes, self.at, self.prologue);
        (self.at, self.left) = (end, self.left - 1);
        Some(entry)
    }
}

/// The entry of these bytes at this offset.
fn entry(bytes: &[u8], at: usize, prologue: Prologue) -> Option<Entry<'_>> {
    let mut head = Cursor::new(bytes, prologue.order);
    let (_, name_at, elements) = (head.i32()?, head.i32()?, head.i32()?);
    let (kind, _flags, unit, _variability) = (head.u8()?, head.u8()?, head.u8()?, head.u8()?);
    let data_at = head.i32()?;
    let inside = |offset: i32| usize::try_from(offset).ok().filter(|&offset| offset >= HEAD);
    let (name_at, data_at) = (inside(name_at)?, inside(data_at)?);
    let name = bytes.get(name_at..)?;
    let name = name.get(..=limits::NAME).unwrap_or(name);
    let name = name.get(..memchr::memchr(0, name)?)?;
    if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let length = match (kind, u32::try_from(elements).ok()?) {
        (LONG, 0) if (at + data_at).is_multiple_of(4) => 0,
        (BYTES, length) if length > 0 && unit == STRING => length,
        _ => return None,
    };
    let size = if length == 0 { size_of::<i64>() } else { usize::try_from(length).ok()? };
    bytes.get(data_at..data_at.checked_add(size)?)?;
    Some(Entry { name, place: Place { at: u32::try_from(at + data_at).ok()?, length } })
}

/// The counters that are looked up (section 3): all others are walked over.
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
        const COUNTERS: usize = [$($name,)*].len();
    };
}

counters! {
    JitTime "java.ci.totalTime", ClassesLoaded "java.cls.loadedClasses",
    SharedLoaded "java.cls.sharedLoadedClasses", SharedUnloaded "java.cls.sharedUnloadedClasses",
    ClassesUnloaded "java.cls.unloadedClasses", ClassPath "java.property.java.class.path",
    Version "java.property.java.version", VmName "java.property.java.vm.name",
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
    ClassSpaceUsed "sun.gc.compressedclassspace.used",
    YoungCapacity "sun.gc.generation.0.capacity", YoungMax "sun.gc.generation.0.maxCapacity",
    EdenCapacity "sun.gc.generation.0.space.0.capacity",
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
    Frequency "sun.os.hrt.frequency", Contended "sun.rt._sync_ContendedLockAttempts",
    Command "sun.rt.javaCommand", Capabilities "sun.rt.jvmCapabilities", SafepointSyncTime "sun.rt.safepointSyncTime",
    SafepointTime "sun.rt.safepointTime", Safepoints "sun.rt.safepoints",
    GcCpuTime "sun.threads.total_gc_cpu_time", VmOperationTime "sun.threads.vmOperationTime",
}

impl Counter {
    /// The counter of a name, if it is looked up.
    fn named(name: &[u8]) -> Option<Self> {
        let at = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()?;
        NAMES.get(at).map(|&(_, counter)| counter)
    }
}

/// The places of all [`Counter`]s of a region.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    /// Of the reading that the directory is of.
    pub(crate) prologue: Prologue,
    places: [Place; COUNTERS],
    /// Entries that hold, also of counters that are not looked up.
    pub(crate) entries: u32,
    /// Entries that are announced and were not met: the JVM was just adding them, and they are there at the next
    /// reading; or the directory is damaged.
    missing: u32,
    retries: u8,
}

impl Directory {
    /// Parses the directory of a region that has this prologue. At most [`limits::ENTRIES`] entries
    /// are walked; nothing is allocated. `before`: the directory that no longer holds.
    pub(crate) fn parse(region: &[u8], prologue: Prologue, before: Option<&Self>) -> Self {
        let places = [Place::default(); COUNTERS];
        let same = before.filter(|before| before.prologue == prologue);
        let retries = same.map_or(limits::RETRIES, |before| before.retries.saturating_sub(1));
        let mut directory = Self { prologue, places, entries: 0, missing: 0, retries };
        let mut walk = Walk::new(region, prologue);
        for entry in walk.by_ref().flatten() {
            let counter = Counter::named(entry.name);
            match counter.and_then(|counter| directory.places.get_mut(counter as usize)) {
                // The first of a name counts.
                Some(place) if place.at != 0 => {}
                Some(place) => (*place, directory.entries) = (entry.place, directory.entries + 1),
                None => directory.entries += 1,
            }
        }
        directory.missing = walk.left();
        directory
    }

    /// Whether the directory is still that of a region with this prologue.
    pub(crate) fn holds(&self, prologue: &Prologue) -> bool {
        self.prologue == *prologue && (self.missing == 0 || self.retries == 0)
    }
}

/// The values of one reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    /// The region as it is now.
    pub(crate) region: &'a [u8],
    /// Its directory.
    pub(crate) directory: &'a Directory,
}

impl<'a> Values<'a> {
    fn place(self, counter: Counter) -> Option<Place> {
        self.directory.places.get(counter as usize).copied().filter(|place| place.at != 0)
    }

    /// A number. `None`: there is no such counter, or it is a text.
    pub(crate) fn long(self, counter: Counter) -> Option<i64> {
        let place = self.place(counter).filter(|place| place.length == 0)?;
        let bytes = self.region.get(usize::try_from(place.at).ok()?..)?;
        Cursor::new(bytes, self.directory.prologue.order).i64()
    }

    /// A number that is never below zero. `None` also if it is.
    pub(crate) fn count(self, counter: Counter) -> Option<u64> {
        self.long(counter).and_then(|value| u64::try_from(value).ok())
    }

    /// A text up to its NUL or the end of its vector, at most [`limits::TEXT`] bytes, in any
    /// encoding. `None`: there is no such counter, or it is a number.
    pub(crate) fn text(self, counter: Counter) -> Option<&'a [u8]> {
        let place = self.place(counter).filter(|place| place.length != 0)?;
        let length = usize::try_from(place.length).ok()?.min(limits::TEXT);
        let bytes = self.region.get(usize::try_from(place.at).ok()?..)?.get(..length)?;
        bytes.get(..memchr::memchr(0, bytes).unwrap_or(length))
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
