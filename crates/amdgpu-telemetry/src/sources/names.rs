//! What programs call a GPU: its place in the order in which the vendor's runtime shows devices, not in that of the kernel.

/// Names for GPUs that the runtime would number in the order of `identities`, once `visible` (a variable such as `HIP_VISIBLE_DEVICES`:
/// numbers or unique names, separated by commas) has chosen among them. Those it hides are called by their addresses.
///
/// As in the runtimes, the first entry that names no device ends the list.
pub(super) fn device_names(
    kind: &str,
    identities: &[Identity],
    visible: Option<&str>,
) -> Vec<String> {
    let Some(visible) = visible else {
        return (0..identities.len())
            .map(|ordinal| format!("{kind}:{ordinal}"))
            .collect();
    };
    let chosen: Vec<usize> = visible
        .split(',')
        .map(str::trim)
        .map_while(|entry| {
            if let Ok(number) = entry.parse::<usize>() {
                return (number < identities.len()).then_some(number);
            }
            let fits = |identity: &Identity| {
                !entry.is_empty()
                    && identity
                        .unique
                        .as_deref()
                        .is_some_and(|unique| unique.starts_with(entry))
            };
            identities.iter().position(fits)
        })
        .collect();
    identities
        .iter()
        .enumerate()
        .map(|(place, identity)| {
            chosen
                .iter()
                .position(|&number| number == place)
                .map_or_else(
                    || format!("pci:{}", identity.address),
                    |ordinal| format!("{kind}:{ordinal}"),
                )
        })
        .collect()
}

/// How a GPU can be told from others.
#[derive(Clone, Debug, Default)]
pub(super) struct Identity {
    /// `0000:03:00.0`
    pub address: String,
    /// `GPU-…`
    pub unique: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(visible: Option<&str>) -> Vec<String> {
        let identity = |address: &str, unique: &str| Identity {
            address: address.to_owned(),
            unique: Some(unique.to_owned()),
        };
        let identities = [
            identity("0000:03:00.0", "GPU-aa"),
            identity("0000:43:00.0", "GPU-ab"),
            identity("0000:83:00.0", "GPU-cc"),
        ];
        device_names("hip", &identities, visible)
    }

    #[test]
    fn visible_devices_are_numbered_as_the_runtime_numbers_them() {
        assert_eq!(named(None), ["hip:0", "hip:1", "hip:2"]);
        assert_eq!(named(Some("2,0")), ["hip:1", "pci:0000:43:00.0", "hip:0"]);
        assert_eq!(
            named(Some("GPU-ab")),
            ["pci:0000:03:00.0", "hip:0", "pci:0000:83:00.0"]
        );
        assert_eq!(
            named(Some("1, -1, 0")),
            ["pci:0000:03:00.0", "hip:0", "pci:0000:83:00.0"]
        );
        assert_eq!(
            named(Some("")),
            ["pci:0000:03:00.0", "pci:0000:43:00.0", "pci:0000:83:00.0"]
        );
    }
}
