//! What the control groups of a process allow it, and the container that they are of.

use std::path::{Path, PathBuf};

use super::super::files::ProcDir;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// Bytes of a file of a control group.
const FILE: u64 = 4 << 10;
/// Control groups between a process and the root.
const DEPTH: usize = 32;
/// Version 1 has this or more where there is no limit.
const NONE: u64 = 1 << 62;
/// Hexadecimal digits of a container's id, and those that are shown.
const ID: usize = 64;
const SHOWN: usize = 12;

/// What a process may use. The limits of all control groups that it is in count: the lowest is here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Bytes of memory; `None`: there is no limit.
    pub memory: Option<u64>,
    /// Bytes that the control group with that limit uses.
    pub usage: Option<u64>,
    /// Processes of it that were killed for want of memory.
    pub oom_kills: Option<u64>,
    /// Processors; `None`: there is no limit.
    pub cpus: Option<f64>,
}

/// The limits of a process, as far as this user sees the control groups.
#[must_use]
pub fn limits(process: &ProcDir) -> Limits {
    process.read("cgroup").map_or_else(Limits::default, |text| of(&text, Path::new(ROOT)))
}

/// The first digits of the id of the container that a process is in, by the names of its control
/// groups.
#[must_use]
pub fn container(process: &ProcDir) -> Option<String> {
    id(&process.read("cgroup")?)
}

fn id(text: &[u8]) -> Option<String> {
    let digits = text.split(|b| !b.is_ascii_hexdigit()).find(|run| run.len() == ID)?;
    Some(String::from_utf8_lossy(digits.get(..SHOWN)?).into_owned())
}

fn of(text: &[u8], root: &Path) -> Limits {
    let text = String::from_utf8_lossy(text);
    let mut limits = Limits::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // Outside of our own cgroup namespace.
        if path.contains("..") {
            continue;
        }
        let has = |name| controllers.split(',').any(|controller| controller == name);
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            version_2(root, path, &mut limits);
        } else if has("memory") {
            version_1_memory(&root.join("memory").join(path), &mut limits);
        } else if has("cpu") {
            version_1_cpu(&root.join("cpu").join(path), &mut limits);
        }
    }
    limits
}

fn read(folder: &Path, file: &str) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(folder.join(file)).ok()?.take(FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    read(folder, file)?.trim().parse().ok()
}

/// The number of a line `NAME NUMBER`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The control group and those that it is in.
fn groups(root: &Path, path: &str) -> Vec<PathBuf> {
    let leaf = root.join(path);
    let inner = |group: &&Path| group.starts_with(root);
    leaf.ancestors().take_while(inner).take(DEPTH).map(Path::to_owned).collect()
}

fn version_2(root: &Path, path: &str, limits: &mut Limits) {
    for group in groups(root, path) {
        let memory = number(&group, "memory.max");
        if let Some(memory) = memory.filter(|&max| limits.memory.is_none_or(|known| max < known)) {
            limits.memory = Some(memory);
            limits.usage = number(&group, "memory.current");
            let events = read(&group, "memory.events").unwrap_or_default();
            limits.oom_kills = field(&events, "oom_kill");
        }
        let Some(text) = read(&group, "cpu.max") else { continue };
        let mut words = text.split_ascii_whitespace();
        let quota = words.next().and_then(|quota| quota.parse().ok());
        let period = words.next().and_then(|period| period.parse().ok());
        lower(&mut limits.cpus, quota.zip(period));
    }
}

/// The memory controller tells the lowest limit itself.
fn version_1_memory(group: &Path, limits: &mut Limits) {
    let stat = read(group, "memory.stat").unwrap_or_default();
    let memory = field(&stat, "hierarchical_memory_limit").filter(|&limit| limit < NONE);
    if memory.is_some() {
        limits.memory = memory;
        limits.usage = number(group, "memory.usage_in_bytes");
        let control = read(group, "memory.oom_control").unwrap_or_default();
        limits.oom_kills = field(&control, "oom_kill");
    }
}

fn version_1_cpu(group: &Path, limits: &mut Limits) {
    for group in group.ancestors().take(DEPTH) {
        // -1 without a limit.
        let quota = number(group, "cpu.cfs_quota_us");
        lower(&mut limits.cpus, quota.zip(number(group, "cpu.cfs_period_us")));
    }
}

/// Of microseconds of processor time in each period of so many.
fn lower(cpus: &mut Option<f64>, limit: Option<(u64, u64)>) {
    let Some((quota, period)) = limit.filter(|&(_, period)| period > 0) else { return };
    let float = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let share = float(quota) / float(period);
    *cpus = Some(cpus.map_or(share, |known| known.min(share)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_of_all_parents_counts() {
        let root = std::env::temp_dir().join(format!("apm-cgroup-{}", std::process::id()));
        let leaf = root.join("pods/app");
        std::fs::create_dir_all(&leaf).unwrap();
        let write = |folder: &Path, file: &str, text: &str| {
            std::fs::write(folder.join(file), text).unwrap();
        };
        write(&leaf, "memory.max", "max\n");
        write(&leaf, "cpu.max", "150000 100000\n");
        write(&root.join("pods"), "memory.max", "1048576\n");
        write(&root.join("pods"), "memory.current", "4096\n");
        write(&root.join("pods"), "memory.events", "low 0\noom 3\noom_kill 2\n");
        write(&root.join("pods"), "cpu.max", "max 100000\n");
        write(&root, "memory.max", "2097152\n");
        let limits = of(b"0::/pods/app\n", &root);
        let (memory, usage, oom_kills) = (Some(1_048_576), Some(4096), Some(2));
        assert_eq!(limits, Limits { memory, usage, oom_kills, cpus: Some(1.5) });
        assert_eq!(of(b"0::/../other\nnonsense\n0:\n", &root), Limits::default());
        // Version 1.
        let (memory, cpu) = (root.join("memory/a"), root.join("cpu/a"));
        std::fs::create_dir_all(&memory).unwrap();
        std::fs::create_dir_all(&cpu).unwrap();
        write(&memory, "memory.stat", "cache 0\nhierarchical_memory_limit 500\n");
        write(&memory, "memory.oom_control", "oom_kill_disable 0\noom_kill 1\n");
        write(&cpu, "cpu.cfs_quota_us", "50000\n");
        write(&cpu, "cpu.cfs_period_us", "100000\n");
        let limits = of(b"9:memory:/a\n4:cpu,cpuacct:/a\n", &root);
        assert_eq!((limits.memory, limits.oom_kills, limits.cpus), (Some(500), Some(1), Some(0.5)));
        write(&memory, "memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
        write(&cpu, "cpu.cfs_quota_us", "-1\n");
        assert_eq!(of(b"9:memory:/a\n4:cpu,cpuacct:/a\n", &root), Limits::default());
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_container_has_the_id_of_its_control_group() {
        let digits = "0123456789abcdef".repeat(4);
        for path in [format!("/docker/{digits}"), format!("/x.slice/cri-containerd-{digits}.scope")]
        {
            assert_eq!(id(format!("0::{path}\n").as_bytes()).as_deref(), Some("0123456789ab"));
        }
        assert_eq!(id(b"0::/user.slice/user-0123456789abcdef.slice\n"), None);
    }
}
