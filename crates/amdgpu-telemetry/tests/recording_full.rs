//! A recording on a file system that is full for a while. The limit on the size of files is the process', so this test is alone in it.

use std::path::PathBuf;

use amdgpu_telemetry::recorder::{RecorderError, RecordingWriter, read_recording};
use amdgpu_telemetry::{Kind, NameId, Names, Record};

fn limit_file_bytes(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the limit is a whole value on the stack, and the signal is only ignored.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

fn records(range: std::ops::Range<u64>) -> Vec<Record> {
    let name = NameId::from_number(1);
    range
        .map(|number| Record::new(Kind::Marker, name).at(number, 0))
        .collect()
}

fn path() -> PathBuf {
    std::env::temp_dir().join(format!("agpu-full-{}", std::process::id()))
}

#[test]
fn counts_after_a_failed_write_are_those_of_the_file_and_later_writes_join_it() {
    let names = Names {
        names: vec!["".into(), "step".into()],
        ..Names::default()
    };
    let mut writer = RecordingWriter::create(&path()).unwrap();
    writer.records(0, &names, 0, &records(0..100)).unwrap();
    writer.flush().unwrap();
    let kept = writer.bytes_so_far();
    assert_eq!(std::fs::metadata(path()).unwrap().len(), kept);

    // Room for one frame of a hundred records (6,424 bytes), and half of the next one.
    limit_file_bytes(kept + 10_000);
    writer.records(0, &names, 0, &records(100..200)).unwrap();
    writer.records(0, &names, 0, &records(200..300)).unwrap();
    assert_eq!(writer.records_so_far(), 300);
    let error = writer.flush().unwrap_err();
    let RecorderError::Write {
        kept_bytes,
        kept_records,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(kept_records, 200);
    assert_eq!(std::fs::metadata(path()).unwrap().len(), kept_bytes);
    assert_eq!(
        (writer.records_so_far(), writer.bytes_so_far()),
        (200, kept_bytes)
    );

    // Names of what could not be written come again with the next records.
    let more = Names {
        names: vec!["".into(), "step".into(), "later".into()],
        ..Names::default()
    };
    let later = Record::new(Kind::Marker, NameId::from_number(2)).at(1000, 0);
    limit_file_bytes(kept_bytes);
    writer.records(0, &more, 0, &[later]).unwrap();
    assert!(writer.flush().is_err());
    assert_eq!(writer.records_so_far(), 200);
    limit_file_bytes(libc::RLIM_INFINITY);
    writer.records(0, &more, 0, &[later]).unwrap();
    assert_eq!(writer.finish().unwrap(), 201);

    let recording = read_recording(&path()).unwrap();
    std::fs::remove_file(path()).unwrap();
    assert_eq!(recording.damage, None);
    let source = &recording.sources[&0];
    assert_eq!(source.records.len(), 201);
    assert_eq!(source.names.get(source.records[200].name), "later");
}
