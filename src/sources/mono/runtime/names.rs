//! Names of what events have ids of.

/// The names of one stream.
pub(crate) trait Names {
    /// Full name of a method: `Namespace.Class:Method (arguments)`.
    fn method(&self, id: u64) -> Option<&str>;
    /// Name of a class.
    fn class(&self, id: u64) -> Option<&str>;
    /// Name of the class of a vtable.
    fn class_of(&self, vtable: u64) -> Option<&str>;
    /// Name of a thread.
    fn thread(&self, id: u64) -> Option<&str>;
}

/// Types of objects are vtables from this version on, before they are classes.
const VTABLES: u8 = 15;

/// Name of the type of an object.
pub(super) fn type_name(names: &dyn Names, version: u8, id: u64) -> Option<&str> {
    if version >= VTABLES { names.class_of(id) } else { names.class(id) }
}

/// A method as the name of an instance, which has no blanks: `Namespace.Class:Method(arguments)`.
pub(super) fn site(method: &str) -> String {
    method.replace(" (", "(")
}

/// Frames that are the lock itself, not its user.
pub(super) fn is_lock(method: &str) -> bool {
    method.starts_with("System.Threading.Monitor:") || method.starts_with("(wrapper ")
}
