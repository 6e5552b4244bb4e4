//! Messages of real conversations (qa/corpus/dotnet/*.ipc.jsonl), and all that are none.

use std::fs;
use std::path::Path;

use super::super::wanted::{Provider, Version, Wanted};
use super::*;

/// A message of a conversation.
struct Message {
    file: String,
    from_runtime: bool,
    bytes: Vec<u8>,
}

fn messages() -> Vec<Message> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if !file.ends_with(".ipc.jsonl") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let hex = line["hex"].as_str().unwrap();
            let bytes = (0..hex.len() / 2)
                .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                .collect();
            all.push(Message { file: file.clone(), from_runtime: line["dir"] == "s>c", bytes });
        }
    }
    assert!(all.len() > 100, "where have the captures gone?");
    all
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn bool(&mut self) -> Option<bool> {
        self.bytes().map(|[byte]| byte != 0)
    }

    fn text(&mut self) -> Option<String> {
        let units: Option<Vec<u16>> =
            (0..self.u32()?).map(|_| self.bytes().map(u16::from_le_bytes)).collect();
        let mut units = units?;
        units.pop();
        String::from_utf16(&units).ok()
    }
}

/// The session that a request asks for; `None`: one that must never be sent.
fn collect(id: u8, payload: &[u8]) -> Option<(CollectCommand, Wanted)> {
    let command = match id {
        2 => CollectCommand::One,
        3 => CollectCommand::Two,
        4 => CollectCommand::Three,
        5 => CollectCommand::Four,
        6 => CollectCommand::Five,
        _ => return None,
    };
    let mut input = Input(payload);
    if id == 6 && input.u32()? != 0 {
        return None;
    }
    let buffer = input.u32()?;
    if input.u32()? != 1 || buffer == 0 {
        return None;
    }
    let (rundown, stacks) = match id {
        2 => (1, true),
        3 => (u64::from(input.bool()?), true),
        4 => (u64::from(input.bool()?), input.bool()?),
        _ => (input.u64()?, input.bool()?),
    };
    let mut providers = Vec::new();
    for _ in 0..input.u32()? {
        let (keywords, level) = (input.u64()?, input.u32()?);
        let (name, arguments) = (input.text()?, input.text()?);
        let mut only = Vec::new();
        if id == 6 {
            let enable = input.bool()?;
            only = (0..input.u32()?).map(|_| input.u32()).collect::<Option<_>>()?;
            if enable == only.is_empty() {
                return None;
            }
        }
        if level > 5 || name.is_empty() {
            return None;
        }
        providers.push(Provider { name, keywords, level, arguments, only });
    }
    let good = input.0.is_empty() && !providers.is_empty();
    good.then_some((
        command,
        Wanted { providers, buffer, stacks, rundown, meter_session: String::new(), left_out: 0 },
    ))
}

#[test]
fn requests_are_those_of_real_conversations() {
    let (mut sessions, mut others, mut never) = (0, 0, 0);
    for Message { file, bytes, .. } in messages().iter().filter(|m| !m.from_runtime) {
        let Some((head, payload)) = bytes.split_at_checked(HEADER) else { continue };
        let size = u16::from_le_bytes([head[14], head[15]]);
        if !head.starts_with(b"DOTNET_IPC_V1\0") || usize::from(size) != bytes.len() {
            continue;
        }
        let request = match (head[16], head[17]) {
            (2, 1) if payload.len() == 8 => {
                Request::Stop(u64::from_le_bytes(payload.try_into().unwrap()))
            }
            (2, id) => match collect(id, payload) {
                Some((command, wanted)) => {
                    sessions += 1;
                    Request::Collect(command, wanted)
                }
                None => {
                    never += 1;
                    continue;
                }
            },
            (4, 0) => Request::Info(InfoCommand::One),
            (4, 4) => Request::Info(InfoCommand::Two),
            (4, 8) => Request::Info(InfoCommand::Three),
            (4, 1) => Request::Resume,
            _ => {
                never += 1;
                continue;
            }
        };
        others += 1;
        assert_eq!(request.encode().as_ref(), Ok(bytes), "{file} {request:?}");
    }
    assert!(sessions > 50 && others > sessions + 50 && never > 20, "{sessions} {others} {never}");
}

#[test]
fn answers_are_decoded_whole_or_not_at_all() {
    let mut kinds = [0; 3];
    for Message { file, bytes, .. } in messages().iter().filter(|m| m.from_runtime) {
        if let Ok(bytes) = <&[u8; ADVERTISE]>::try_from(bytes.as_slice()) {
            assert!(Advertise::parse(bytes).is_some_and(|a| a.pid > 0), "{file}");
            kinds[0] += 1;
            continue;
        }
        let Ok(Some((answer, length))) = Answer::parse(bytes) else {
            assert!(bytes.is_empty() || !bytes.starts_with(b"DOTNET"), "{file} {bytes:x?}");
            continue;
        };
        assert!(length <= bytes.len(), "{file}");
        for end in 0..length {
            assert_eq!(Answer::parse(&bytes[..end]), Ok(None), "{file} {end}");
        }
        match answer {
            Answer::Done(_) => kinds[1] += 1,
            Answer::Refused(code) => {
                assert_ne!(code.name(), "error", "{file} {code}");
                kinds[2] += 1;
            }
        }
    }
    assert!(kinds.iter().all(|count| *count > 3), "{kinds:?}");
}

#[test]
fn processes_tell_who_they_are() {
    let mut found = 0;
    let all = messages();
    for pair in all.windows(2) {
        let [request, answer] = pair else { continue };
        let command = match request.bytes.get(16..18) {
            Some([4, 0]) => InfoCommand::One,
            Some([4, 4]) => InfoCommand::Two,
            Some([4, 8]) => InfoCommand::Three,
            _ => continue,
        };
        let Ok(Some((Answer::Done(payload), _))) = Answer::parse(&answer.bytes) else { continue };
        let info = Info::parse(command, payload).expect("an answer of a runtime");
        assert!(info.pid > 0 && info.cookie != [0; 16] && !info.command.is_empty());
        assert_eq!((info.os.as_str(), info.arch.as_str()), ("Linux", "x64"));
        if command != InfoCommand::One {
            assert!(info.entry.starts_with("workload"), "{}", info.entry);
            assert!(matches!(Version::parse(&info.version).major, 9 | 10), "{}", info.version);
        }
        assert_eq!(info.rid.is_empty(), command != InfoCommand::Three);
        for end in 0..payload.len() {
            assert_eq!(Info::parse(command, &payload[..end]), None);
        }
        found += 1;
    }
    assert!(found > 5, "{found}");
}

#[test]
fn what_runtimes_die_of_cannot_be_encoded() {
    let provider = |name: &str| Provider {
        name: name.into(),
        keywords: 1,
        level: 9,
        arguments: String::new(),
        only: Vec::new(),
    };
    let wanted = |providers| Wanted {
        providers,
        buffer: 0,
        stacks: false,
        rundown: 0,
        meter_session: String::new(),
        left_out: 0,
    };
    let encode = |wanted| Request::Collect(CollectCommand::Four, wanted).encode();
    let bytes = encode(wanted(vec![provider("P")])).unwrap();
    assert_eq!(bytes[20..28], [1, 0, 0, 0, 1, 0, 0, 0], "1 MiB of format 1");
    assert_eq!(bytes[49..53], [5, 0, 0, 0], "level 5");
    assert_eq!(encode(wanted(vec![])), Err(RequestError::Providers(0)));
    assert_eq!(encode(wanted(vec![provider("P"); 1001])), Err(RequestError::Providers(1001)));
    assert_eq!(encode(wanted(vec![provider("")])), Err(RequestError::Name));
    assert_eq!(encode(wanted(vec![provider("a\0b")])), Err(RequestError::Name));
    let long = encode(wanted(vec![provider(&"x".repeat(40_000))]));
    assert!(matches!(long, Err(RequestError::Size(_))), "{long:?}");
}

#[test]
fn other_bytes_are_no_answers() {
    let ok = |size: u16, set: u8, id: u8| {
        let mut bytes = b"DOTNET_IPC_V1\0".to_vec();
        bytes.extend(size.to_le_bytes());
        bytes.extend([set, id, 0, 0]);
        bytes
    };
    assert_eq!(Answer::parse(b"HTTP/1.1 200"), Err(AnswerError::Magic));
    assert_eq!(Answer::parse(&ok(19, 0xFF, 0)), Err(AnswerError::Size(19)));
    assert_eq!(Answer::parse(&ok(20, 4, 0)), Err(AnswerError::Command(4, 0)));
    assert_eq!(Answer::parse(&ok(20, 0xFF, 0xFF)), Err(AnswerError::NoCode));
    assert_eq!(Answer::parse(&ok(20, 0xFF, 0)), Ok(Some((Answer::Done(&[]), 20))));
    assert_eq!(Answer::parse(&ok(21, 0xFF, 0)), Ok(None));
}
