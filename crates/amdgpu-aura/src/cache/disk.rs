//! Compiled code on disk, shared by processes.
//!
//! One file per key: magic, length of the metadata, SHA-256 of that length and everything behind the header, metadata (JSON), machine code. Files are
//! written beside their place and renamed into it, so that a reader sees a whole file or none. A file that fails its checksum is
//! removed. A cache that cannot be written is a slower start, never an error.
//!
//! The time at which a file was changed is that of its last use, give or take [`REFRESHED`]. Keys are hashes, so each of the [`FOLDERS`]
//! subfolders gets an equal share of the entries and of the room: to keep the size, one subfolder is looked through at a time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use amdgpu_abi::environment;
use sha2::{Digest, Sha256};

use super::eviction::{ENTRY, UNFINISHED, age, make_room};
use super::{CacheKey, CacheLimits};

const MAGIC: &[u8; 8] = b"AGPUKC01";
const DIGEST_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + 8 + DIGEST_BYTES;
/// No kernel of a size anybody compiles comes near; a larger file is not ours.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Subfolders, one for each first byte of a key.
const FOLDERS: u64 = 256;
/// The time of an entry is set when it is older than this: often enough to tell what is in use, and no write for every start.
const REFRESHED: Duration = Duration::from_secs(3600);

pub(crate) struct Entry {
    pub metadata: String,
    pub code: Vec<u8>,
}

impl Entry {
    /// The content of its file.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// # Errors
    ///
    /// Why these bytes are no entry.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        decode(bytes)
    }
}

/// What a look-up found.
pub(crate) enum Lookup {
    Found(Entry),
    Absent,
    /// The file was damaged, says why, and has been removed.
    Damaged(&'static str),
}

pub(crate) struct DiskCache {
    directory: Option<PathBuf>,
    limit_bytes: u64,
}

impl DiskCache {
    /// The cache in `AMDGPU_CACHE_DIR`, else in the user's cache folder; none when switched off or when there is no such folder.
    ///
    /// # Errors
    ///
    /// A limit that is no number of bytes.
    pub fn from_environment() -> crate::error::Result<Self> {
        let chosen = environment::read(environment::CACHE_DIR);
        let directory = match chosen.as_deref() {
            Some("off") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => environment::read("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| environment::read("HOME").map(|home| Path::new(&home).join(".cache")))
                .map(|base| base.join("amdgpu")),
        };
        Ok(Self {
            directory: directory.map(|directory| directory.join("kernels")),
            limit_bytes: CacheLimits::from_environment()?.disk_bytes,
        })
    }

    pub fn get(&self, key: &CacheKey) -> Lookup {
        let Some(path) = self.path(key) else {
            return Lookup::Absent;
        };
        let Ok(metadata) = fs::metadata(&path) else {
            return Lookup::Absent;
        };
        if metadata.len() > MAX_FILE_BYTES {
            return Self::discard(&path, "the file is too large");
        }
        let Ok(bytes) = fs::read(&path) else {
            return Lookup::Absent;
        };
        match decode(&bytes) {
            Ok(entry) => {
                refresh(&path, &metadata);
                Lookup::Found(entry)
            }
            Err(reason) => Self::discard(&path, reason),
        }
    }

    /// Keep an entry; others that were not used for longer go when there are too many.
    ///
    /// # Errors
    ///
    /// The file cannot be written; nothing of it stays.
    pub fn put(&self, key: &CacheKey, entry: &Entry) -> std::io::Result<()> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let Some(path) = self.path(key) else {
            return Ok(());
        };
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let temporary =
            path.with_extension(format!("{}.{serial}.{UNFINISHED}", std::process::id()));
        let write = || -> std::io::Result<()> {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = fs::File::create(&temporary)?;
            file.write_all(&encode(entry))?;
            fs::rename(&temporary, &path)
        };
        write().inspect_err(|_| {
            // The entry is lost either way; what matters is that no half-written file stays.
            let _ = fs::remove_file(&temporary);
        })?;
        if let Some(folder) = path.parent() {
            make_room(folder, &path, self.limit_bytes / FOLDERS);
        }
        Ok(())
    }

    /// Two levels keep folders small.
    fn path(&self, key: &CacheKey) -> Option<PathBuf> {
        let (head, tail) = key.as_str().split_at(2);
        Some(
            self.directory
                .as_ref()?
                .join(head)
                .join(format!("{tail}.{ENTRY}")),
        )
    }

    fn discard(path: &Path, reason: &'static str) -> Lookup {
        // Whether or not it can be removed, the next put replaces it.
        let _ = fs::remove_file(path);
        Lookup::Damaged(reason)
    }
}

/// Have the file tell that it was used now. A cache that may only be read stays as it is.
fn refresh(path: &Path, metadata: &fs::Metadata) {
    let now = SystemTime::now();
    if metadata
        .modified()
        .is_ok_and(|used| age(now, used) > REFRESHED)
    {
        let _ = fs::File::open(path).and_then(|file| file.set_modified(now));
    }
}

fn encode(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + entry.metadata.len() + entry.code.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(entry.metadata.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; DIGEST_BYTES]);
    bytes.extend_from_slice(entry.metadata.as_bytes());
    bytes.extend_from_slice(&entry.code);
    let digest = checksum(&bytes[MAGIC.len()..MAGIC.len() + 8], &bytes[HEADER_BYTES..]);
    bytes[HEADER_BYTES - DIGEST_BYTES..HEADER_BYTES].copy_from_slice(&digest);
    bytes
}

fn checksum(length: &[u8], body: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(length);
    hasher.update(body);
    hasher.finalize().into()
}

fn decode(bytes: &[u8]) -> Result<Entry, &'static str> {
    let (header, body) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or("the file is too short")?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let (length, digest) = rest.split_at(8);
    if magic != MAGIC {
        return Err("it does not start like a cache entry");
    }
    if checksum(length, body) != digest {
        return Err("its checksum is wrong");
    }
    let length = u64::from_le_bytes(length.try_into().map_err(|_| "its header is damaged")?);
    let (metadata, code) = usize::try_from(length)
        .ok()
        .and_then(|length| body.split_at_checked(length))
        .ok_or("its header is damaged")?;
    Ok(Entry {
        metadata: String::from_utf8(metadata.to_vec()).map_err(|_| "its metadata is not text")?,
        code: code.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> DiskCache {
        let directory =
            std::env::temp_dir().join(format!("agpu-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        DiskCache {
            directory: Some(directory),
            limit_bytes: u64::MAX,
        }
    }

    /// Keys of one subfolder, in the order of their names.
    fn keys_of_one_folder(count: usize) -> Vec<CacheKey> {
        let key = |number| CacheKey(format!("ab{number:062x}"));
        (0..count).map(key).collect()
    }

    fn set_age(cache: &DiskCache, key: &CacheKey, hours: u64) {
        let file = fs::File::open(cache.path(key).unwrap()).unwrap();
        let then = SystemTime::now() - Duration::from_secs(hours * 3600 + 60);
        file.set_modified(then).unwrap();
    }

    fn files_of(cache: &DiskCache) -> Vec<PathBuf> {
        let folder = cache.directory.as_ref().unwrap().join("ab");
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        files
    }

    #[test]
    fn entries_used_longest_ago_go_when_the_folder_is_full() {
        let mut cache = cache("evict");
        let keys = keys_of_one_folder(12);
        let size = encode(&entry()).len() as u64;
        cache.limit_bytes = 10 * size * FOLDERS;
        for (age, key) in (1..).zip(&keys[..10]) {
            cache.put(key, &entry()).unwrap();
            set_age(&cache, key, age);
        }
        assert_eq!(files_of(&cache).len(), 10, "all fit");
        // The two oldest are read, which makes them the newest.
        for key in &keys[8..10] {
            assert!(matches!(cache.get(key), Lookup::Found(_)));
        }
        cache.put(&keys[10], &entry()).unwrap();
        let kept: Vec<_> = [0, 1, 2, 3, 4, 5, 8, 9, 10]
            .map(|number: usize| cache.path(&keys[number]).unwrap())
            .into();
        assert_eq!(files_of(&cache), kept);
    }

    #[test]
    fn the_newest_entry_stays_however_small_the_limit_is() {
        let mut cache = cache("newest");
        cache.limit_bytes = 1;
        let keys = keys_of_one_folder(3);
        for key in &keys {
            cache.put(key, &entry()).unwrap();
            assert_eq!(files_of(&cache), [cache.path(key).unwrap()]);
        }
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
        let cache = cache("killed");
        let key = &keys_of_one_folder(1)[0];
        cache.put(key, &entry()).unwrap();
        let path = cache.path(key).unwrap();
        let (old, new) = (
            path.with_extension("1.1.tmp"),
            path.with_extension("2.1.tmp"),
        );
        fs::write(&old, b"half").unwrap();
        fs::write(&new, b"half").unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
        fs::File::open(&old)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        cache.put(key, &entry()).unwrap();
        assert_eq!(files_of(&cache), [new, path]);
    }

    fn entry() -> Entry {
        Entry {
            metadata: "{\"a\": 1}".into(),
            code: vec![1, 2, 3],
        }
    }

    #[test]
    fn entries_come_back_and_others_are_absent() {
        let cache = cache("roundtrip");
        let key = CacheKey::new(&["x"]);
        assert!(matches!(cache.get(&key), Lookup::Absent));
        cache.put(&key, &entry()).unwrap();
        let Lookup::Found(found) = cache.get(&key) else {
            panic!("not found")
        };
        assert_eq!(
            (found.metadata, found.code),
            (entry().metadata, entry().code)
        );
    }

    #[test]
    fn every_damaged_byte_is_noticed_and_the_file_removed() {
        let cache = cache("damage");
        let key = CacheKey::new(&["x"]);
        let whole = encode(&entry());
        for position in 0..whole.len() {
            cache.put(&key, &entry()).unwrap();
            let path = cache.path(&key).unwrap();
            let mut bytes = whole.clone();
            bytes[position] ^= 0x40;
            fs::write(&path, &bytes).unwrap();
            assert!(
                matches!(cache.get(&key), Lookup::Damaged(_)),
                "damage at {position} was not noticed"
            );
            assert!(!path.exists());
        }
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err());
        }
    }

    #[test]
    fn an_unwritable_folder_is_reported_and_leaves_nothing() {
        let file = std::env::temp_dir().join(format!("agpu-cache-file-{}", std::process::id()));
        fs::write(&file, b"in the way").unwrap();
        let cache = DiskCache {
            directory: Some(file.clone()),
            limit_bytes: u64::MAX,
        };
        assert!(cache.put(&CacheKey::new(&["x"]), &entry()).is_err());
        fs::remove_file(&file).unwrap();
    }
}
