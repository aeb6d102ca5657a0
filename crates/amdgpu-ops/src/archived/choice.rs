//! Which way a matrix multiplication is computed on a GPU: one of the archived kernels, or the vendor's library.
//!
//! The order: what `AMDGPU_MATMUL` demands; what was measured; without a measurement the kernel of ours whose estimate is best, or the
//! vendor's library for the kinds of products where ours is known to be behind, or to have no kernel. Of two measured ways ours is taken
//! unless the other is faster by a margin: its bits depend on no other package's version, and it needs nothing loaded.

use amdgpu_matrix::vendor::VendorLibrary;

use super::archive::{Archive, ArchivedKernel, Unit};
use super::load::Facts;
use super::pad::{fits, padded};
use super::problem::{Epilogue, Layout, Number, Problem};
use super::split_k::{is_counted, is_of_float32, parts_of, vector_along, vector_number};
use crate::tuning::Entry;

/// What a unit reaches of its peak with tiles of that many results (docs/performance.md); larger tiles read less for each product.
const TILE_EFFICIENCY: [(u64, f64); 5] = [
    (32_768, 1.0),
    (16_384, 0.92),
    (8192, 0.75),
    (4096, 0.6),
    (0, 0.4),
];
/// Products of fewer numbers take less time than the launch of a transpose.
const TRANSPOSED_FROM: u128 = 512 * 512 * 512;
/// How much faster than ours a library has to be.
pub const VENDOR_MARGIN: f64 = 1.03;
/// What a call of a library keeps the host for: measured on the H200 (`tests/gpu/calls_vs_torch.py`). Ours takes 8 us.
pub const LIBRARY_CALL_SECONDS: f64 = 36e-6;
/// By how much an estimate has to fall before the inner dimension is cut: the parts are written, read again and added by a second launch.
const SPLIT_GAIN: f64 = 1.5;
/// Without a measurement the library is taken from as many multiplications on, where ours lacks the aligned rows or the blocks: on the H200
/// ours reached 0.5 to 0.95 of cuBLASLt there with unaligned rows where wgmma does not multiply what is padded (with it 1.3 to 3.2, float64
/// 0.83 to 1.25), and 0.76 to 1.3 with fewer blocks than units and a long inner dimension (docs/performance.md).
const LIBRARY_FROM: u128 = 512 * 512 * 512;
/// From so many multiplications on operands are padded first: two more launches take what loads of single numbers lose. float64, which is
/// copied number by number beside the multiplications, loses little: 1001 cubed is faster as it lies, 4095 cubed is not.
const PADDED_FROM: u128 = 1 << 25;
const PADDED_FROM_OF_DOUBLE: u128 = 1 << 33;
/// Archives whose kernels ran on hardware, compared with float64. Others stand behind a library, which is checked at its first use.
const EXECUTED: [&str; 2] = ["sm_80", "sm_90"];
const LONG_DEPTH: u64 = 1024;
const SMALL_TILE: u64 = 64;

/// How a product is computed; kernels by their place in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Blocks of one kernel compute tiles.
    Tiles { kernel: usize },
    /// The same of operands that are written out with rows of k first.
    Transposed { kernel: usize },
    /// The inner dimension is cut into parts.
    SplitK { kernel: usize, parts: u64 },
    /// Operands are written out with rows that start at multiples of 16 bytes first.
    Padded { kernel: usize },
    /// A matrix is multiplied with a vector; where both lie decides the kernel.
    Vector,
    /// By the vendor's library.
    Vendor(VendorLibrary),
}

impl Choice {
    /// What the database calls it.
    #[must_use]
    pub fn name(self, archive: Option<&Archive>) -> String {
        let variant = |kernel: usize| {
            let kernel = archive.and_then(|archive| archive.kernels().get(kernel));
            kernel.map_or_else(String::new, variant_name)
        };
        match self {
            Self::Tiles { kernel } => variant(kernel),
            Self::Transposed { kernel } => format!("turned-{}", variant(kernel)),
            Self::SplitK { kernel, .. } => format!("split-{}", variant(kernel)),
            Self::Padded { kernel } => format!("padded-{}", variant(kernel)),
            Self::Vector => "vector".to_owned(),
            Self::Vendor(library) => library.name().to_owned(),
        }
    }

    fn is_vendor(self) -> bool {
        matches!(self, Self::Vendor(_))
    }
}

/// A kernel's name without what the problem says already.
fn variant_name(kernel: &ArchivedKernel) -> String {
    let layout = format!("_{}_", kernel.layout.name());
    let rest = kernel
        .name
        .split_once(&layout)
        .map_or(kernel.name.as_str(), |(_, rest)| rest);
    let epilogue = format!("_{}", kernel.epilogue.name());
    rest.strip_suffix(&epilogue).unwrap_or(rest).to_owned()
}

/// Whose kernels compute (`AMDGPU_MATMUL`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demand {
    #[default]
    Auto,
    Ours,
    Vendor,
}

/// What a choice depends on beside the problem.
pub struct Situation<'a> {
    pub facts: &'a Facts,
    pub archive: Option<&'a Archive>,
    /// Libraries that are there and take the problem, verified or not.
    pub libraries: &'a [VendorLibrary],
    /// Whether a library was found right for the problem's format and epilogue; asked before it is chosen.
    pub is_verified: &'a dyn Fn(VendorLibrary) -> bool,
}

impl Situation<'_> {
    fn kernels(&self) -> &[ArchivedKernel] {
        self.archive.map_or(&[], Archive::kernels)
    }

    fn kernel(&self, index: usize) -> Option<&ArchivedKernel> {
        self.kernels().get(index)
    }

    /// The kernels that compute a problem.
    #[must_use]
    pub fn candidates(&self, problem: &Problem) -> Vec<&ArchivedKernel> {
        let found = self.fitting(problem);
        if found.is_empty() && problem.operand == Number::Tf32 {
            // Units that have no tf32 take all of float32.
            return self.fitting(&Problem {
                operand: Number::F32,
                ..*problem
            });
        }
        found
    }

    fn fitting(&self, problem: &Problem) -> Vec<&ArchivedKernel> {
        let fits = |kernel: &&ArchivedKernel| {
            kernel.kind == "matmul"
                && kernel.operand == Some(problem.operand)
                && kernel.output == Some(problem.output)
                && kernel.layout == problem.layout
                && kernel.epilogue == problem.epilogue
                && (problem.is_aligned || !kernel.is_aligned)
                // TMA has no descriptor for an empty matrix.
                && (problem.k > 0 || kernel.unit != Some(Unit::Wgmma))
        };
        self.kernels().iter().filter(fits).collect()
    }

    /// Kernels for operands that are written out first: wgmma reads numbers that are not 16 bits wide in rows of k only.
    fn transposed(&self, problem: &Problem) -> Vec<&ArchivedKernel> {
        let is_narrow = !matches!(problem.operand, Number::Tf32 | Number::I8);
        if is_narrow
            || problem.layout == Layout::Nt
            || problem.work() < TRANSPOSED_FROM
            || !(problem.k * problem.operand.bytes()).is_multiple_of(16)
            || !problem.is_aligned
        {
            return Vec::new();
        }
        let mut found = self.candidates(&problem.in_rows_of_k());
        found.retain(|kernel| kernel.unit == Some(Unit::Wgmma));
        found
    }

    /// Kernels whose inner dimension is cut, with the number of parts.
    fn split(&self, problem: &Problem) -> Vec<(&ArchivedKernel, u64)> {
        if !self.can_sum(problem) {
            return Vec::new();
        }
        let all = self.candidates(&problem.summed()).into_iter();
        all.map(|kernel| (kernel, parts_of(kernel, problem, self.facts.units)))
            .filter(|(_, parts)| *parts > 1)
            .collect()
    }

    /// Kernels for operands that are padded first.
    fn padded(&self, problem: &Problem) -> Vec<&ArchivedKernel> {
        if problem.is_aligned || self.is_vector(problem) || problem.k == 0 || !self.can_pad(problem)
        {
            return Vec::new();
        }
        let mut found = self.candidates(&padded(problem));
        found.retain(|kernel| kernel.is_aligned);
        found
    }

    fn has(&self, kind: &str, passes: impl Fn(&ArchivedKernel) -> bool) -> bool {
        self.archive
            .is_some_and(|archive| archive.first(kind, passes).is_some())
    }

    /// Whether this is a matrix and a vector, and the archive has kernels for them.
    #[must_use]
    pub fn is_vector(&self, problem: &Problem) -> bool {
        if problem.m.min(problem.n) != 1
            || problem.k == 0
            || !is_counted(problem)
            || !self.can_sum(problem)
        {
            return false;
        }
        let (number, along) = (vector_number(problem), vector_along(problem));
        self.has("vector", |kernel| {
            kernel.number == Some(number)
                && kernel.output == Some(problem.output)
                && kernel.along == along
        })
    }

    /// Whether the archive has what adds up parts of a product and does what follows.
    fn can_sum(&self, problem: &Problem) -> bool {
        let sums = problem.operand.sums();
        if sums != Number::F32 && is_of_float32(problem.epilogue) {
            return false;
        }
        self.has("parts", |kernel| {
            kernel.number == Some(sums) && kernel.output == Some(problem.output)
        })
    }

    /// Whether operands can be padded: the archive has what does it, and it takes no more memory than is allowed.
    fn can_pad(&self, problem: &Problem) -> bool {
        let larger = padded(problem);
        let item = problem.operand.bytes();
        is_counted(problem)
            && is_counted(&larger)
            && fits(problem, &larger)
            && self.can_sum(problem)
            && self.has("pad", |kernel| kernel.item_bytes == item)
    }

    /// Every way to compute a problem; libraries that are there, verified or not, where they are wanted.
    #[must_use]
    pub fn ways(&self, problem: &Problem, with_vendor: bool) -> Vec<Choice> {
        let index = |kernel: &ArchivedKernel| kernel.index;
        let mut found: Vec<Choice> = self
            .candidates(problem)
            .into_iter()
            .map(|kernel| Choice::Tiles {
                kernel: index(kernel),
            })
            .collect();
        found.extend(
            self.transposed(problem)
                .into_iter()
                .map(|kernel| Choice::Transposed {
                    kernel: index(kernel),
                }),
        );
        if self.is_vector(problem) {
            found.push(Choice::Vector);
        } else {
            found.extend(
                self.split(problem)
                    .into_iter()
                    .map(|(kernel, parts)| Choice::SplitK {
                        kernel: index(kernel),
                        parts,
                    }),
            );
            found.extend(
                self.padded(problem)
                    .into_iter()
                    .map(|kernel| Choice::Padded {
                        kernel: index(kernel),
                    }),
            );
        }
        if with_vendor {
            found.extend(
                self.libraries
                    .iter()
                    .map(|library| Choice::Vendor(*library)),
            );
        }
        found
    }

    /// The kernel of ours that should be best.
    #[must_use]
    pub fn estimated(&self, problem: &Problem) -> Option<Choice> {
        if self.is_vector(problem) {
            return Some(Choice::Vector);
        }
        let units = self.facts.units;
        let best = |kernels: Vec<&ArchivedKernel>, problem: &Problem| {
            let timed = kernels
                .into_iter()
                .map(|kernel| (kernel.index, estimate(kernel, problem, units, 1)));
            timed.min_by(|one, other| one.1.total_cmp(&other.1))
        };
        let from = if problem.operand == Number::F64 {
            PADDED_FROM_OF_DOUBLE
        } else {
            PADDED_FROM
        };
        if problem.work() * u128::from(problem.batch) >= from
            && let Some((kernel, _)) = best(self.padded(problem), &padded(problem))
        {
            return Some(Choice::Padded { kernel });
        }
        let plain = self.candidates(problem);
        let has_wgmma = plain.iter().any(|kernel| kernel.unit == Some(Unit::Wgmma));
        let transposed = if has_wgmma {
            Vec::new()
        } else {
            self.transposed(problem)
        };
        let is_transposed = !transposed.is_empty();
        let found = if is_transposed { transposed } else { plain };
        let (kernel, seconds) = best(found, problem)?;
        let split = self
            .split(problem)
            .into_iter()
            .map(|(kernel, parts)| (kernel, parts, estimate(kernel, problem, units, parts)))
            .min_by(|one, other| one.2.total_cmp(&other.2));
        if let Some((kernel, parts, split_seconds)) = split
            && split_seconds < seconds / SPLIT_GAIN
        {
            let kernel = kernel.index;
            return Some(Choice::SplitK { kernel, parts });
        }
        Some(if is_transposed {
            Choice::Transposed { kernel }
        } else {
            Choice::Tiles { kernel }
        })
    }

    /// Whether the best kernel of ours is of a kind that libraries beat.
    #[must_use]
    pub fn is_behind(&self, own: Option<Choice>, problem: &Problem) -> bool {
        let Some(own) = own else { return true };
        let is_executed = self
            .archive
            .is_some_and(|archive| EXECUTED.contains(&archive.architecture.as_str()));
        if !is_executed {
            return true;
        }
        let (index, is_split) = match own {
            Choice::Tiles { kernel }
            | Choice::Transposed { kernel }
            | Choice::Padded { kernel } => (kernel, false),
            Choice::SplitK { kernel, parts } => (kernel, parts > 1),
            Choice::Vector | Choice::Vendor(_) => return false,
        };
        let Some(kernel) = self.kernel(index) else {
            return false;
        };
        let is_simple = kernel.unit == Some(Unit::Simt) || problem.operand == Number::F64;
        if is_simple && problem.k >= LONG_DEPTH {
            // Of a product that is cut, those of the smallest tiles there are: parts make up for larger ones.
            let (rows, columns) = if is_split {
                (SMALL_TILE, SMALL_TILE)
            } else {
                (kernel.tile.m, kernel.tile.n)
            };
            let blocks =
                u128::from(problem.m.div_ceil(rows)) * u128::from(problem.n.div_ceil(columns));
            if blocks * u128::from(problem.batch) < u128::from(self.facts.units) {
                return true;
            }
        }
        if problem.work() * u128::from(problem.batch) < LIBRARY_FROM {
            return false;
        }
        let is_fast = matches!(own, Choice::Padded { .. }) && kernel.unit == Some(Unit::Wgmma);
        !problem.is_aligned && !is_fast && problem.operand != Number::F64
    }

    /// The choice for a problem; `entry` is what is known of it, or of one like it, from measurements. `None` when nothing computes it.
    #[must_use]
    pub fn decide(
        &self,
        problem: &Problem,
        demand: Demand,
        entry: Option<&Entry>,
    ) -> Option<Choice> {
        let with_vendor = demand == Demand::Auto;
        if let Some(entry) = entry.filter(|_| problem.k > 0)
            && let Some(best) = self.fastest(problem, entry, with_vendor)
        {
            return Some(best);
        }
        let own = self.estimated(problem);
        if with_vendor
            && self.is_behind(own, problem)
            && let Some(library) = self.first_verified()
        {
            return Some(Choice::Vendor(library));
        }
        own
    }

    /// The best library that may compute the problem.
    #[must_use]
    pub fn first_verified(&self) -> Option<VendorLibrary> {
        let mut all = self.libraries.iter().copied();
        all.find(|library| (self.is_verified)(*library))
    }

    /// The fastest of the measured ways that can be gone here.
    fn fastest(&self, problem: &Problem, entry: &Entry, with_vendor: bool) -> Option<Choice> {
        let all: Vec<(String, Choice)> = self
            .ways(problem, with_vendor)
            .into_iter()
            .map(|way| (way.name(self.archive), way))
            .collect();
        // Of ways of one name the last counts.
        let by_name = |name: &str| all.iter().rev().find(|(own, _)| own == name);
        let known: Vec<(f64, Choice)> = entry
            .ranking()
            .into_iter()
            .filter_map(|(name, seconds)| Some((seconds, by_name(name)?.1)))
            .collect();
        let own = known.iter().find(|(_, way)| !way.is_vendor()).copied();
        for (seconds, way) in known {
            let Choice::Vendor(library) = way else {
                return Some(way);
            };
            let of_library = seconds.max(LIBRARY_CALL_SECONDS);
            if let Some((own_seconds, own)) = own
                && own_seconds < VENDOR_MARGIN * of_library
            {
                return Some(own);
            }
            if (self.is_verified)(library) {
                return Some(way);
            }
        }
        own.map(|(_, way)| way)
    }
}

/// Relative time: whole rounds of tiles over the device's units, by what tiles of that size reach.
#[must_use]
pub fn estimate(kernel: &ArchivedKernel, problem: &Problem, units: u64, parts: u64) -> f64 {
    let (tile_m, tile_n) = (kernel.tile.m, kernel.tile.n);
    let tiles = u128::from(problem.m.div_ceil(tile_m))
        * u128::from(problem.n.div_ceil(tile_n))
        * u128::from(problem.batch)
        * u128::from(parts);
    let rounds = tiles.div_ceil(u128::from(units.max(1)));
    let area = tile_m * tile_n;
    let efficiency = TILE_EFFICIENCY
        .iter()
        .find(|(least, _)| area >= *least)
        .map_or(0.0, |(_, efficiency)| *efficiency);
    let speed = efficiency * unit_speed(kernel.unit) * if kernel.is_aligned { 1.0 } else { 0.5 };
    (rounds * u128::from(area)) as f64 / (speed * parts as f64)
}

/// How much faster a kind of unit multiplies than plain lanes do.
fn unit_speed(unit: Option<Unit>) -> f64 {
    match unit {
        Some(Unit::Wgmma | Unit::Wave) => 8.0,
        Some(Unit::Mma) => 4.0,
        Some(Unit::Simt) | None => 1.0,
    }
}

/// Whether a library may be asked for a product: it means the same as ours. gelu of the libraries is the approximation by tanh, ours is the
/// one by erf; they have no silu. Sums of longer int8 products may leave 32 bits, where ours wraps and a library may not.
#[must_use]
pub fn is_for_vendor(problem: &Problem) -> bool {
    const MAX_INT8_DEPTH: u64 = 131_071;
    matches!(
        problem.epilogue,
        Epilogue::None | Epilogue::Bias | Epilogue::Relu
    ) && problem.output == problem.operand.output()
        && problem.k > 0
        && !(problem.operand == Number::I8 && problem.k > MAX_INT8_DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archived::Manifest;

    const KERNELS: &str = r#"{"version": 2, "kernels": [
        {"name": "matmul_bf16_nn_wgmma_128x256x64_s4", "kind": "matmul", "threads": 384, "code": "", "unit": "wgmma", "operand": "bf16",
         "output": "bf16", "layout": "nn", "tile": [128, 256, 64]},
        {"name": "matmul_bf16_nn_mma_64x64x64_s2_any", "kind": "matmul", "threads": 128, "code": "", "unit": "mma", "operand": "bf16",
         "output": "bf16", "layout": "nn", "is_aligned": false, "tile": [64, 64, 64]},
        {"name": "matmul_bf16_f32_nn_wgmma_128x128x64_s4", "kind": "matmul", "threads": 384, "code": "", "unit": "wgmma", "operand": "bf16",
         "output": "f32", "layout": "nn", "tile": [128, 128, 64]},
        {"name": "parts_f32_bf16", "kind": "parts", "threads": 256, "code": "", "number": "f32", "output": "bf16"},
        {"name": "pad_2", "kind": "pad", "threads": 256, "code": "", "item_bytes": 2},
        {"name": "vector_bf16_bf16_k_any", "kind": "vector", "threads": 256, "code": "", "number": "bf16", "output": "bf16", "along": "k",
         "alignment": "any"}]}"#;

    fn decide(problem: &Problem, demand: Demand, entry: Option<&Entry>, is_right: bool) -> String {
        let manifest: Manifest = serde_json::from_str(KERNELS).unwrap();
        let archive = Archive::of_manifest("sm_90", manifest);
        let facts = Facts {
            architecture: "sm_90".to_owned(),
            units: 132,
        };
        let situation = Situation {
            facts: &facts,
            archive: Some(&archive),
            libraries: &[VendorLibrary::CublasLt],
            is_verified: &|_| is_right,
        };
        let chosen = situation.decide(problem, demand, entry);
        chosen.map_or_else(String::new, |way| way.name(Some(&archive)))
    }

    fn problem(m: u64, n: u64, k: u64, is_aligned: bool) -> Problem {
        Problem {
            m,
            n,
            k,
            batch: 1,
            operand: Number::Bf16,
            output: Number::Bf16,
            layout: Layout::Nn,
            epilogue: Epilogue::None,
            is_aligned,
        }
    }

    #[test]
    fn estimates_choose_tiles_parts_padding_and_vectors() {
        for (problem, expected) in [
            (problem(4096, 4096, 4096, true), "wgmma_128x256x64_s4"),
            // Two tiles for 132 units: the inner dimension is cut.
            (problem(128, 256, 8192, true), "split-wgmma_128x128x64_s4"),
            (
                problem(1001, 1003, 1005, false),
                "padded-wgmma_128x128x64_s4",
            ),
            (problem(100, 101, 102, false), "mma_64x64x64_s2_any"),
            (problem(4096, 1, 4096, false), "vector"),
        ] {
            assert_eq!(decide(&problem, Demand::Ours, None, true), expected);
            assert_eq!(decide(&problem, Demand::Auto, None, true), expected);
        }
    }

    #[test]
    fn a_measured_library_has_to_be_right_and_faster_by_a_margin() {
        let product = problem(4096, 4096, 4096, true);
        let measured = |ours: f64, library: f64| Entry {
            product,
            seconds: [
                ("wgmma_128x256x64_s4".to_owned(), ours),
                ("cublaslt".to_owned(), library),
            ]
            .into(),
            failed: std::collections::BTreeMap::new(),
            device: String::new(),
            measured: "2026-11-21T18:00:00Z".to_owned(),
        };
        let chosen = |ours, library, demand, is_right| {
            decide(&product, demand, Some(&measured(ours, library)), is_right)
        };
        assert_eq!(chosen(2.0, 1.0, Demand::Auto, true), "cublaslt");
        let ours = "wgmma_128x256x64_s4";
        assert_eq!(chosen(1.02, 1.0, Demand::Auto, true), ours);
        assert_eq!(chosen(2.0, 1.0, Demand::Auto, false), ours);
        assert_eq!(chosen(2.0, 1.0, Demand::Ours, true), ours);
        // A call of a library keeps the host for longer than a small kernel runs.
        assert_eq!(chosen(20e-6, 10e-6, Demand::Auto, true), ours);
    }

    #[test]
    fn libraries_take_what_means_the_same() {
        let plain = problem(64, 64, 64, true);
        assert!(is_for_vendor(&plain));
        for epilogue in [Epilogue::Gelu, Epilogue::Silu] {
            assert!(!is_for_vendor(&Problem { epilogue, ..plain }));
        }
        assert!(!is_for_vendor(&Problem {
            output: Number::F32,
            ..plain
        }));
        assert!(!is_for_vendor(&Problem { k: 0, ..plain }));
    }
}
