//! `[jvm]`: Java virtual machines.

use crate::config::units;

crate::section! {
    /// `[jvm]`
    Config;

    /// Looks for JVMs of this host and of its containers, and reads their performance data once a second. Nothing is asked of them.
    discover: bool = true, "true", "true or false";

    /// Names of processes that are instances and are read, with `*`: services, jars, main classes.
    #[serde(deserialize_with = "units::names::<_, 256, 200>")]
    processes: Vec<String> = vec!["*".to_owned()], r#"["*"]"#, "at most 256 patterns with `*`";

    /// JVMs that have no file of performance data, as with -XX:+PerfDisableSharedMem, are read from their memory. Of other users' by the opener, if this was so when the PMDA was started.
    memory: bool = false, "false", "true or false";

    /// A JVM may be asked by pmstore(1) for its classes, its threads and a recording (`apm.jvm.control.*`): those of other users by the opener, if this was so when the PMDA was started.
    attach: bool = false, "false", "true or false";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        vec![match (self.discover, self.processes.as_slice()) {
            (false, _) => "looks for no processes".to_owned(),
            (true, names) => {
                let memory =
                    if self.memory { "; reads those without a file from memory" } else { "" };
                let attach = if self.attach { "; takes requests (control.*)" } else { "" };
                format!("looks for processes {}{memory}{attach}", names.join(", "))
            }
        }]
    }
}
