"""What goes wrong, as one line that says what to do, and a status. The only place where errors become output."""

import errno
import os
import signal
import sys


class Trouble(Exception):
    """What a user can understand and change."""


def guarded(program):
    """The status of a program: its own, or 1 with a line on standard error. A reader of the output that has ended, as
    head(1) does, is no error to talk about."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        if sys.stdout is None:
            raise Trouble("standard output is closed")
        # A name that the terminal's character set lacks costs a character, not the program.
        sys.stdout.reconfigure(errors="replace")
        status = program()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return ended(130, "interrupted")
    except BrokenPipeError:
        return ended(1, None)
    except Exception as error:  # pylint: disable=broad-except
        if os.environ.get("APM_TRACEBACK"):
            raise
        return ended(1, explained(error))


def ended(status, line):
    """Says the line. What is still to be written is given up: it would fail once more when Python ends."""
    try:
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        forget(1)
    try:
        if line:
            print(f"pcp-apm: {line}", file=sys.stderr, flush=True)
    except (AttributeError, OSError, ValueError):
        forget(2)
    return status


def forget(descriptor):
    """Sends the rest of an output nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def explained(error):
    """An error in a line."""
    from pcp import pmapi
    if isinstance(error, Trouble):
        text = str(error)
    elif isinstance(error, pmapi.pmErr):
        text = pcp_error(error)
    elif isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else "output: "
        text = named + (error.strerror or str(error))
    elif isinstance(error, MemoryError):
        text = "no memory: ask for fewer services, or a shorter time (-S, -T)"
    else:
        text = f"a fault of pcp apm: {type(error).__name__}: {error}: please report it, with the output under APM_TRACEBACK=1"
    return " ".join(text.split())


def pcp_error(error, where=None, archive=False, opened=False):
    """An error of PCP in a line. `where`: the host or archive; `opened`: it happened later than at its opening."""
    import cpmapi as c
    from pcp import pmapi
    code, config = error.errno(), pmapi.pmContext.pmGetConfig
    damaged = [getattr(c, name) for name in ("PM_ERR_LABEL", "PM_ERR_LOGREC", "PM_ERR_LOGFILE", "PM_ERR_RECTYPE") if hasattr(c, name)]
    advice = {c.PM_ERR_PERMISSION: "pmcd or pmdaapm lets only others see this: [access] in pmcd.conf and in apm.toml",
              c.PM_ERR_TIMEOUT: "pmcd does not answer in time: run it again, or with a longer PMCD_REQUEST_TIMEOUT",
              c.PM_ERR_NODATA: "pmlogger has written nothing there yet",
              **{code: f"a file of it is damaged: see pmlogcheck {where}" for code in damaged}}.get(code)
    if advice is None and archive:
        advice = {errno.ENOENT: f"archives of pmlogger are below {config('PCP_ARCHIVE_DIR') or '/var/log/pcp/pmlogger'}/HOST",
                  errno.EACCES: f"run it as a user who may read the archive, such as {config('PCP_USER') or 'pcp'}"}.get(-code)
    elif advice is None and opened:
        advice = "pmcd has ended, or the connection to it: run it again" if code == c.PM_ERR_IPC else None
    elif advice is None and where:
        advice = ("pmcd does not run here: systemctl start pmcd, or /etc/init.d/pmcd start" if where.startswith(("local:", "unix:"))
                  else f"pmcd does not answer there: does pminfo -h {where} pmcd.version?")
    where = "this host" if where == "local:" else where
    return (f"{where}: " if where else "") + pmapi.pmErr(code).message() + (f": {advice}" if advice else "")
