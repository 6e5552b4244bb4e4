//! `[confine]`

crate::section! {
    /// `[confine]`: what the PMDA's threads give up before they read.
    ConfineKeys;

    /// Threads make only the system calls that they need. Takes effect when the PMDA is started again.
    seccomp: bool = true, "true", "true or false";

    /// Threads that decode open and make nothing, where the kernel has Landlock (Linux 5.13). Takes effect when the PMDA is started again.
    landlock: bool = true, "true", "true or false";
}
