//! Start of the daemon: libpcp_pmda's calls in their order, behind a handle that cannot leave the
//! main thread.

use std::ffi::CString;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use super::options::{Options, parse};
use super::state::{self, State};
use super::{callbacks, process, sys, text};
use crate::store::{Stat, Store};

/// Requests that take longer are counted.
const LONG: Duration = Duration::from_millis(250);
/// PMDA domain if `-d` does not say another.
const DOMAIN: i32 = 400;

/// Why the PMDA did not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

/// libpcp_pmda's state. Not `Send`: the library has no locks.
pub struct Agent {
    dispatch: Box<sys::pmdaInterface>,
    /// libpcp_pmda keeps pointers to these.
    _words: Vec<CString>,
    not_send: PhantomData<*mut ()>,
}

impl Agent {
    /// Reads the arguments; nothing else happens yet. `Err` is an exit status.
    ///
    /// # Errors
    /// The status to exit with, after a usage message was printed.
    pub fn from_arguments(args: &[CString]) -> Result<(Self, Options), i32> {
        let words = vec![c"pmdaapm".to_owned(), c"apm.log".to_owned()];
        // SAFETY: pmdaInterface is plain data; pmdaDaemon(3) fills it in.
        let mut dispatch: Box<sys::pmdaInterface> = Box::new(unsafe { std::mem::zeroed() });
        let (name, logfile) = (
            words.first().map_or(std::ptr::null(), |w| w.as_ptr()),
            words.get(1).map_or(std::ptr::null(), |w| w.as_ptr()),
        );
        // SAFETY: pmSetProgname(3) keeps a pointer to the name, which lives as long as the agent.
        unsafe { sys::pmSetProgname(name) };
        let version = sys::PMDA_INTERFACE_7.cast_signed();
        // SAFETY: all pointers live as long as the agent; no help file, as the texts are in the
        // program.
        unsafe {
            sys::pmdaDaemon(&raw mut *dispatch, version, name, DOMAIN, logfile, std::ptr::null())
        };
        let options = parse(args, &mut dispatch)?;
        Ok((Self { dispatch, _words: words, not_send: PhantomData }, options))
    }

    /// The domain number in force.
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.dispatch.domain.cast_unsigned()
    }

    /// From here on stderr is the log file.
    pub fn open_log(&mut self) {
        // SAFETY: dispatch was initialised by pmdaDaemon.
        unsafe { sys::pmdaOpenLog(&raw mut *self.dispatch) };
        process::set_up_heap();
        process::raise_open_files();
    }

    /// Gives up root's rights.
    ///
    /// # Errors
    /// When the user does not exist.
    pub fn become_user(&self, user: Option<&str>) -> Result<(), StartError> {
        let user = user.map_or_else(process::default_user, str::to_owned);
        process::become_user(&user).map_err(StartError)
    }

    /// Registers metrics, instance domains and callbacks, and restores what earlier runs knew.
    ///
    /// # Errors
    /// When libpcp_pmda refuses the metric table.
    pub fn init(&mut self, store: &Arc<Store>) -> Result<(), StartError> {
        callbacks::register(&mut self.dispatch);
        // SAFETY: dispatch was initialised by pmdaDaemon.
        unsafe {
            sys::pmdaSetFlags(&raw mut *self.dispatch, sys::PMDA_EXT_FLAG_HASHED.cast_signed())
        };
        // SAFETY: as above; pmcd then sends the credentials of client contexts.
        unsafe {
            sys::pmdaSetCommFlags(&raw mut *self.dispatch, sys::PMDA_FLAG_AUTHORIZE.cast_signed())
        };
        let mut state = State::new(Arc::clone(store), &process::state_dir()).map_err(StartError)?;
        let (metrics, count) = (state.entries.metrics.as_mut_ptr(), state.entries.metrics.len());
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        let (indoms, domains) = state.indoms.raw();
        // SAFETY: both tables stay where they are, in the state: indoms for ever, metrics until
        // `rehash` names a new place.
        unsafe { sys::pmdaInit(&raw mut *self.dispatch, indoms, domains, metrics, count) };
        if self.dispatch.status < 0 {
            return Err(StartError(format!("pmdaInit: {}", text::error(self.dispatch.status))));
        }
        callbacks::register_result(&mut self.dispatch);
        state.apply();
        state::install(Some(state));
        self.rehash();
        Ok(())
    }

    /// Shakes hands with pmcd on the pipe.
    ///
    /// # Errors
    /// When nobody, or not pmcd, is at the other end.
    pub fn connect(&mut self) -> Result<(), StartError> {
        // SAFETY: dispatch is initialised.
        unsafe { sys::pmdaConnect(&raw mut *self.dispatch) };
        if self.dispatch.status < 0 {
            let why = text::error(self.dispatch.status);
            return Err(StartError(format!("no pmcd at the other end of standard input: {why}")));
        }
        Ok(())
    }

    /// The descriptor on which pmcd's requests come.
    pub(super) fn fd(&mut self) -> RawFd {
        // SAFETY: dispatch is connected.
        unsafe { sys::__pmdaInFd(&raw mut *self.dispatch) }
    }

    /// Answers one request; `false` when pmcd is gone.
    pub(super) fn answer(&mut self) -> bool {
        let started = process::thread_time();
        state::with(|s| s.turn = process::Turn::begin(started));
        // SAFETY: dispatch is connected; callbacks do not unwind.
        let sts = unsafe { sys::__pmdaMainPDU(&raw mut *self.dispatch) };
        if state::with(|s| s.fetch.release()) == Some(true) {
            process::give_memory_back();
        }
        let took = process::thread_time().saturating_sub(started);
        state::with(|s| s.answered(took));
        sts >= 0
    }

    /// New metrics and instances become visible.
    pub(super) fn apply_changes(&mut self) {
        if state::with(State::apply) == Some(true) {
            self.rehash();
        }
        state::with(State::save);
    }

    fn rehash(&mut self) {
        // SAFETY: the interface is seven; its ext is libpcp_pmda's own.
        let ext = unsafe { self.dispatch.version.seven.ext };
        state::with(|s| {
            let n = i32::try_from(s.entries.metrics.len()).unwrap_or(i32::MAX);
            // SAFETY: the table stays where it is until the next rehash; rows are only ever added.
            unsafe { sys::pmdaRehash(ext, s.entries.metrics.as_mut_ptr(), n) };
        });
    }
}

impl State {
    /// A request has been answered.
    fn answered(&self, took: Duration) {
        let stats = &self.store.stats;
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        stats.add(Stat::PduCount, 1);
        stats.add(Stat::PduTime, nanoseconds);
        stats.raise(Stat::PduMax, nanoseconds);
        stats.add(Stat::PduOver, (took > LONG).into());
        stats.add(Stat::PduCut, self.turn.over().into());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The last thing that the keeper in it does is to save.
        state::install(None);
    }
}
