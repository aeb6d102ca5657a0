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
    let width_bits = Some(x86_width_bits(
        std::arch::is_x86_feature_detected!("avx512f"),
        std::arch::is_x86_feature_detected!("avx"),
    ));
    #[cfg(not(target_arch = "x86_64"))]
    let width_bits = cfg!(target_arch = "aarch64").then_some(128);
    width_bits
}

/// Every x86-64 processor has SSE2.
#[cfg(target_arch = "x86_64")]
fn x86_width_bits(has_avx512: bool, has_avx: bool) -> u32 {
    match (has_avx512, has_avx) {
        (true, _) => 512,
        (false, true) => 256,
        (false, false) => 128,
    }
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

    /// Model numbers of Intel's family 6 in hexadecimal, as LLVM's `Host.cpp` has them; those between are other processors.
    #[test]
    fn every_model_of_the_table_has_its_name_and_its_neighbours_have_not() {
        let table: &[(&str, &[u32])] = &[
            ("haswell", &[0x3c, 0x3f, 0x45, 0x46]),
            ("broadwell", &[0x3d, 0x47, 0x4f, 0x56]),
            ("skylake", &[0x4e, 0x5e, 0x8e, 0x9e]),
            ("skylake-avx512", &[0x55]),
            ("icelake-server", &[0x6a, 0x6c]),
            ("icelake-client", &[0x7d, 0x7e]),
            ("tigerlake", &[0x8c, 0x8d]),
            ("sapphirerapids", &[0x8f]),
            ("alderlake", &[0x97, 0x9a]),
            ("graniterapids", &[0xad]),
            ("raptorlake", &[0xb7, 0xba, 0xbf]),
            ("emeraldrapids", &[0xcf]),
        ];
        for model in 0..=0xff {
            let of_model = table.iter().find(|(_, models)| models.contains(&model));
            let found = core_name(&identity("GenuineIntel", 6, model, &[]));
            assert_eq!(found, of_model.map(|(name, _)| *name), "{model:#x}");
        }
        assert_eq!(core_name(&identity("GenuineIntel", 15, 0x8f, &[])), None);
        for (family, model, expected) in [
            (22, 0x30, None),
            (23, 0x00, Some("znver1")),
            (23, 0x2f, Some("znver1")),
            (23, 0x30, Some("znver2")),
            (24, 0x00, None),
            (25, 0x0f, Some("znver3")),
            (25, 0x10, Some("znver4")),
            (25, 0x1f, Some("znver4")),
            (25, 0x20, Some("znver3")),
            (25, 0x5f, Some("znver3")),
            (25, 0x60, Some("znver4")),
            (25, 0xaf, Some("znver4")),
            (25, 0xb0, Some("znver3")),
            (26, 0x44, Some("znver5")),
            (27, 0x00, None),
        ] {
            let found = core_name(&identity("AuthenticAMD", family, model, &[]));
            assert_eq!(found, expected, "{family} {model:#x}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_processor_without_a_name_is_called_by_its_level() {
        let unknown = identity(
            "AuthenticAMD",
            99,
            1,
            &["cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"],
        );
        assert_eq!(name(&unknown), "x86_64 x86-64-v2");
        assert_eq!(
            name(&identity("GenuineIntel", 6, 0x8f, &[])),
            "x86_64 sapphirerapids"
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn vectors_are_as_wide_as_the_processor_says() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap();
        let has = |flag| flags.split_whitespace().any(|word| word == flag);
        let expected = x86_width_bits(has("avx512f"), has("avx"));
        assert_eq!(simd_width_bits(), Some(expected));
        for (has_avx512, has_avx, width_bits) in [
            (true, true, 512),
            (true, false, 512),
            (false, true, 256),
            (false, false, 128),
        ] {
            assert_eq!(x86_width_bits(has_avx512, has_avx), width_bits);
        }
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
        for (level, names) in [
            (
                "x86-64-v4",
                &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"][..],
            ),
            (
                "x86-64-v2",
                &["cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"],
            ),
        ] {
            assert_eq!(of(names), Some(level));
            for left_out in 0..names.len() {
                let mut fewer = names.to_vec();
                fewer.remove(left_out);
                assert_eq!(of(&fewer), Some("x86-64"), "{names:?} without {left_out}");
            }
        }
    }
}
