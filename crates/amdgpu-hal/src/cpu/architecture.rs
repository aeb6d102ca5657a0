//! The name of the processor's microarchitecture, spelled as LLVM spells it.

use super::topology::Identity;

/// `x86_64 znver4`, `x86_64 x86-64-v3` when the model is not known, `aarch64`.
pub(super) fn name(identity: &Identity) -> String {
    let isa = std::env::consts::ARCH;
    match core_name(identity).or_else(|| level(&identity.features)) {
        Some(core) => format!("{isa} {core}"),
        None => isa.to_string(),
    }
}

/// Family and model numbers from AMD's processor programming references and Intel's Software Developer's Manual, volume 4, table 2-1.
fn core_name(identity: &Identity) -> Option<&'static str> {
    let (family, model) = (identity.family?, identity.model?);
    match identity.vendor.as_deref()? {
        "AuthenticAMD" => match (family, model) {
            (23, 0x00..=0x2f) => Some("znver1"),
            (23, _) => Some("znver2"),
            (25, 0x10..=0x1f | 0x60..=0xaf) => Some("znver4"),
            (25, _) => Some("znver3"),
            (26, _) => Some("znver5"),
            _ => None,
        },
        "GenuineIntel" if family == 6 => match model {
            60 | 63 | 69 | 70 => Some("haswell"),
            61 | 71 | 79 | 86 => Some("broadwell"),
            78 | 94 | 142 | 158 => Some("skylake"),
            85 => Some("skylake-avx512"),
            106 | 108 => Some("icelake-server"),
            125 | 126 => Some("icelake-client"),
            140 | 141 => Some("tigerlake"),
            143 => Some("sapphirerapids"),
            151 | 154 => Some("alderlake"),
            173 => Some("graniterapids"),
            183 | 186 | 191 => Some("raptorlake"),
            207 => Some("emeraldrapids"),
            _ => None,
        },
        _ => None,
    }
}

/// The x86-64 psABI's microarchitecture level that the features reach.
fn level(features: &[String]) -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let all = |names: &[&str]| {
        names
            .iter()
            .all(|name| features.iter().any(|feature| feature == name))
    };
    if all(&["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]) {
        Some("x86-64-v4")
    } else if all(&["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"]) {
        Some("x86-64-v3")
    } else if all(&["cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"]) {
        Some("x86-64-v2")
    } else {
        Some("x86-64")
    }
}

/// Width of the widest vector register that both processor and operating system support.
pub(super) fn simd_width_bits() -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    let width_bits = if std::arch::is_x86_feature_detected!("avx512f") {
        Some(512)
    } else if std::arch::is_x86_feature_detected!("avx") {
        Some(256)
    } else {
        Some(128)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let width_bits = cfg!(target_arch = "aarch64").then_some(128);
    width_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(vendor: &str, family: u32, model: u32, features: &[&str]) -> Identity {
        Identity {
            vendor: Some(vendor.to_string()),
            family: Some(family),
            model: Some(model),
            features: features.iter().map(ToString::to_string).collect(),
            ..Identity::default()
        }
    }

    #[test]
    fn known_models_have_their_name() {
        let cases = [
            ("AuthenticAMD", 25, 17, "znver4"),
            ("AuthenticAMD", 25, 1, "znver3"),
            ("AuthenticAMD", 26, 2, "znver5"),
            ("AuthenticAMD", 23, 49, "znver2"),
            ("GenuineIntel", 6, 143, "sapphirerapids"),
        ];
        for (vendor, family, model, expected) in cases {
            assert_eq!(
                core_name(&identity(vendor, family, model, &[])),
                Some(expected)
            );
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn vectors_are_as_wide_as_the_processor_says() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap();
        let has = |flag| flags.split_whitespace().any(|word| word == flag);
        let expected = match (has("avx512f"), has("avx")) {
            (true, _) => 512,
            (false, true) => 256,
            (false, false) => 128,
        };
        assert_eq!(simd_width_bits(), Some(expected));
    }

    #[test]
    fn unknown_models_are_not_guessed() {
        assert_eq!(core_name(&identity("AuthenticAMD", 99, 1, &[])), None);
        assert_eq!(core_name(&identity("Someone", 6, 143, &[])), None);
        assert_eq!(core_name(&Identity::default()), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn levels_need_all_their_features() {
        let of = |names: &[&str]| level(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of(&[]), Some("x86-64"));
        assert_eq!(
            of(&["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"]),
            Some("x86-64-v3")
        );
        assert_eq!(
            of(&["avx", "avx2", "bmi1", "bmi2", "f16c", "fma"]),
            Some("x86-64")
        );
    }
}
