//! Start of an agent: libpcp_pmda's calls in their required order, behind handles that are not
//! `Send`.

use std::cell::{RefCell, RefMut};
use std::ffi::{CString, OsString};
use std::fmt;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use pcp_sys as sys;

use crate::error::Error;
use crate::fetch::Results;
use crate::handler::{Answered, Handler};
use crate::hosted::{self, Hosted};
use crate::options::{Arguments, OptionDef, parse};
use crate::process::{self, Allowance};
use crate::tables::Tables;
use crate::{callbacks, cstring};

/// After an answer larger than this many bytes, libpcp's memory for it is returned to the system.
const LARGE_BYTES: usize = 2 << 20;

/// An agent: its name, domain, log file, options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PmdaInfo {
    /// Program name, as `pmdasimple`.
    pub name: &'static str,
    /// Domain number, 1..=510, unless option `-d` gives another.
    pub domain: u32,
    /// Name of the log file in pmcd's log folder, unless option `-l` gives another.
    pub log_file: &'static str,
    /// Help texts built by newhelp(1): the path without `.dir` and `.pag`.
    pub help: Option<PathBuf>,
    /// Options of this agent, in addition to those of every PMDA.
    pub options: &'static [OptionDef],
}

impl PmdaInfo {
    /// An agent without a help file and without additional options.
    #[must_use]
    pub const fn new(name: &'static str, domain: u32, log_file: &'static str) -> Self {
        Self { name, domain, log_file, help: None, options: &[] }
    }

    /// The same agent with help texts built by newhelp(1): the path without `.dir` and `.pag`.
    #[must_use]
    pub fn with_help(mut self, file: PathBuf) -> Self {
        self.help = Some(file);
        self
    }

    /// The same agent with additional options.
    #[must_use]
    pub const fn with_options(mut self, options: &'static [OptionDef]) -> Self {
        self.options = options;
        self
    }
}

/// The reason why an agent does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

impl From<Error> for StartError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<crate::tables::TableError> for StartError {
    fn from(error: crate::tables::TableError) -> Self {
        Self(error.to_string())
    }
}

/// An agent with parsed arguments, not started yet. Not `Send`: libpcp_pmda has no locks.
pub struct Agent {
    dispatch: Box<sys::pmdaInterface>,
    arguments: Arguments,
    /// libpcp_pmda keeps pointers to these.
    _strings: [CString; 3],
    not_send: PhantomData<*mut ()>,
}

impl Agent {
    /// Parses the arguments of the process, program name first, without other effects.
    ///
    /// # Errors
    /// The status to exit with, after a usage message was printed.
    pub fn new(info: &PmdaInfo, args: impl IntoIterator<Item = OsString>) -> Result<Self, i32> {
        // Process arguments contain no NUL.
        let args: Vec<CString> =
            args.into_iter().filter_map(|a| CString::new(a.into_vec()).ok()).collect();
        let help = info.help.as_ref().and_then(|p| CString::new(p.as_os_str().as_bytes()).ok());
        let strings =
            [cstring::cut(info.name), cstring::cut(info.log_file), help.unwrap_or_default()];
        let [name, log_file, help] = &strings;
        let help = if help.is_empty() { std::ptr::null() } else { help.as_ptr() };
        // SAFETY: pmdaInterface is plain data; pmdaDaemon(3) fills it in.
        let mut dispatch: Box<sys::pmdaInterface> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: pmSetProgname(3) keeps a pointer to the name, which lives as long as the agent.
        unsafe { sys::pmSetProgname(name.as_ptr()) };
        let (version, domain) = (sys::PMDA_INTERFACE_7.cast_signed(), info.domain.cast_signed());
        // SAFETY: pmdaDaemon(3): all pointers live as long as the agent.
        unsafe {
            sys::pmdaDaemon(
                &raw mut *dispatch,
                version,
                name.as_ptr(),
                domain,
                log_file.as_ptr(),
                help,
            )
        };
        let arguments = parse((info.name, info.domain, info.options), &args, &mut dispatch)?;
        Ok(Self { dispatch, arguments, _strings: strings, not_send: PhantomData })
    }

    /// The command line.
    #[must_use]
    pub const fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// The domain number in use.
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.dispatch.domain.cast_unsigned()
    }

    /// Opens the log file, which replaces standard error. Also sets up the heap and the limit of
    /// open files for a daemon. Must be called before other threads start.
    pub fn open_log(&mut self) {
        // SAFETY: dispatch was initialised by pmdaDaemon(3).
        unsafe { sys::pmdaOpenLog(&raw mut *self.dispatch) };
        process::set_up_heap();
        process::raise_open_files();
    }

    /// Switches to the user of option `-U`, or else to the user of PCP's daemons. Does nothing
    /// without root's rights.
    ///
    /// # Errors
    /// The user does not exist.
    pub fn become_user(&self) -> Result<(), StartError> {
        process::become_user(&self.user()).map_err(StartError)
    }

    /// Name of the user that [`Agent::become_user`] becomes.
    #[must_use]
    pub fn user(&self) -> String {
        self.arguments.user.clone().unwrap_or_else(process::default_user)
    }

    /// Gives files that an earlier run as root left in `dir`, those whose names begin with `prefix`, to the user that
    /// [`Agent::become_user`] is about to become.
    pub fn hand_over(&self, dir: &Path, prefix: &str) {
        if process::effective_user() != 0 {
            return;
        }
        // Without a folder there are no files either.
        if let Some(id) = process::user_id(&self.user()).filter(|id| *id != 0) {
            let _ = process::hand_over(dir, prefix, id);
        }
    }

    /// Registers with libpcp_pmda the tables that `build` fills and the callbacks that call the
    /// handler.
    ///
    /// # Errors
    /// Errors of `build`, or of libpcp_pmda when it rejects the tables.
    pub fn start<H: Handler + 'static>(
        mut self,
        build: impl FnOnce(&mut Tables) -> Result<H, StartError>,
    ) -> Result<Pmda<H>, StartError> {
        callbacks::register(&mut self.dispatch);
        // SAFETY: dispatch was initialised by pmdaDaemon(3).
        unsafe {
            sys::pmdaSetFlags(&raw mut *self.dispatch, sys::PMDA_EXT_FLAG_HASHED.cast_signed())
        };
        // SAFETY: as above; pmcd then sends the credentials of client contexts.
        unsafe {
            sys::pmdaSetCommFlags(&raw mut *self.dispatch, sys::PMDA_FLAG_AUTHORIZE.cast_signed())
        };
        let mut tables = Tables::new(self.domain())?;
        let handler = Rc::new(RefCell::new(build(&mut tables)?));
        tables.take_grown();
        let (indoms, domains) = tables.indom_rows();
        let (metrics, count) = tables.metric_rows();
        // SAFETY: pmdaInit(3): both tables stay in place: indoms for ever, metrics until `rehash`
        // registers a new place.
        unsafe { sys::pmdaInit(&raw mut *self.dispatch, indoms, domains, metrics, count) };
        if let Some(error) = Error::of_status(self.dispatch.status) {
            return Err(StartError(format!("pmdaInit: {error}")));
        }
        callbacks::register_result(&mut self.dispatch);
        let shared: Rc<RefCell<dyn Handler>> = Rc::<RefCell<H>>::clone(&handler);
        hosted::install(Some(Hosted {
            handler: shared,
            tables,
            results: Results::default(),
            text: CString::default(),
            allowance: Allowance::default(),
            names_changed: false,
        }));
        let mut pmda = Pmda { agent: self, handler };
        pmda.update();
        Ok(pmda)
    }
}

/// A started PMDA with its handler.
pub struct Pmda<H> {
    agent: Agent,
    handler: Rc<RefCell<H>>,
}

impl<H: Handler> Pmda<H> {
    /// The domain number in use.
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.agent.domain()
    }

    /// The handler, between requests.
    ///
    /// # Panics
    /// If called from within the handler.
    pub fn handler(&self) -> RefMut<'_, H> {
        self.handler.borrow_mut()
    }

    /// Performs the handshake with pmcd on standard input.
    ///
    /// # Errors
    /// There is no pmcd at the other end.
    pub fn connect(&mut self) -> Result<(), StartError> {
        // SAFETY: dispatch is initialised.
        unsafe { sys::pmdaConnect(&raw mut *self.agent.dispatch) };
        match Error::of_status(self.agent.dispatch.status) {
            Some(e) => Err(StartError(format!("no pmcd at the other end of standard input: {e}"))),
            None => Ok(()),
        }
    }

    /// The descriptor on which pmcd's requests arrive.
    pub(crate) fn fd(&mut self) -> BorrowedFd<'_> {
        // SAFETY: dispatch is connected.
        let fd = unsafe { sys::__pmdaInFd(&raw mut *self.agent.dispatch) };
        // SAFETY: libpcp_pmda keeps the descriptor open as long as dispatch lives.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    /// Answers one request; `false` after pmcd has closed the connection. `started`: the thread time
    /// before it was waited for, which adds the few microseconds of going to sleep.
    pub(crate) fn answer(&mut self, started: Duration) -> bool {
        hosted::with(|hosted| hosted.allowance = Allowance::begin(started));
        // SAFETY: dispatch is connected; callbacks do not unwind.
        let sts = unsafe { sys::__pmdaMainPDU(&raw mut *self.agent.dispatch) };
        let finished =
            hosted::with(|hosted| (hosted.results.release(), hosted.allowance.is_over()));
        let Some((bytes, cut)) = finished else { return false };
        if bytes > LARGE_BYTES {
            process::give_memory_back();
        }
        let time = process::thread_time().saturating_sub(started);
        self.handler.borrow_mut().answered(Answered { time, cut });
        sts >= 0
    }

    /// Calls the handler's `update` and registers new metrics with libpcp_pmda.
    pub(crate) fn update(&mut self) {
        // SAFETY: the interface is seven; its ext is libpcp_pmda's own.
        let ext = unsafe { self.agent.dispatch.version.seven.ext };
        hosted::with_handler(|handler, tables| handler.update(tables));
        hosted::with(|hosted| {
            if !hosted.tables.take_grown() {
                return;
            }
            hosted.names_changed = true;
            let (metrics, count) = hosted.tables.metric_rows();
            // SAFETY: pmdaRehash(3): the table stays where it is until the next call; rows are only
            // ever added.
            unsafe { sys::pmdaRehash(ext, metrics, count) };
        });
    }
}

impl<H> Drop for Pmda<H> {
    fn drop(&mut self) {
        hosted::install(None);
    }
}
