//! `[toy]`

use std::net::SocketAddr;

use crate::config::units;

crate::section! {
    /// `[toy]`
    Config;

    /// Address and port that toys connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = None, r#""""#, "ADDRESS:PORT";

    /// Name of processes of this host that are instances while they run; `""` looks for none.
    #[serde(deserialize_with = "units::text::<_, 15>")]
    program: String = String::new(), r#""""#, "at most 15 bytes";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let processes = match &*self.program {
            "" => "looks for no processes".to_owned(),
            program => format!("looks for processes {program}"),
        };
        vec![units::listens(self.listen), processes]
    }
}
