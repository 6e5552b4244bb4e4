//! `[opener]`

crate::section! {
    /// `[opener]`: the process that keeps some of root's rights.
    OpenerKeys;

    /// Files and sockets of other users' processes are opened by a second process, if the PMDA is started with root's rights, as pmcd starts it. `false`: only processes of the PMDA's own user are read.
    enabled: bool = true, "true", "true or false";
}
