//! Files that outlive the process.

use std::fs::rename;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use pmda::process::{create_private, open_private};

/// Reads a file, up to one byte more than `max`; `None`: there is none.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(path: &Path, max: usize) -> std::io::Result<Option<String>> {
    let file = match open_private(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut text = String::new();
    file.take(max as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes a new file to the disk and renames it over the old one: a complete file always exists.
///
/// # Errors
/// The old file stays.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = create_private(Path::new(&new))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_written() {
        let folder = std::env::temp_dir().join(format!("apm-state-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let at = |name: &str| folder.join(name);
        assert_eq!(read(&at("state"), 10).expect("none"), None);
        write(&at("state"), "a long text").expect("written");
        write(&at("state"), "text").expect("written again");
        assert_eq!(read(&at("state"), 10).expect("read").as_deref(), Some("text"));
        symlink(at("state"), at("link")).expect("a link");
        assert!(read(&at("link"), 10).is_err() && read(&folder, 10).is_err());
        // What the new file's name leads to is not touched.
        symlink(at("state"), at("other.new")).expect("a link");
        write(&at("other"), "other").expect("in the link's place");
        assert_eq!(read(&at("state"), 10).expect("read").as_deref(), Some("text"));
        assert_eq!(read(&at("other"), 10).expect("read").as_deref(), Some("other"));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("a FIFO");
        assert!(read(&at("fifo"), 10).is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
