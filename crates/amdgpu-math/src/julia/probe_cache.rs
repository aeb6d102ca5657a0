//! Remembers the probe's answer between processes: one small text file for each executable. It holds the size and time of every file the
//! answer rests on, and counts only while all of them are unchanged.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use amdgpu_abi::environment;

use crate::julia::discovery::Installation;

/// First line of a file; another meaning of the rest gets another number.
const HEADER: &str = "amdgpu julia probe 1";

pub(crate) fn load(executable: &Path) -> Option<Installation> {
    let text = std::fs::read_to_string(file(&directory()?, executable)).ok()?;
    decode(&text, executable)
}

/// Losing the answer costs a quarter of a second at the next start, so failures to write are no errors.
pub(crate) fn store(installation: &Installation) {
    let Some(directory) = directory() else {
        return;
    };
    let _ = write_atomically(
        &directory,
        &file(&directory, &installation.executable),
        &encode(installation),
    );
}

fn directory() -> Option<PathBuf> {
    let base = match environment::read(environment::CACHE_DIR).as_deref() {
        Some("off") => return None,
        Some(path) => PathBuf::from(path),
        None => environment::read("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| environment::read("HOME").map(|home| Path::new(&home).join(".cache")))?
            .join("amdgpu"),
    };
    Some(base.join("julia"))
}

fn file(directory: &Path, executable: &Path) -> PathBuf {
    directory.join(format!(
        "{:016x}.txt",
        fnv1a(executable.as_os_str().as_encoded_bytes())
    ))
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): stable between builds, which the standard library's hasher does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn write_atomically(directory: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, path)
}

/// Size and time of last change; `absent` for a file that does not exist.
fn stamp(path: &Path) -> String {
    let Ok(metadata) = path.metadata() else {
        return "absent".to_owned();
    };
    let changed_ns = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos());
    format!("{}:{changed_ns}", metadata.len())
}

/// juliaup's launcher stays the same when the version behind it changes; its configuration does not.
fn juliaup_configuration() -> PathBuf {
    environment::read("JULIAUP_DEPOT_PATH")
        .map(PathBuf::from)
        .or_else(|| environment::read("HOME").map(|home| Path::new(&home).join(".julia")))
        .unwrap_or_default()
        .join("juliaup/juliaup.json")
}

fn encode(installation: &Installation) -> String {
    let mut text = format!(
        "{HEADER}\nversion={}\nbindir={}\n",
        installation.version,
        installation.bindir.display()
    );
    let unwinder = installation.unwinder.clone().unwrap_or_default();
    let files = [
        ("executable", &installation.executable),
        ("library", &installation.library),
        ("image", &installation.image),
        ("unwinder", &unwinder),
        ("juliaup", &juliaup_configuration()),
    ];
    for (name, path) in files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}={}\t{}", stamp(path), path.display());
    }
    text
}

fn decode(text: &str, executable: &Path) -> Option<Installation> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return None;
    }
    let value = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    let unchanged = |name: &str| {
        let (old_stamp, path) = value(name)?.split_once('\t')?;
        let path = PathBuf::from(path);
        (stamp(&path) == old_stamp).then_some(path)
    };
    if unchanged("executable")? != executable || unchanged("juliaup")? != juliaup_configuration() {
        return None;
    }
    Some(Installation {
        executable: executable.to_owned(),
        version: value("version")?.to_owned(),
        library: unchanged("library")?,
        image: unchanged("image")?,
        bindir: PathBuf::from(value("bindir")?),
        unwinder: Some(unchanged("unwinder")?).filter(|path| !path.as_os_str().is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation(folder: &Path) -> Installation {
        let place = |name: &str| {
            let path = folder.join(name);
            std::fs::write(&path, name).unwrap();
            path
        };
        Installation {
            executable: place("julia"),
            version: "1.10.4".into(),
            library: place("libjulia.so"),
            image: place("sys.so"),
            bindir: folder.to_owned(),
            unwinder: Some(place("libunwind.so")),
        }
    }

    #[test]
    fn an_answer_counts_until_a_file_it_rests_on_changes() {
        let folder = std::env::temp_dir().join(format!("agpu-probe-cache-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let original = installation(&folder);
        let text = encode(&original);
        assert_eq!(decode(&text, &original.executable), Some(original.clone()));
        assert_eq!(decode(&text, Path::new("/other/julia")), None);
        assert_eq!(
            decode(&text.replace("probe 1", "probe 0"), &original.executable),
            None
        );
        assert_eq!(decode(&text[..text.len() / 2], &original.executable), None);
        std::fs::write(&original.library, "a longer file than before").unwrap();
        assert_eq!(decode(&text, &original.executable), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_answer_without_unwinder_survives_the_round_trip() {
        let folder =
            std::env::temp_dir().join(format!("agpu-probe-cache-none-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut original = installation(&folder);
        original.unwinder = None;
        assert_eq!(
            decode(&encode(&original), &original.executable),
            Some(original)
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
