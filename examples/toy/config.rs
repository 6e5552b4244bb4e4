//! `[toy]`

use std::net::SocketAddr;

use crate::config::units;

crate::section! {
    /// `[toy]`
    Config;

    /// Address and port that toys connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = None, r#""""#, "ADDRESS:PORT";
}
