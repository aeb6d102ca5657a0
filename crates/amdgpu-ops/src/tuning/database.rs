//! The measurements of an architecture, in memory and in a file of the cache folder; those that come with the package lie below them.
//!
//! Several processes may write: each reads the file again, adds its own entries and replaces the file as a whole, under a lock. A file that
//! cannot be understood is set aside under another name, and that is told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use amdgpu_abi::environment;
use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::fallback;
use rustc_hash::FxHashMap;

use super::entries::{Content, Entry, check_architecture, dump, parse};
use super::files::{replace, set_aside, text_of};
use super::records::{Record, utc_now};
use super::{note_change, settings};
use crate::archived::problem::{Epilogue, Problem};

/// Measurements that come with the package.
const SHIPPED: [(&str, &str); 1] = [("sm_90", include_str!("../../tuning/sm_90.json"))];
/// A measurement speaks for products whose extents differ from its own by less than this factor.
const NEAR_FACTOR: f64 = 2.0;

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

/// What a database holds, and how often it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Questions that a measurement answered.
    pub hits: u64,
    /// Questions that none answered.
    pub misses: u64,
    /// Measurements made or imported here.
    pub entries: u64,
    /// Measurements that came with the package.
    pub shipped: u64,
}

/// The measurements of one architecture.
pub struct Database {
    architecture: String,
    folder: Option<PathBuf>,
    /// Takes the place of the file in the folder.
    file: RwLock<Option<PathBuf>>,
    entries: RwLock<Entries>,
    hits: AtomicU64,
    misses: AtomicU64,
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
                Ok(read) => entries.shipped.extend(read.entries),
                Err(reason) => fallback(
                    "tuning",
                    &format!("the measurements of the package are not used ({reason})"),
                ),
            }
        }
        let made = Self {
            architecture,
            folder,
            file: RwLock::default(),
            entries: RwLock::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        };
        if let Some(path) = made.path() {
            let read = made.read_file(&path);
            entries.own.extend(read.entries);
            let named = read.records.into_iter();
            entries
                .records
                .extend(named.map(|record| (record.subject.clone(), record)));
        }
        entries.index();
        *made.entries.write().unwrap_or_else(PoisonError::into_inner) = entries;
        made
    }

    /// For example `sm_90`.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The file; `None` when nothing is kept.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        if file.is_some() {
            return file.clone();
        }
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
    /// What follows the sums changes little about which kernel is best, so a plain product stands in for one with an epilogue. Counted as a hit
    /// or a miss.
    #[must_use]
    pub fn find(&self, product: &Problem) -> Option<Entry> {
        self.counted(
            settings::is_caching()
                .then(|| self.nearest(product))
                .flatten(),
        )
    }

    /// The measurement of a subject, counted as a hit or a miss.
    #[must_use]
    pub fn find_record(&self, subject: &str) -> Option<Record> {
        self.counted(
            settings::is_caching()
                .then(|| self.record(subject))
                .flatten(),
        )
    }

    /// The measurement of a subject.
    #[must_use]
    pub fn record(&self, subject: &str) -> Option<Record> {
        self.known().records.get(subject).cloned()
    }

    /// Whether there are measurements of subjects.
    #[must_use]
    pub fn has_records(&self) -> bool {
        !self.known().records.is_empty()
    }

    /// All measurements of subjects, in their order.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.known().records.values().cloned().collect()
    }

    /// What it holds, and how often it was asked since the process began or it was cleared.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let known = self.known();
        Statistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            entries: (known.own.list.len() + known.records.len()) as u64,
            shipped: known.shipped.list.len() as u64,
        }
    }

    fn counted<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    fn nearest(&self, product: &Problem) -> Option<Entry> {
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
    /// later measurement of a product or subject counts.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the measurements count in this process all the same.
    pub fn add(&self, given: Content, is_newest: bool) -> io::Result<usize> {
        let Some(path) = self.path() else {
            return Ok(self.merge(given, is_newest));
        };
        match lock_file(&path) {
            Ok(_lock) => {
                // What others wrote since.
                self.merge(self.read_file(&path), false);
                let changed = self.merge(given, is_newest);
                self.write(&path)?;
                Ok(changed)
            }
            Err(error) => {
                self.merge(given, is_newest);
                Err(error)
            }
        }
    }

    /// Note the time of one way of a subject, beside those that are known.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the time counts in this process all the same.
    pub fn add_way(&self, subject: &str, way: &str, seconds: f64, device: &str) -> io::Result<()> {
        let path = self.path();
        let lock = path.as_deref().map(lock_file).transpose();
        if let (Some(path), Ok(_)) = (&path, &lock) {
            self.merge(self.read_file(path), false);
        }
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let named = entries.records.entry(subject.to_owned());
        let record = named.or_insert_with(|| Record::of(subject));
        record.seconds.insert(way.to_owned(), seconds);
        record.failed.remove(way);
        device.clone_into(&mut record.device);
        record.measured = utc_now();
        drop(entries);
        note_change();
        let _lock = lock?;
        path.map_or(Ok(()), |path| self.write(&path))
    }

    /// Forget what was measured or imported here, in memory and in the file, and count from zero; what came with the package stays. Tells
    /// how many measurements that were.
    ///
    /// # Errors
    ///
    /// The file cannot be written; in this process the measurements are forgotten all the same.
    pub fn clear(&self) -> io::Result<u64> {
        let path = self.path();
        let lock = path.as_deref().map(lock_file).transpose();
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let removed = entries.own.list.len() + entries.records.len();
        entries.own = Ordered::default();
        entries.records = BTreeMap::new();
        entries.index();
        drop(entries);
        self.hits.store(0, Ordering::Relaxed);
        self.misses.store(0, Ordering::Relaxed);
        note_change();
        let _lock = lock?;
        if let Some(path) = path.filter(|path| path.exists()) {
            self.write(&path)?;
        }
        Ok(removed as u64)
    }

    /// Keep measurements in another file from now on, `None` for that of the cache folder. What it holds is taken in, and it gets what is
    /// known. Tells how many measurements of the file changed what was known.
    ///
    /// # Errors
    ///
    /// The file cannot be written; then nothing changes.
    pub fn set_file(&self, file: Option<PathBuf>) -> io::Result<usize> {
        let replaced = {
            let mut own = self.file.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *own, file)
        };
        let Some(path) = self.path() else {
            return Ok(0);
        };
        let taken = lock_file(&path).and_then(|_lock| {
            let changed = self.merge(self.read_file(&path), false);
            self.write(&path).map(|()| changed)
        });
        taken.inspect_err(|_| {
            *self.file.write().unwrap_or_else(PoisonError::into_inner) = replaced;
        })
    }

    /// Write everything that is known, what came with the package included, to a file; tells how many measurements.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn export(&self, path: &Path) -> io::Result<usize> {
        let known = self.known();
        let text = dump(&self.architecture, known.all(), known.records.values());
        let count = known.all().count() + known.records.len();
        drop(known);
        replace(path, &text).map(|()| count)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let known = self.known();
        let text = dump(
            &self.architecture,
            known.own.list.iter(),
            known.records.values(),
        );
        drop(known);
        replace(path, &text)
    }

    fn merge(&self, given: Content, is_newest: bool) -> usize {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let is_older = |known: &str, given: &str| !is_newest && given <= known;
        let mut changed = 0;
        for entry in given.entries {
            let is_known = entries
                .exact(&entry.product)
                .is_some_and(|known| *known == entry || is_older(&known.measured, &entry.measured));
            if !is_known {
                entries.own.insert(entry);
                changed += 1;
            }
        }
        for record in given.records {
            let is_known = entries.records.get(&record.subject).is_some_and(|known| {
                *known == record || is_older(&known.measured, &record.measured)
            });
            if !is_known {
                entries.records.insert(record.subject.clone(), record);
                changed += 1;
            }
        }
        if changed > 0 {
            entries.index();
            note_change();
        }
        changed
    }

    /// What a file holds; one that cannot be understood is set aside, and that is told.
    fn read_file(&self, path: &Path) -> Content {
        let read = match text_of(path) {
            Ok(Some(text)) => parse(&text, Some(&self.architecture)),
            Ok(None) => return Content::default(),
            Err(reason) => Err(reason),
        };
        read.unwrap_or_else(|reason| {
            let moved = set_aside(path);
            let name = moved.as_deref().and_then(Path::file_name);
            let moved = name.map_or_else(String::new, |name| {
                format!("; it is now {}", name.to_string_lossy())
            });
            let path = path.display();
            fallback("tuning", &format!("{path} is not used ({reason}){moved}"));
            Content::default()
        })
    }
}

/// Only one thread of one process at a time is between reading a file and replacing it.
fn lock_file(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Merge the measurements of a file into the database of its architecture; of two measurements the later one counts. Gives the architecture and
/// how many measurements changed.
///
/// # Errors
///
/// [`ImportError`]; nothing was changed, unless it is the database that cannot be written.
pub fn import(path: &Path) -> Result<(String, usize), ImportError> {
    // Its own message is better than that of what cannot be understood.
    fs::metadata(path).map_err(ImportError::File)?;
    let text = text_of(path).map_err(ImportError::Content)?;
    let read = parse(&text.unwrap_or_default(), None).map_err(ImportError::Content)?;
    let architecture = read.architecture.clone();
    let changed = database_of(&architecture).add(read, false);
    Ok((architecture, changed.map_err(ImportError::File)?))
}

/// Why a file was not imported.
#[derive(Debug)]
pub enum ImportError {
    /// A file cannot be read or written.
    File(io::Error),
    /// It is no tuning database of this version; where, and why.
    Content(String),
}

/// Measurements in the order in which their products came, with their places.
#[derive(Default)]
struct Ordered {
    list: Vec<Entry>,
    places: FxHashMap<Problem, usize>,
}

impl Ordered {
    fn insert(&mut self, entry: Entry) {
        if let Some(place) = self.places.get(&entry.product) {
            self.list[*place] = entry;
        } else {
            self.places.insert(entry.product, self.list.len());
            self.list.push(entry);
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
    records: BTreeMap<String, Record>,
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
