//! The measurements of an architecture, in memory and in a file of the cache folder; those that come with the package lie below them.
//!
//! Several processes may write: each reads the file again, adds its own entries and replaces the file as a whole, under a lock. A file that
//! cannot be understood is set aside under another name, and that is told.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use amdgpu_abi::environment;
use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::fallback;
use rustc_hash::FxHashMap;

use super::entries::{Entry, check_architecture, dump, parse};
use super::note_change;
use crate::archived::problem::{Epilogue, Problem};

/// Measurements that come with the package.
const SHIPPED: [(&str, &str); 1] = [("sm_90", include_str!("../../tuning/sm_90.json"))];
/// Larger files are not ours.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// A measurement speaks for products whose extents differ from its own by less than this factor.
const NEAR_FACTOR: f64 = 2.0;
/// Damaged files that are kept for a look; the last name is used again and again.
const MAX_SET_ASIDE: usize = 10;

/// Databases of this process, by architecture and folder.
static DATABASES: ForkLocal<RwLock<Vec<Arc<Database>>>> = ForkLocal::new(RwLock::default);

/// Where databases are kept; `None` when `AMDGPU_CACHE_DIR` is off or there is no home.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let cache = match environment::read(environment::CACHE_DIR).as_deref() {
        Some("off") => return None,
        Some(path) => PathBuf::from(path),
        None => environment::read("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| environment::read("HOME").map(|home| Path::new(&home).join(".cache")))?
            .join("amdgpu"),
    };
    Some(cache.join("tuning"))
}

/// The database of an architecture; read once for each cache folder.
#[must_use]
pub fn database_of(architecture: &str) -> Arc<Database> {
    let (name, folder) = (check_architecture(architecture), cache_folder());
    let find = |known: &[Arc<Database>]| {
        let mut known = known.iter();
        known
            .find(|one| one.architecture == name && one.folder == folder)
            .cloned()
    };
    let known = DATABASES.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = find(&known) {
        return found;
    }
    drop(known);
    let made = Arc::new(Database::read(name.clone(), folder.clone()));
    let mut known = DATABASES.write().unwrap_or_else(PoisonError::into_inner);
    // Of threads that come together one wins.
    if let Some(found) = find(&known) {
        return found;
    }
    known.push(Arc::clone(&made));
    made
}

/// Architectures that have measurements, shipped or own, sorted.
#[must_use]
pub fn known_architectures() -> Vec<String> {
    let mut found: Vec<String> = SHIPPED.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = cache_folder().and_then(|folder| fs::read_dir(folder).ok());
    for path in files
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path())
    {
        if path.extension().is_some_and(|suffix| suffix == "json") {
            found.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The measurements of one architecture.
pub struct Database {
    architecture: String,
    folder: Option<PathBuf>,
    entries: RwLock<Entries>,
}

impl Database {
    /// The database of an architecture, read from the files now.
    #[must_use]
    pub fn open(architecture: &str) -> Arc<Self> {
        Arc::new(Self::read(check_architecture(architecture), cache_folder()))
    }

    fn read(architecture: String, folder: Option<PathBuf>) -> Self {
        let mut entries = Entries::default();
        let shipped = SHIPPED.iter().find(|(name, _)| *name == architecture);
        if let Some((_, text)) = shipped {
            match parse(text, Some(&architecture)) {
                Ok((_, read)) => entries.shipped.extend(read),
                Err(reason) => fallback(
                    "tuning",
                    &format!("the measurements of the package are not used ({reason})"),
                ),
            }
        }
        let made = Self {
            architecture,
            folder,
            entries: RwLock::default(),
        };
        if let Some(path) = made.path() {
            entries.own.extend(made.read_file(&path));
        }
        entries.index();
        *made.entries.write().unwrap_or_else(PoisonError::into_inner) = entries;
        made
    }

    /// For example sm_90.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The file; `None` when nothing is kept.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(format!("{}.json", self.architecture)))
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All measurements.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.known().all().cloned().collect()
    }

    /// The measurement of this very product.
    #[must_use]
    pub fn exact(&self, product: &Problem) -> Option<Entry> {
        self.known().exact(product).cloned()
    }

    /// The measurement of a product, or of the one nearest to it of the same formats and layout, if any is near enough.
    ///
    /// What follows the sums changes little about which kernel is best, so a plain product stands in for one with an epilogue.
    #[must_use]
    pub fn find(&self, product: &Problem) -> Option<Entry> {
        let known = self.known();
        let plain = Problem {
            epilogue: Epilogue::None,
            ..*product
        };
        let found = known
            .exact(product)
            .or_else(|| known.exact(&plain))
            .or_else(|| known.nearest(product))
            .or_else(|| known.nearest(&plain));
        found.cloned()
    }

    /// Take measurements in and write them; tells how many changed. With `is_newest` they count more than what is there; without it the
    /// later measurement of a product counts.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the measurements count in this process all the same.
    pub fn add(&self, given: Vec<Entry>, is_newest: bool) -> io::Result<usize> {
        let Some(path) = self.path() else {
            return Ok(self.merge(given, is_newest));
        };
        match self.lock_file(&path) {
            Ok(_lock) => {
                // What others wrote since.
                self.merge(self.read_file(&path), false);
                let changed = self.merge(given, is_newest);
                let text = dump(&self.architecture, self.known().own.list.iter());
                replace(&path, &text)?;
                Ok(changed)
            }
            Err(error) => {
                self.merge(given, is_newest);
                Err(error)
            }
        }
    }

    /// Only one thread of one process at a time is between reading a file and replacing it.
    fn lock_file(&self, path: &Path) -> io::Result<File> {
        if let Some(folder) = &self.folder {
            fs::create_dir_all(folder)?;
        }
        let lock = File::create(path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn merge(&self, given: Vec<Entry>, is_newest: bool) -> usize {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = 0;
        for entry in given {
            let is_known = entries.exact(&entry.product).is_some_and(|known| {
                *known == entry || (!is_newest && entry.measured <= known.measured)
            });
            if !is_known {
                entries.own.insert(entry);
                changed += 1;
            }
        }
        if changed > 0 {
            entries.index();
            note_change();
        }
        changed
    }

    fn read_file(&self, path: &Path) -> Vec<Entry> {
        let read = match text_of(path) {
            Ok(Some(text)) => parse(&text, Some(&self.architecture)),
            Ok(None) => return Vec::new(),
            Err(reason) => Err(reason),
        };
        read.map(|(_, entries)| entries).unwrap_or_else(|reason| {
            let moved = set_aside(path);
            let name = moved.as_deref().and_then(Path::file_name);
            let moved = name.map_or_else(String::new, |name| {
                format!("; it is now {}", name.to_string_lossy())
            });
            let path = path.display();
            fallback("tuning", &format!("{path} is not used ({reason}){moved}"));
            Vec::new()
        })
    }
}

/// Measurements in the order in which their products came, with their places.
#[derive(Default)]
struct Ordered {
    list: Vec<Entry>,
    places: FxHashMap<Problem, usize>,
}

impl Ordered {
    fn insert(&mut self, entry: Entry) {
        match self.places.get(&entry.product) {
            Some(place) => self.list[*place] = entry,
            None => {
                self.places.insert(entry.product, self.list.len());
                self.list.push(entry);
            }
        }
    }

    fn extend(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.insert(entry);
        }
    }

    fn get(&self, product: &Problem) -> Option<&Entry> {
        self.places.get(product).map(|place| &self.list[*place])
    }
}

#[derive(Default)]
struct Entries {
    shipped: Ordered,
    own: Ordered,
    /// Products of the same formats, layout, epilogue and alignment, as a product without extents.
    classes: FxHashMap<Problem, Vec<Problem>>,
}

impl Entries {
    fn exact(&self, product: &Problem) -> Option<&Entry> {
        self.own.get(product).or_else(|| self.shipped.get(product))
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        let shipped = self.shipped.list.iter();
        let shipped = shipped.map(|entry| self.own.get(&entry.product).unwrap_or(entry));
        let own = self.own.list.iter();
        shipped.chain(own.filter(|entry| self.shipped.get(&entry.product).is_none()))
    }

    fn index(&mut self) {
        let mut classes: FxHashMap<Problem, Vec<Problem>> = FxHashMap::default();
        for entry in self.all() {
            let class = class_of(&entry.product);
            classes.entry(class).or_default().push(entry.product);
        }
        self.classes = classes;
    }

    fn nearest(&self, product: &Problem) -> Option<&Entry> {
        let limit = NEAR_FACTOR.ln();
        let mut best: Option<(f64, &Problem)> = None;
        for known in self.classes.get(&class_of(product)).into_iter().flatten() {
            let steps = extents(product)
                .into_iter()
                .zip(extents(known))
                .map(|(wanted, known)| (wanted.max(1) as f64 / known as f64).ln().abs());
            let (sum, largest) = steps.fold((0.0, 0.0_f64), |(sum, largest), step| {
                (sum + step, largest.max(step))
            });
            if largest < limit && best.is_none_or(|(least, _)| sum < least) {
                best = Some((sum, known));
            }
        }
        best.and_then(|(_, product)| self.exact(product))
    }
}

fn class_of(product: &Problem) -> Problem {
    Problem {
        m: 0,
        n: 0,
        k: 0,
        batch: 0,
        ..*product
    }
}

fn extents(product: &Problem) -> [u64; 4] {
    [product.m, product.n, product.k, product.batch]
}

/// The text of a file; `None` where there is none.
fn text_of(path: &Path) -> Result<Option<String>, String> {
    let is_absent = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
            return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
        }
        Err(error) if is_absent(&error) => return Ok(None),
        _ => {}
    }
    fs::read_to_string(path)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// Gives a damaged file another name, so that a new one can take its place.
fn set_aside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let names: Vec<PathBuf> = (0..MAX_SET_ASIDE)
        .map(|number| path.with_file_name(format!("{name}.damaged-{number}")))
        .collect();
    let free = names.iter().find(|name| !name.exists());
    let target = free.or(names.last())?;
    fs::rename(path, target).ok()?;
    Some(target.clone())
}

/// No reader ever sees half a file.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("json.{}.{serial}.draft", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().inspect_err(|_| {
        // What matters is that no half-written file stays.
        let _ = fs::remove_file(&draft);
    })
}
