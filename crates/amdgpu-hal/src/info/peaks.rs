//! What a GPU can do at most, from what its driver tells and its architecture is known for.
//!
//! Sources: "CUDA C++ Programming Guide", table of arithmetic throughput (32-bit multiply-adds a clock for each SM); AMD's CDNA and RDNA
//! white papers (a compute unit has 64 lanes; CDNA 2 and later take two packed values in each, RDNA 3 and later issue two operations).
//! Of an AMD GPU the data rate of the memory is that of the kind of memory which the architecture has, for each clock that the driver tells.

use super::{DeviceInfo, DeviceKind};

/// The roofs of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peaks {
    /// 32-bit floating-point operations a second of the vector units, multiply-adds counted as two.
    pub flops_per_second: u64,
    pub bytes_per_second: u64,
}

impl DeviceInfo {
    /// `None` where the driver or the table has no figure; always for processors, which do not tell what they can do.
    #[must_use]
    pub fn peaks(&self) -> Option<Peaks> {
        let (flops_per_clock, transfers_per_clock) = match self.kind {
            // Both edges of the clock that the driver tells, whatever the memory.
            DeviceKind::Cuda => (nvidia_flops(&self.architecture)?, 2),
            DeviceKind::Hip => amd(&self.architecture)?,
            DeviceKind::Cpu | DeviceKind::Sim | DeviceKind::Null => return None,
        };
        let bytes_per_clock = u64::from(self.memory_bus_bits?) / 8 * transfers_per_clock;
        Some(Peaks {
            flops_per_second: u64::from(self.compute_units?)
                .checked_mul(self.clock_hertz?)?
                .checked_mul(flops_per_clock)?,
            bytes_per_second: self.memory_clock_hertz?.checked_mul(bytes_per_clock)?,
        })
    }
}

/// Floating-point operations a clock of one SM.
fn nvidia_flops(architecture: &str) -> Option<u64> {
    let number: u32 = architecture.strip_prefix("sm_")?.parse().ok()?;
    match number {
        60 | 70..=80 => Some(2 * 64),
        50..=53 | 61 | 62 | 86..=90 | 100..=121 => Some(2 * 128),
        _ => None,
    }
}

/// Floating-point operations a clock of what the runtime counts as compute units, and transfers of the memory for each of its clocks.
fn amd(architecture: &str) -> Option<(u64, u64)> {
    const HBM_2: u64 = 2;
    const HBM_3: u64 = 4;
    const GDDR_6: u64 = 16;
    let name = architecture.split(':').next().unwrap_or_default();
    match name {
        "gfx900" | "gfx906" | "gfx908" => Some((2 * 64, HBM_2)),
        "gfx90a" => Some((2 * 128, HBM_2)),
        "gfx942" => Some((2 * 128, HBM_3)),
        // Work-group processors of two compute units.
        "gfx1010" | "gfx1012" | "gfx1030" | "gfx1031" | "gfx1032" | "gfx1034" => {
            Some((2 * 128, GDDR_6))
        }
        "gfx1100" | "gfx1101" | "gfx1102" | "gfx1200" | "gfx1201" => Some((2 * 256, GDDR_6)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Peaks;
    use crate::{DeviceInfo, DeviceKind};

    fn device(
        kind: DeviceKind,
        architecture: &str,
        (units, megahertz): (u32, u64),
        (bus_bits, memory_megahertz): (u32, u64),
    ) -> DeviceInfo {
        let null = crate::registry::open_device("null:gfx1100").expect("a null device");
        DeviceInfo {
            kind,
            architecture: architecture.to_owned(),
            compute_units: Some(units),
            clock_hertz: Some(megahertz * 1_000_000),
            memory_bus_bits: Some(bus_bits),
            memory_clock_hertz: Some(memory_megahertz * 1_000_000),
            ..null.info().clone()
        }
    }

    /// In TFLOP/s and GB/s, rounded.
    fn figures(info: &DeviceInfo) -> Option<(u64, u64)> {
        info.peaks().map(
            |Peaks {
                 flops_per_second,
                 bytes_per_second,
             }| {
                (
                    (flops_per_second + 500_000_000_000) / 1_000_000_000_000,
                    bytes_per_second / 1_000_000_000,
                )
            },
        )
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        use DeviceKind::{Cuda, Hip};
        for (info, expected) in [
            // H200 (its own memory clock is a little above the 4.8 TB/s of the sheet), A100 40 GB, RTX 3090.
            (device(Cuda, "sm_90", (132, 1980), (6144, 3201)), (67, 4916)),
            (device(Cuda, "sm_80", (108, 1410), (5120, 1215)), (19, 1555)),
            (device(Cuda, "sm_86", (82, 1695), (384, 9751)), (36, 936)),
            // MI100, half an MI250X, MI300X, RX 6900 XT, RX 7900 XTX.
            (
                device(Hip, "gfx908:sramecc+", (120, 1502), (4096, 1200)),
                (23, 1228),
            ),
            (device(Hip, "gfx90a", (110, 1700), (4096, 1600)), (48, 1638)),
            (
                device(Hip, "gfx942", (304, 2100), (8192, 1300)),
                (163, 5324),
            ),
            (device(Hip, "gfx1030", (40, 2250), (256, 1000)), (23, 512)),
            (device(Hip, "gfx1100", (48, 2500), (384, 1250)), (61, 960)),
        ] {
            assert_eq!(figures(&info), Some(expected), "{}", info.architecture);
        }
    }

    /// Of one unit at one megahertz, a bus of a byte and a memory clock of a megahertz: operations and bytes a clock.
    fn per_clock(kind: DeviceKind, architecture: &str) -> Option<(u64, u64)> {
        let peaks = device(kind, architecture, (1, 1), (8, 1)).peaks()?;
        Some((
            peaks.flops_per_second / 1_000_000,
            peaks.bytes_per_second / 1_000_000,
        ))
    }

    #[test]
    fn every_architecture_of_the_tables_has_its_figures_and_its_neighbours_have_none() {
        let nvidia: &[(u64, &[u32])] = &[
            (128, &[60, 70, 72, 75, 80]),
            (
                256,
                &[
                    50, 52, 53, 61, 62, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121,
                ],
            ),
        ];
        for (flops, numbers) in nvidia {
            for number in *numbers {
                let found = per_clock(DeviceKind::Cuda, &format!("sm_{number}"));
                assert_eq!(found, Some((*flops, 2)), "sm_{number}");
            }
        }
        for number in [0, 35, 37, 49, 54, 59, 63, 69, 81, 85, 91, 99, 122, 130] {
            let found = per_clock(DeviceKind::Cuda, &format!("sm_{number}"));
            assert_eq!(found, None, "sm_{number}");
        }
        for (figures, names) in [
            ((128, 2), &["gfx900", "gfx906", "gfx908"][..]),
            ((256, 2), &["gfx90a"]),
            ((256, 4), &["gfx942"]),
            (
                (256, 16),
                &[
                    "gfx1010", "gfx1012", "gfx1030", "gfx1031", "gfx1032", "gfx1034",
                ],
            ),
            (
                (512, 16),
                &["gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201"],
            ),
        ] {
            for name in names {
                assert_eq!(per_clock(DeviceKind::Hip, name), Some(figures), "{name}");
            }
        }
        assert_eq!(per_clock(DeviceKind::Hip, "gfx1036"), None);
    }

    #[test]
    fn what_is_not_known_has_no_peak() {
        let known = device(DeviceKind::Cuda, "sm_90", (132, 1980), (6144, 3201));
        for info in [
            DeviceInfo {
                clock_hertz: None,
                ..known.clone()
            },
            DeviceInfo {
                memory_bus_bits: None,
                ..known.clone()
            },
            DeviceInfo {
                architecture: "sm_35".to_owned(),
                ..known.clone()
            },
            // Its memory is the machine's.
            device(DeviceKind::Hip, "gfx1103", (6, 2800), (128, 2800)),
            device(DeviceKind::Cpu, "x86_64 znver4", (8, 3000), (128, 2800)),
            crate::registry::open_device("null:gfx1100")
                .expect("a null device")
                .info()
                .clone(),
        ] {
            assert_eq!(info.peaks(), None, "{info:?}");
        }
    }
}
