//! What code is made for.

use serde::{Deserialize, Serialize};

/// Families of targets; each has its own way to enter a kernel and to find the index of a work-item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TargetKind {
    /// A CPU: kernels become functions that run a range of blocks.
    Host,
    Amd,
    Nvidia,
}

/// A target: instruction set, processor, features.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Target {
    pub kind: TargetKind,
    /// As the user writes it: `x86_64`, `gfx1100`, `sm_90`.
    pub name: String,
    pub triple: String,
    /// Processor name as LLVM knows it; may be empty for CPUs.
    pub cpu: String,
    /// LLVM feature string: `+avx512f,+fma,…`.
    pub features: String,
}

impl Target {
    /// The target of this name: a CPU architecture (`x86_64`, `aarch64`), an AMD processor (`gfx1100`), or an NVIDIA
    /// architecture (`sm_90`).
    pub fn parse(text: &str) -> Option<Self> {
        let make = |kind, triple: &str, cpu: &str, features: &str| {
            Some(Self {
                kind,
                name: text.to_owned(),
                triple: triple.to_owned(),
                cpu: cpu.to_owned(),
                features: features.to_owned(),
            })
        };
        match text {
            // v3 is the oldest level with fused multiply-add, which the language's contraction rule needs; v2 computes it.
            "x86_64" | "x86-64-v3" => make(
                TargetKind::Host,
                "x86_64-unknown-linux-gnu",
                "x86-64-v3",
                "",
            ),
            "x86-64-v2" => make(
                TargetKind::Host,
                "x86_64-unknown-linux-gnu",
                "x86-64-v2",
                "",
            ),
            "x86-64-v4" => make(
                TargetKind::Host,
                "x86_64-unknown-linux-gnu",
                "x86-64-v4",
                "",
            ),
            "aarch64" => make(TargetKind::Host, "aarch64-unknown-linux-gnu", "generic", ""),
            _ if is_numbered(text, "gfx", 3, true) => {
                make(TargetKind::Amd, "amdgcn-amd-amdhsa", text, "")
            }
            _ if is_numbered(text, "sm_", 2, false) => {
                // PTX 6.2 is the first with `activemask`; LLVM starts these with older ones, all others with newer ones.
                let is_old = matches!(text, "sm_70" | "sm_72");
                let features = if is_old { "+ptx63" } else { "" };
                make(TargetKind::Nvidia, "nvptx64-nvidia-cuda", text, features)
            }
            _ => None,
        }
    }

    /// Has fused multiply-add in hardware; on others it is computed in software, to the same bits.
    pub(crate) fn has_fused(&self) -> bool {
        !self.is_x86() || self.is_level_3() || self.has_feature("+fma")
    }

    /// Converts between half and float in hardware.
    pub(crate) fn has_half(&self) -> bool {
        !self.is_x86() || self.is_level_3() || self.has_feature("+f16c")
    }

    /// Has AVX-512 and its permutation of two registers.
    pub(crate) fn has_wide_permutes(&self) -> bool {
        self.is_x86() && (self.cpu == "x86-64-v4" || self.has_feature("+avx512f"))
    }

    /// Rounds float to bfloat16 in hardware, denormals included (x86 flushes them).
    pub(crate) fn has_bfloat(&self) -> bool {
        let number = self
            .cpu
            .strip_prefix("sm_")
            .map(|text| text.trim_end_matches('a'));
        number
            .and_then(|text| text.parse().ok())
            .is_some_and(|number: u32| number >= 80)
    }

    /// Its estimate of a reciprocal square root was checked for every input to lead to the exact bits.
    pub(crate) fn has_square_root_estimate(&self) -> bool {
        matches!(self.cpu.as_str(), "sm_90" | "sm_90a")
    }

    fn is_x86(&self) -> bool {
        self.kind == TargetKind::Host && self.triple.starts_with("x86_64")
    }

    fn is_level_3(&self) -> bool {
        matches!(self.cpu.as_str(), "x86-64-v3" | "x86-64-v4")
    }

    fn has_feature(&self, name: &str) -> bool {
        self.features.split(',').any(|feature| feature == name)
    }

    /// Lanes of a wave: 64 on GCN and CDNA, 32 on RDNA, as the driver runs our code objects; 32 on NVIDIA's. CPUs take 32 too,
    /// so that what is written for the most common GPUs gives the same there.
    pub fn wave_size(&self) -> u32 {
        // gfx9xx has three digits, RDNA four.
        if self.kind == TargetKind::Amd && self.cpu.len() == "gfx900".len() {
            64
        } else {
            32
        }
    }

    /// A CPU as the code generator describes this machine.
    pub fn host(triple: &str, cpu: &str, features: &str) -> Self {
        let name = triple.split('-').next().unwrap_or(triple).to_owned();
        Self {
            kind: TargetKind::Host,
            name,
            triple: triple.to_owned(),
            cpu: cpu.to_owned(),
            features: features.to_owned(),
        }
    }
}

fn is_numbered(text: &str, prefix: &str, digits: usize, is_hexadecimal: bool) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        let rest = rest
            .strip_suffix('a')
            .filter(|_| !is_hexadecimal)
            .unwrap_or(rest);
        (digits..=4).contains(&rest.len())
            && rest.chars().all(|digit| {
                if is_hexadecimal {
                    digit.is_ascii_hexdigit()
                } else {
                    digit.is_ascii_digit()
                }
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name() {
        assert_eq!(
            Target::parse("gfx90a").map(|target| target.kind),
            Some(TargetKind::Amd)
        );
        assert_eq!(
            Target::parse("gfx1100").map(|target| target.triple),
            Some("amdgcn-amd-amdhsa".to_owned())
        );
        assert_eq!(
            Target::parse("sm_90").map(|target| target.kind),
            Some(TargetKind::Nvidia)
        );
        assert_eq!(
            Target::parse("sm_90a").map(|target| target.kind),
            Some(TargetKind::Nvidia)
        );
        let size = |name| Target::parse(name).map(|target| target.wave_size());
        for (name, lanes) in [
            ("gfx942", 64),
            ("gfx90a", 64),
            ("gfx1030", 32),
            ("sm_70", 32),
            ("x86_64", 32),
        ] {
            assert_eq!(size(name), Some(lanes), "{name}");
        }
        for wrong in ["", "gfx", "gfx1", "sm_", "riscv", "sm_ab"] {
            assert_eq!(Target::parse(wrong), None, "{wrong}");
        }
    }
}
