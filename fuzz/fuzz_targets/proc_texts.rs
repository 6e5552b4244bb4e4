//! What the kernel tells of processes, some of which processes choose themselves: names, files,
//! mounts. What was written in the kernel's form is read as it was meant, whatever the name in it;
//! lines around it do not matter; anything else does no harm.
#![no_main]

use std::net::{IpAddr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use pmdaapm::host::fuzzing::{answer, connection, request};
use pmdaapm::host::{ProcStat, ProcStatus, Socket, file_system};
use pmdaapm::sources::mono::fuzzing::mapping;

/// A number of the input.
fn word(data: &mut &[u8]) -> u64 {
    let (head, tail) = data.split_at(data.len().min(8));
    *data = tail;
    let mut bytes = [0; 8];
    bytes[..head.len()].copy_from_slice(head);
    u64::from_le_bytes(bytes)
}

fn stat(comm: &[u8], start: u64, flags: u32, state: char) -> Vec<u8> {
    let tail = format!(") {state} 1 42 42 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1 2 3\n");
    [b"42 (", comm, tail.as_bytes()].concat()
}

fn hex(ip: IpAddr) -> String {
    let bytes = match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes.chunks(4).map(|four| u32::from_ne_bytes(four.try_into().unwrap()));
    words.map(|word| format!("{word:08X}")).collect()
}

/// Texts in the kernel's form with numbers and a name of the input.
fn made(mut data: &[u8]) {
    let [start, numbers, more] = [0; 3].map(|_| word(&mut data));
    let (user, pid, flags) = (numbers as u32, (numbers >> 32) as u32, more as u32);
    let comm = data;
    let ended = more & 1 << 40 != 0;
    let read = ProcStat::parse(&stat(comm, start, flags, if ended { 'Z' } else { 'S' }));
    let kernel = flags & 0x0020_0000 != 0;
    let cpu = read.as_ref().map_or((0, 0), |stat| stat.cpu);
    assert_eq!(cpu.0 * 6, cpu.1 * 5);
    assert_eq!(read, Some(ProcStat { comm: comm.to_vec(), cpu, start, threads: 1, kernel, ended }));

    // The kernel escapes newlines in the name that this file has.
    let name: Vec<u8> = comm.iter().map(|&b| if b == b'\n' { b' ' } else { b }).collect();
    let tail = format!("\nUmask:\t0022\nUid:\t{user}\t{flags}\t1\t2\nNSpid:\t7\t{pid}\nGid:\t1\n");
    let status = ProcStatus::parse(&[b"Name:\t", &name[..], tail.as_bytes()].concat());
    assert_eq!(status, Some(ProcStatus { real: user, uid: flags, container_pid: Some(pid) }));

    let (inode, port) = (start.max(1), more as u16);
    for ip in [IpAddr::from(user.to_be_bytes()), IpAddr::from(u128::from(start).to_be_bytes())] {
        let local = SocketAddr::new(ip, port);
        let line = format!(
            "   3: {}:{port:04X} 0100007F:22B8 01 00000000:00000000 00:00000000 00000000  {user}        0 {inode} 1 0",
            hex(ip)
        );
        assert_eq!(connection(line.as_bytes(), local), Some(Socket { inode, user }));
        let other = SocketAddr::new(ip, port.wrapping_add(1));
        assert_eq!(connection(line.as_bytes(), other), None);
        assert_eq!(connection(line.replace(" 01 0", " 0A 0").as_bytes(), local), None);
    }

    // Names of mapped files have no newline: the kernel escapes it.
    let device = (u32::from(port), flags);
    let file = [b"7f00-7f01 r--p 00000000 08:01 5    /tmp/", &name[..], b"\n"].concat();
    let area = format!(
        "7f10-7f11 rw-s 00000000 {:02x}:{:02x} {inode}    /dev/shm/mono.{pid}\n",
        device.0, device.1
    );
    if !name.windows(10).any(|part| part == b"/shm/mono.") {
        for maps in [[&file[..], area.as_bytes()], [area.as_bytes(), &file[..]]] {
            let maps = maps.concat();
            assert_eq!(mapping(&maps, pid), Some((pid, device, inode)));
            assert_eq!(mapping(&maps, pid ^ 1), None);
        }
    }
    // Blanks and newlines in the names of mounts are escaped.
    let mount: Vec<u8> = name.iter().map(|&b| if b == b' ' { b'_' } else { b }).collect();
    let line = |kind: &str, opt: &str| {
        let head = format!("36 35 {}:{} / /", device.0, device.1).into_bytes();
        [&head[..], &mount, format!(" rw,nosuid{opt} - {kind} none rw\n").as_bytes()].concat()
    };
    for opt in ["", " shared:1 master:2"] {
        assert_eq!(file_system(&line("tmpfs", opt), device), Some(&b"tmpfs"[..]));
        assert_eq!(file_system(&line("fuse.x", opt), device), Some(&b"fuse.x"[..]));
        assert_eq!(file_system(&line("tmpfs", opt), (device.0 ^ 1, device.1)), None);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&what, data)) = data.split_first() else { return };
    if what & 1 == 0 {
        return made(data);
    }
    if let Some(stat) = ProcStat::parse(data) {
        assert!(stat.comm.len() + 40 < data.len());
        // What follows the fields that are used does not matter.
        assert_eq!(ProcStat::parse(&[data, b" 7"].concat()).map(|s| s.comm), Some(stat.comm));
    }
    if let Some(status) = ProcStatus::parse(data) {
        assert_eq!(ProcStatus::parse(&[data, b"\nMore:\t1\n"].concat()), Some(status));
    }
    let local: SocketAddr = ([127, 0, 0, 1], u16::from(what)).into();
    assert!(connection(data, local).is_none_or(|socket| socket.inode != 0));
    if let Ok(Some(socket)) = answer(data) {
        assert!(data.len() >= 16 + 72 && socket.inode != 0 && data[17] == 1);
        assert_eq!(answer(&[data, b"more"].concat()), Ok(Some(socket)));
    }
    if request(data) {
        assert!(data.len() >= 13);
    }
    for pid in [0, 1, 42] {
        if let Some(found) = mapping(data, pid) {
            assert_eq!(found.0, pid);
            let more =
                [b"1-2 r--p 0 1:2 3 /lib/a\n", data, b"\n1-2 r--p 0 1:2 3 /lib/a\n"].concat();
            assert_eq!(mapping(&more, pid), Some(found));
        }
    }
    if let Some(kind) = file_system(data, (0, 26)) {
        let more = [b"1 2 3:4 / / rw - fuse x rw\n", data].concat();
        assert_eq!(file_system(&more, (0, 26)), Some(kind));
    }
});
