//! How many waves of a kernel an AMD compute unit holds at once, and what limits them.
//!
//! Sources: LLVM 22, `AMDGPUBaseInfo.cpp` (register files, granules, waves per SIMD, work-groups per unit) and the tables of "User Guide
//! for AMDGPU Backend"; sizes of local memory and its blocks from AMD's ISA guides of Vega, CDNA 1 to 4 and RDNA 1 to 4. On RDNA
//! the unit is a work-group processor, two compute units with four SIMDs, which is the mode that LLVM compiles for.

use serde::{Deserialize, Serialize};

use crate::link::KernelResources;

/// What one architecture has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// `CU` or `WGP`.
    pub unit: &'static str,
    pub simds_per_unit: u32,
    pub waves_per_simd: u32,
    /// Vector registers of a SIMD, per lane, for waves of 32 and of 64.
    pub vector_registers: [u32; 2],
    pub vector_granule: [u32; 2],
    /// Scalar registers of a SIMD; `None` where every wave has all it can address.
    pub scalar_registers: Option<u32>,
    pub lds_bytes: u32,
    pub lds_granule_bytes: u32,
    /// Work-groups of several waves that one unit holds.
    pub groups_per_unit: u32,
}

/// Scalar registers come in blocks of this many.
const SCALAR_GRANULE: u32 = 16;

const GCN: Limits = Limits {
    unit: "CU",
    simds_per_unit: 4,
    waves_per_simd: 10,
    vector_registers: [256, 256],
    vector_granule: [4, 4],
    scalar_registers: Some(800),
    lds_bytes: 64 * 1024,
    lds_granule_bytes: 512,
    groups_per_unit: 16,
};

/// One file for vector and accumulation registers.
const CDNA_UNIFIED: Limits = Limits {
    waves_per_simd: 8,
    vector_registers: [512, 512],
    vector_granule: [8, 8],
    ..GCN
};

const RDNA_1: Limits = Limits {
    unit: "WGP",
    simds_per_unit: 4,
    waves_per_simd: 20,
    vector_registers: [1024, 512],
    vector_granule: [8, 4],
    scalar_registers: None,
    lds_bytes: 128 * 1024,
    lds_granule_bytes: 512,
    groups_per_unit: 32,
};

const RDNA_2: Limits = Limits {
    waves_per_simd: 16,
    vector_granule: [16, 8],
    lds_granule_bytes: 1024,
    ..RDNA_1
};

/// With half as many registers again.
const RDNA_3_LARGE: Limits = Limits {
    vector_registers: [1536, 768],
    vector_granule: [24, 12],
    ..RDNA_2
};

impl Limits {
    /// Those of an architecture (`gfx1100`, with or without what follows a colon).
    pub fn of(architecture: &str) -> Option<Self> {
        let name = architecture.split(':').next().unwrap_or(architecture);
        Some(match name {
            "gfx900" | "gfx902" | "gfx904" | "gfx906" | "gfx908" | "gfx909" | "gfx90c" => GCN,
            "gfx90a" | "gfx942" => CDNA_UNIFIED,
            "gfx950" => Self {
                lds_bytes: 160 * 1024,
                lds_granule_bytes: 1280,
                ..CDNA_UNIFIED
            },
            "gfx1010" | "gfx1011" | "gfx1012" | "gfx1013" => RDNA_1,
            "gfx1030" | "gfx1031" | "gfx1032" | "gfx1033" | "gfx1034" | "gfx1035" | "gfx1036"
            | "gfx1102" | "gfx1103" | "gfx1150" | "gfx1152" | "gfx1153" => RDNA_2,
            "gfx1100" | "gfx1101" | "gfx1151" | "gfx1200" | "gfx1201" => RDNA_3_LARGE,
            _ => return None,
        })
    }
}

/// What a launch of a kernel can keep resident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Occupancy {
    /// `CU`, `WGP` or `SM`.
    pub unit: String,
    /// Work-groups that one unit holds at once; 0: the kernel cannot run like this.
    pub groups_per_unit: u32,
    pub waves_per_unit: u32,
    /// Rounded up: SIMDs of a unit may hold one wave more or less than each other.
    pub waves_per_simd: u32,
    pub max_waves_per_unit: u32,
    pub simds_per_unit: u32,
    /// What keeps more from being there: `waves`, `vector registers`, `scalar registers`, `local memory` or `work-groups`.
    pub limited_by: String,
}

/// The occupancy of a kernel in work-groups of so many work-items, with local memory added by the launch; nothing for architectures that
/// are not known.
pub fn occupancy(
    architecture: &str,
    resources: &KernelResources,
    threads: u32,
    added_lds_bytes: u32,
) -> Option<Occupancy> {
    let limits = Limits::of(architecture)?;
    let wide = usize::from(resources.wavefront_size == 64);
    let waves_per_group = threads.max(1).div_ceil(resources.wavefront_size.max(1));
    let by_vector = limits.vector_registers[wide]
        / resources
            .vgpr_count
            .max(1)
            .next_multiple_of(limits.vector_granule[wide]);
    let by_scalar = limits.scalar_registers.map_or(u32::MAX, |registers| {
        registers / resources.sgpr_count.max(1).next_multiple_of(SCALAR_GRANULE)
    });
    let groups = |waves_per_simd: u32| {
        waves_per_simd.min(limits.waves_per_simd) * limits.simds_per_unit / waves_per_group
    };
    let lds = resources
        .lds_bytes
        .saturating_add(added_lds_bytes)
        .checked_next_multiple_of(limits.lds_granule_bytes)
        .unwrap_or(u32::MAX);
    let by_lds = limits.lds_bytes.checked_div(lds).unwrap_or(u32::MAX);
    // Work-groups of one wave need no barrier, and so none of the unit's slots for them.
    let by_slots = if waves_per_group == 1 {
        u32::MAX
    } else {
        limits.groups_per_unit
    };
    // The first of equals is named: hardware that is full before resources that would be.
    let candidates = [
        ("waves", groups(limits.waves_per_simd)),
        ("work-groups", by_slots),
        ("vector registers", groups(by_vector)),
        ("scalar registers", groups(by_scalar)),
        ("local memory", by_lds),
    ];
    let (limited_by, groups_per_unit) = candidates
        .into_iter()
        .min_by_key(|(_, groups)| *groups)
        .unwrap_or(("waves", 0));
    let waves_per_unit = groups_per_unit * waves_per_group;
    Some(Occupancy {
        unit: limits.unit.to_owned(),
        groups_per_unit,
        waves_per_unit,
        waves_per_simd: waves_per_unit.div_ceil(limits.simds_per_unit),
        max_waves_per_unit: limits.waves_per_simd * limits.simds_per_unit,
        simds_per_unit: limits.simds_per_unit,
        limited_by: limited_by.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(wave: u32, vector: u32, scalar: u32, lds: u32) -> KernelResources {
        KernelResources {
            kernel: "k".to_owned(),
            sgpr_count: scalar,
            vgpr_count: vector,
            agpr_count: 0,
            sgpr_spill_count: 0,
            vgpr_spill_count: 0,
            lds_bytes: lds,
            scratch_bytes: 0,
            kernarg_bytes: 0,
            wavefront_size: wave,
            max_flat_workgroup_size: 1024,
        }
    }

    /// Groups, waves per SIMD, what limits.
    fn of(name: &str, kernel: &KernelResources, threads: u32) -> (u32, u32, String) {
        let found = occupancy(name, kernel, threads, 0).unwrap();
        (
            found.groups_per_unit,
            found.waves_per_simd,
            found.limited_by,
        )
    }

    #[test]
    fn values_computed_by_hand_from_the_guides_come_out() {
        let cases = [
            // Vega: 256 / 32 = 8 waves of 32 registers; 4 SIMDs * 8 / 4 waves = 8 groups.
            (
                "gfx900",
                kernel(64, 30, 16, 0),
                256,
                (8, 8, "vector registers"),
            ),
            // 24 registers fit ten times: the limit of waves. 40 waves / 4 = 10 groups.
            ("gfx906", kernel(64, 24, 16, 0), 256, (10, 10, "waves")),
            // 100 scalar registers take 112: 800 / 112 = 7.
            (
                "gfx900",
                kernel(64, 24, 100, 0),
                256,
                (7, 7, "scalar registers"),
            ),
            // 20 KiB of 64: three groups of four waves.
            (
                "gfx908",
                kernel(64, 24, 16, 20 * 1024),
                256,
                (3, 3, "local memory"),
            ),
            // CDNA 2 and 3: 512 / 128 = 4 waves of a unified file; 8 waves at most.
            (
                "gfx90a",
                kernel(64, 128, 16, 0),
                256,
                (4, 4, "vector registers"),
            ),
            ("gfx942", kernel(64, 64, 16, 0), 256, (8, 8, "waves")),
            (
                "gfx942",
                kernel(64, 65, 16, 0),
                256,
                (7, 7, "vector registers"),
            ),
            // CDNA 4: 160 KiB in blocks of 1280: 40 KiB are 32 blocks of 128.
            (
                "gfx950",
                kernel(64, 24, 16, 40 * 1024),
                256,
                (4, 4, "local memory"),
            ),
            // RDNA 1: 20 waves of 32: 1024 / 48 = 21; groups of 8 waves: 80 / 8 = 10.
            ("gfx1010", kernel(32, 48, 16, 0), 256, (10, 20, "waves")),
            (
                "gfx1010",
                kernel(32, 56, 16, 0),
                256,
                (9, 18, "vector registers"),
            ),
            // RDNA 2: 65 registers take 80: 1024 / 80 = 12 waves; 48 / 8 = 6 groups.
            (
                "gfx1030",
                kernel(32, 65, 16, 0),
                256,
                (6, 12, "vector registers"),
            ),
            // RDNA 3: 97 take 120 of 1536: 12; the small file of gfx1102 112 of 1024: 9, 36 / 8 = 4.
            (
                "gfx1100",
                kernel(32, 97, 16, 0),
                256,
                (6, 12, "vector registers"),
            ),
            (
                "gfx1102",
                kernel(32, 97, 16, 0),
                256,
                (4, 8, "vector registers"),
            ),
            // Waves of 64 on RDNA 4: 61 take 72 of 768: 10; 40 / 4 = 10.
            (
                "gfx1201",
                kernel(64, 61, 16, 0),
                256,
                (10, 10, "vector registers"),
            ),
            // 33 KiB of a work-group processor's 128: three groups.
            (
                "gfx1201",
                kernel(32, 24, 16, 33 * 1024),
                256,
                (3, 6, "local memory"),
            ),
            // Groups of two waves: 16 slots for groups on Vega, 32 waves.
            ("gfx900", kernel(64, 24, 16, 0), 128, (16, 8, "work-groups")),
            // Groups of one wave need no slot.
            ("gfx900", kernel(64, 24, 16, 0), 64, (40, 10, "waves")),
            // 1024 work-items with 256 registers: four waves of a SIMD of Vega that has room for one.
            (
                "gfx900",
                kernel(64, 256, 16, 0),
                1024,
                (0, 0, "vector registers"),
            ),
        ];
        for (name, kernel, threads, (groups, waves, limit)) in cases {
            assert_eq!(
                of(name, &kernel, threads),
                (groups, waves, limit.to_owned()),
                "{name} {kernel:?} {threads}"
            );
        }
    }

    #[test]
    fn memory_of_the_launch_counts_and_unknown_architectures_have_no_answer() {
        let small = kernel(32, 24, 16, 1024);
        let with = |added| occupancy("gfx1100", &small, 256, added).unwrap();
        assert_eq!(with(0).groups_per_unit, 8);
        assert_eq!(with(31 * 1024).groups_per_unit, 4);
        assert_eq!(with(u32::MAX).groups_per_unit, 0);
        assert_eq!(
            occupancy("gfx90a:sramecc+:xnack-", &small, 256, 0).map(|found| found.unit),
            Some("CU".to_owned())
        );
        assert_eq!(occupancy("gfx601", &small, 256, 0), None);
    }
}
