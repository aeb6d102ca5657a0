//! Archives of GPU kernels: `kernels/<architecture>.archive` in a folder of native libraries, made by `./x kernels`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use amdgpu_abi::{ErrorCode, library};
use serde::Deserialize;
use zip::ZipArchive;

use super::problem::{Epilogue, Layout, Number};
use crate::{Error, Result};

/// Of manifests that this build reads.
pub const MANIFEST_VERSION: u32 = 2;
const SUFFIX: &str = "archive";
/// A file of code is smaller by far; more is no archive of ours.
const MAX_ENTRY_BYTES: u64 = 256 << 20;
const DEFAULT_CLUSTER: u64 = 1;

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Plain lanes.
    Simt,
    /// `mma.sync` of NVIDIA.
    Mma,
    /// `wgmma` of NVIDIA's Hopper, fed by TMA.
    Wgmma,
    /// Matrix instructions of AMD.
    Wave,
}

impl Unit {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simt => "simt",
            Self::Mma => "mma",
            Self::Wgmma => "wgmma",
            Self::Wave => "wave",
        }
    }
}

/// Rows and columns of the result that a block computes, and of the inner dimension at a time. Transposes have square tiles, given by one
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "TileRecord")]
pub struct Tile {
    pub m: u64,
    pub n: u64,
    pub k: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TileRecord {
    Square(u64),
    Full([u64; 3]),
}

impl From<TileRecord> for Tile {
    fn from(record: TileRecord) -> Self {
        match record {
            TileRecord::Square(side) => Self {
                m: side,
                n: side,
                k: 0,
            },
            TileRecord::Full([m, n, k]) => Self { m, n, k },
        }
    }
}

/// What the manifest says about a kernel. Fields that its kind does not have keep their defaults.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ArchivedKernel {
    /// Its place in the manifest.
    #[serde(skip)]
    pub index: usize,
    /// Its symbol.
    pub name: String,
    /// matmul, convolution, attention (plain, masked, of levels, by queries or by keys), transpose, vector, parts or pad.
    pub kind: String,
    /// Of a block.
    pub threads: u32,
    /// File of the archive.
    pub code: String,
    #[serde(default)]
    pub unit: Option<Unit>,
    /// Number format of the operands.
    #[serde(default)]
    pub operand: Option<Number>,
    /// Number format of the result.
    #[serde(default)]
    pub output: Option<Number>,
    #[serde(default)]
    pub layout: Layout,
    /// Rows have to start at multiples of 16 bytes.
    #[serde(default = "yes")]
    pub is_aligned: bool,
    #[serde(default)]
    pub epilogue: Epilogue,
    #[serde(default)]
    pub tile: Tile,
    /// Blocks that share an operand.
    #[serde(default = "one")]
    pub cluster: u64,
    /// Of shared memory, what a launch has to add.
    #[serde(default)]
    pub dynamic_shared_bytes: u64,
    /// Number format of attention, of vectors' operands and of sums of split-K.
    #[serde(default)]
    pub number: Option<Number>,
    /// Elements of a query, of attention.
    #[serde(default)]
    pub size: u64,
    /// Of the numbers that a transpose or a padded copy moves.
    #[serde(default)]
    pub item_bytes: u64,
    /// Which dimension is contiguous in the matrix that a vector is multiplied with: k or outer.
    #[serde(default)]
    pub along: String,
    /// aligned or any: whether rows of that matrix have to start at multiples of 16 bytes.
    #[serde(default)]
    pub alignment: String,
    /// Registers, shared and private memory, from the metadata of the code; nothing where the driver's compiler decides.
    #[serde(default)]
    pub resources: BTreeMap<String, Option<i64>>,
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    DEFAULT_CLUSTER
}

/// `manifest.json` of an archive.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Manifest {
    #[serde(default)]
    pub version: u32,
    /// Parameters of kernels as HIP-C writes them: by kind, and by kind and unit (`matmul wgmma`) where a unit has its own.
    #[serde(default)]
    pub prototypes: BTreeMap<String, String>,
    pub kernels: Vec<ArchivedKernel>,
}

/// The kernels for an architecture.
#[derive(Debug)]
pub struct Archive {
    /// What the kernels were built for.
    pub architecture: String,
    pub manifest: Manifest,
    path: PathBuf,
}

impl Archive {
    /// An archive that has a manifest and no code.
    #[must_use]
    pub fn of_manifest(architecture: &str, manifest: Manifest) -> Self {
        Self::new(architecture, manifest, PathBuf::new())
    }

    fn new(architecture: &str, mut manifest: Manifest, path: PathBuf) -> Self {
        for (index, kernel) in manifest.kernels.iter_mut().enumerate() {
            kernel.index = index;
        }
        Self {
            architecture: architecture.to_owned(),
            manifest,
            path,
        }
    }

    /// The archive whose code runs on an architecture: its own, or that of an older NVIDIA GPU, whose PTX newer ones take. `None` where
    /// there is none.
    ///
    /// # Errors
    ///
    /// `library-missing` for an archive that cannot be read.
    pub fn find(architecture: &str) -> Result<Option<Self>> {
        let found = folders().into_iter().find_map(|folder| {
            let name = stand_in(architecture, &architectures(&folder))?;
            Some((folder.join(format!("{name}.{SUFFIX}")), name))
        });
        found
            .map(|(path, name)| Self::read(&path, &name))
            .transpose()
    }

    /// The archive of an architecture itself.
    ///
    /// # Errors
    ///
    /// `library-missing` for an archive that is not there or cannot be read.
    pub fn of(architecture: &str) -> Result<Self> {
        let name = format!("{architecture}.{SUFFIX}");
        let folders = folders();
        let paths = folders.iter().map(|folder| folder.join(&name));
        let path = paths.clone().find(|path| path.exists());
        Self::read(
            &path
                .or_else(|| paths.into_iter().next())
                .unwrap_or_default(),
            architecture,
        )
    }

    fn read(path: &Path, architecture: &str) -> Result<Self> {
        let unreadable = |reason: String| {
            Error::refused(
                ErrorCode::LibraryMissing,
                format!(
                    "the GPU kernels for {architecture} cannot be read ({reason}): ./x kernels builds them"
                ),
            )
        };
        let text = entry(path, "manifest.json").map_err(unreadable)?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if manifest.version != MANIFEST_VERSION {
            return Err(unreadable(format!(
                "its manifest has version {}, and this build reads {MANIFEST_VERSION}",
                manifest.version
            )));
        }
        Ok(Self::new(architecture, manifest, path.to_owned()))
    }

    #[must_use]
    pub fn kernels(&self) -> &[ArchivedKernel] {
        &self.manifest.kernels
    }

    /// The first kernel of a kind that a condition lets pass.
    pub fn first(
        &self,
        kind: &str,
        passes: impl Fn(&ArchivedKernel) -> bool,
    ) -> Option<&ArchivedKernel> {
        let mut all = self.manifest.kernels.iter();
        all.find(|kernel| kernel.kind == kind && passes(kernel))
    }

    /// The code that a driver loads.
    ///
    /// # Errors
    ///
    /// `library-missing` for a damaged archive.
    pub fn code(&self, kernel: &ArchivedKernel) -> Result<Vec<u8>> {
        entry(&self.path, &kernel.code).map_err(|reason| {
            Error::refused(
                ErrorCode::LibraryMissing,
                format!(
                    "the code of {} cannot be read ({reason}): ./x kernels builds it",
                    kernel.name
                ),
            )
        })
    }

    /// What the kernel takes, as HIP-C declares it.
    ///
    /// # Errors
    ///
    /// `library-missing` where the manifest does not say it.
    pub fn prototype(&self, kernel: &ArchivedKernel) -> Result<String> {
        let unit = kernel.unit.map_or("", Unit::name);
        let of_unit = format!("{} {unit}", kernel.kind);
        let prototypes = &self.manifest.prototypes;
        let parameters = prototypes
            .get(&of_unit)
            .or_else(|| prototypes.get(&kernel.kind));
        parameters
            .map(|parameters| {
                format!(
                    "extern \"C\" __global__ void {}({parameters}) {{}}",
                    kernel.name
                )
            })
            .ok_or_else(|| {
                Error::refused(
                    ErrorCode::LibraryMissing,
                    format!(
                        "the manifest of {} has no prototype of {} kernels: ./x kernels writes it",
                        self.architecture, kernel.kind
                    ),
                )
            })
    }
}

fn folders() -> Vec<PathBuf> {
    let folders = library::search_directories().into_iter();
    folders.map(|folder| folder.join("kernels")).collect()
}

/// Architectures with an archive, sorted.
#[must_use]
pub fn known_architectures() -> Vec<String> {
    let folders = folders();
    let found: BTreeSet<String> = folders
        .iter()
        .flat_map(|folder| architectures(folder))
        .collect();
    found.into_iter().collect()
}

/// Architectures with an archive in a folder, sorted.
fn architectures(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort_unstable();
    found
}

/// Which of the known architectures has the code for one.
fn stand_in(architecture: &str, known: &[String]) -> Option<String> {
    let name = architecture.split(':').next().unwrap_or_default();
    if known.iter().any(|other| other == name) {
        return Some(name.to_owned());
    }
    let number = |name: &str| name.strip_prefix("sm_")?.parse::<u32>().ok();
    let own = number(name)?;
    // sm_90a code runs on Hopper alone, so only the plain archives stand in for others.
    let older = known.iter().filter(|other| *other != "sm_90");
    let older = older.filter_map(|other| Some((number(other)?, other)));
    older
        .filter(|(number, _)| *number <= own)
        .max()
        .map(|(_, other)| other.clone())
}

fn entry(path: &Path, name: &str) -> std::result::Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let mut entry = archive.by_name(name).map_err(|error| error.to_string())?;
    if entry.size() > MAX_ENTRY_BYTES {
        return Err(format!("{name} has {} bytes", entry.size()));
    }
    let mut data = Vec::with_capacity(entry.size() as usize);
    entry
        .read_to_end(&mut data)
        .map_err(|error| error.to_string())?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand_in_of(architecture: &str, known: &[&str]) -> Option<String> {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        stand_in(architecture, &known)
    }

    #[test]
    fn newer_gpus_of_nvidia_take_older_code_and_hopper_its_own_alone() {
        let known = ["gfx942", "sm_80", "sm_90"];
        assert_eq!(stand_in_of("sm_90", &known).as_deref(), Some("sm_90"));
        assert_eq!(stand_in_of("sm_86", &known).as_deref(), Some("sm_80"));
        assert_eq!(stand_in_of("sm_100", &known).as_deref(), Some("sm_80"));
        assert_eq!(stand_in_of("sm_75", &known), None);
        assert_eq!(
            stand_in_of("gfx942:sramecc+:xnack-", &known).as_deref(),
            Some("gfx942")
        );
        assert_eq!(stand_in_of("gfx941", &known), None);
    }

    #[test]
    fn a_manifest_gives_the_prototype_of_a_unit_before_that_of_the_kind() {
        let text = r#"{"version": 2, "prototypes": {"matmul": "int a", "matmul wgmma": "int a, int b"}, "kernels": [
            {"name": "x", "kind": "matmul", "threads": 128, "code": "x.ptx", "unit": "wgmma", "operand": "bf16",
             "output": "f32", "layout": "nt", "epilogue": "", "tile": [128, 128, 64], "cluster": 2},
            {"name": "t", "kind": "transpose", "threads": 256, "code": "t.ptx", "item_bytes": 4, "tile": 64}]}"#;
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let archive = Archive::of_manifest("sm_90", manifest);
        let [wgmma, transpose] = archive.kernels() else {
            panic!("two kernels")
        };
        assert_eq!(
            archive.prototype(wgmma).unwrap(),
            "extern \"C\" __global__ void x(int a, int b) {}"
        );
        assert_eq!((wgmma.tile.m, wgmma.tile.k, wgmma.cluster), (128, 64, 2));
        assert_eq!((transpose.tile.m, transpose.tile.n), (64, 64));
        assert!(archive.prototype(transpose).is_err());
    }
}
