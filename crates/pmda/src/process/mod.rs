//! The process and its host: users, memory, CPU times, PCP's folders, pmcd's clients, locks.

mod again;
mod clients;
mod descriptors;
mod fork;
mod identity;
mod lock;
mod memory;
mod passing;
mod paths;
mod pmproxy;
mod private_file;
mod time;
mod users;

pub use again::start_again;
pub use clients::Clients;
pub use descriptors::leaves_reserve;
pub(crate) use descriptors::raise_open_files;
pub use fork::{Child, fork};
pub(crate) use identity::default_user;
pub use identity::{become_user, is_started_by_pmcd};
pub use lock::{FileLock, lock_file};
pub(crate) use memory::set_up_heap;
pub use memory::{give_memory_back, resident_memory};
pub use passing::{PASSED, receive_with, send_with};
pub use paths::{config_dir, pmdas_dir, state_dir};
pub use pmproxy::is_pmproxy;
pub(crate) use private_file::hand_over;
pub use private_file::{create_private, open_private};
pub(crate) use time::Allowance;
pub(crate) use time::work_time_with;
pub use time::{cpu_time, thread_time, work_time};
pub use users::{effective_user, group_id, group_name, groups_of, user_id, user_name};
