//! What a device's cores are made of, where its driver does not say: facts of the architecture.
//!
//! Sources: NVIDIA's white papers of Volta, Turing, Ampere, Hopper and Blackwell (tensor cores of an SM); AMD's white papers of CDNA 1 to 4
//! (matrix cores of a compute unit) and its data sheets of Radeon RX 7000 and 9000 (AI accelerators: two in each compute unit); LLVM, "User
//! Guide for AMDGPU Backend" (a work-group processor of RDNA has two compute units); Intel's architecture manual, volume 1, chapter 18 (one
//! tile matrix multiply unit in a core with AMX).

use super::DeviceInfo;

impl DeviceInfo {
    /// Compute units in each of [`DeviceInfo::compute_units`]: two in a work-group processor of RDNA, which the driver counts as one.
    #[must_use]
    pub fn compute_units_per_core(&self) -> u32 {
        match generation(&self.architecture) {
            Generation::Rdna { .. } => 2,
            Generation::Cdna { .. } | Generation::Nvidia { .. } | Generation::Other => 1,
        }
    }

    /// Units of the whole device that multiply matrices (tensor cores, matrix cores, AI accelerators, tile units); 0 where the architecture has
    /// none, `None` where it is not known.
    #[must_use]
    pub fn matrix_units(&self) -> Option<u32> {
        let per_core = match generation(&self.architecture) {
            Generation::Nvidia { number } => match number {
                70..=75 => 8,
                80..=121 => 4,
                _ => 0,
            },
            Generation::Cdna { has_matrix_cores } => 4 * u32::from(has_matrix_cores),
            Generation::Rdna {
                has_ai_accelerators,
            } => 2 * 2 * u32::from(has_ai_accelerators),
            Generation::Other if self.capabilities.compiles_natively => {
                u32::from(self.features.iter().any(|feature| feature == "amx_tile"))
            }
            Generation::Other => return None,
        };
        self.compute_units?.checked_mul(per_core)
    }

    /// Single-precision numbers that one vector instruction works on: the width of a register of the CPU, the lanes of a warp elsewhere.
    #[must_use]
    pub fn simd_lanes(&self) -> u32 {
        self.simd_width_bits
            .map_or(self.warp_size, |bits| bits / 32)
    }
}

enum Generation {
    Rdna { has_ai_accelerators: bool },
    Cdna { has_matrix_cores: bool },
    Nvidia { number: u32 },
    Other,
}

/// `gfx90a:xnack-` names a processor and its settings.
fn generation(architecture: &str) -> Generation {
    let name = architecture.split(':').next().unwrap_or_default();
    if let Some(number) = name.strip_prefix("sm_") {
        let number = number.parse();
        return number.map_or(Generation::Other, |number| Generation::Nvidia { number });
    }
    let Some(number) = name.strip_prefix("gfx") else {
        return Generation::Other;
    };
    // The last two digits are a stepping, the others the generation.
    match number.get(..number.len().saturating_sub(2)) {
        Some("9") => Generation::Cdna {
            has_matrix_cores: !matches!(number, "900" | "902" | "904" | "906" | "909" | "90c"),
        },
        Some("10") => Generation::Rdna {
            has_ai_accelerators: false,
        },
        Some("11" | "12") => Generation::Rdna {
            has_ai_accelerators: true,
        },
        _ => Generation::Other,
    }
}

#[cfg(test)]
mod tests {
    use crate::DeviceInfo;

    fn device(architecture: &str, compute_units: u32) -> DeviceInfo {
        let null = crate::registry::open_device("null:gfx1100").expect("a null device");
        DeviceInfo {
            architecture: architecture.to_owned(),
            compute_units: Some(compute_units),
            ..null.info().clone()
        }
    }

    #[test]
    fn matrix_units_are_those_of_the_data_sheets() {
        for (architecture, compute_units, expected) in [
            // H100 SXM, A100, RTX 3090, T4, V100, GTX 1080.
            ("sm_90", 132, Some(528)),
            ("sm_80", 108, Some(432)),
            ("sm_86", 82, Some(328)),
            ("sm_75", 40, Some(320)),
            ("sm_70", 80, Some(640)),
            ("sm_61", 20, Some(0)),
            // MI300X, MI100, MI60; RX 9070 XT, RX 7900 XTX and RX 6900 XT, which are counted in work-group processors.
            ("gfx942:sramecc+", 304, Some(1216)),
            ("gfx908", 120, Some(480)),
            ("gfx906", 60, Some(0)),
            ("gfx1201", 32, Some(128)),
            ("gfx1100", 48, Some(192)),
            ("gfx1030", 40, Some(0)),
            ("something", 8, None),
        ] {
            let info = device(architecture, compute_units);
            assert_eq!(info.matrix_units(), expected, "{architecture}");
        }
    }

    #[test]
    fn tensor_cores_begin_with_volta_and_amd_has_matrix_cores_from_cdna_on() {
        for (numbers, per_unit) in [
            (&[50, 61, 69, 76, 79, 122][..], 0),
            (&[70, 72, 75], 8),
            (&[80, 86, 89, 90, 100, 120, 121], 4),
        ] {
            for number in numbers {
                let found = device(&format!("sm_{number}"), 3).matrix_units();
                assert_eq!(found, Some(3 * per_unit), "sm_{number}");
            }
        }
        for (names, per_unit) in [
            (
                &[
                    "gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c", "gfx1010",
                ][..],
                0,
            ),
            (
                &["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1151", "gfx1200"],
                4,
            ),
        ] {
            for name in names {
                let found = device(name, 3).matrix_units();
                assert_eq!(found, Some(3 * per_unit), "{name}");
            }
        }
        for name in ["gfx", "gfx803", "gfx1300", "sm_", "sm_x", ""] {
            assert_eq!(device(name, 3).matrix_units(), None, "{name}");
        }
        assert_eq!(device("sm_90", u32::MAX).matrix_units(), None);
    }

    #[test]
    fn cores_and_lanes_follow_the_architecture() {
        let facts = |architecture| {
            let info = device(architecture, 1);
            (info.compute_units_per_core(), info.simd_lanes())
        };
        assert_eq!(facts("gfx1100"), (2, 32));
        assert_eq!(facts("gfx90a"), (1, 32));
        assert_eq!(facts("sm_90"), (1, 32));
        let cpu = crate::registry::open_device("cpu:0").expect("the CPU");
        assert_eq!(cpu.info().compute_units_per_core(), 1);
        assert!(cpu.info().simd_lanes() >= 4 && cpu.info().matrix_units().is_some());
    }
}
