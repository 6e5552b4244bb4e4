//! The process and its host: users and groups.

mod users;

pub use users::{effective_user, group_id, group_name, groups_of, user_id, user_name};
