//! Forms of generated kernels: how many work-items a block has, and how much each has asked for before it computes.
//!
//! Every form of a kernel computes each value from the same values in the same order, so that results do not depend on what was measured. Which
//! form a launch takes is a pure function of the kernel's subject, of what the device can hold, and of the tuning database.

use amdgpu_hal::DeviceInfo;

use super::Record;
use crate::kernel_form::KernelForm;

/// Blocks that are tried: of four waves of NVIDIA's and two of AMD's widest up to the largest that every device takes.
const BLOCKS: [i64; 4] = [128, 256, 512, 1024];

/// What may be chosen for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    /// What is taken without a measurement.
    pub usual: KernelForm,
    /// Work-items of a block: at least, at most.
    pub blocks: (i64, i64),
    pub most_ahead: i64,
}

impl Forms {
    /// Those of a kernel whose blocks have so many work-items at least, on a device.
    #[must_use]
    pub fn of(info: &DeviceInfo, usual: KernelForm, least_block: i64, most_ahead: i64) -> Self {
        Self {
            usual,
            blocks: (least_block, i64::from(info.max_threads_per_block)),
            most_ahead,
        }
    }

    /// All of them, the usual one first.
    #[must_use]
    pub fn all(&self) -> Vec<KernelForm> {
        let (least, most) = self.blocks;
        let blocks = BLOCKS.iter().filter(|block| (least..=most).contains(block));
        let aheads = std::iter::successors(Some(1), |ahead| Some(ahead * 2))
            .take_while(|ahead| *ahead <= self.most_ahead);
        let forms = blocks.flat_map(|block| {
            aheads.clone().map(|ahead| KernelForm {
                block: *block,
                ahead,
            })
        });
        let others = forms.filter(|form| *form != self.usual);
        std::iter::once(self.usual).chain(others).collect()
    }

    /// The fastest that was measured; without a measurement the usual one.
    #[must_use]
    pub fn decide(&self, record: Option<&Record>) -> KernelForm {
        let Some(record) = record else {
            return self.usual;
        };
        let all = self.all();
        let ranking = record.ranking();
        let mut named = ranking
            .iter()
            .filter_map(|(name, _)| KernelForm::from_name(name));
        named.find(|form| all.contains(form)).unwrap_or(self.usual)
    }
}

/// The least power of two that is no less than a count, as subjects have sizes: launches of half to all of it have one form.
pub(crate) fn size_class(count: i64) -> u32 {
    let count = count.max(1).unsigned_abs();
    count.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: Forms = Forms {
        usual: KernelForm {
            block: 256,
            ahead: 2,
        },
        blocks: (200, 512),
        most_ahead: 4,
    };

    fn record(ways: &[(&str, f64)]) -> Record {
        let mut made = Record::of("reduction");
        let ways = ways
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), *seconds));
        made.seconds.extend(ways);
        made
    }

    #[test]
    fn forms_stay_within_what_the_kernel_and_the_device_allow() {
        let names: Vec<String> = FORMS.all().into_iter().map(KernelForm::name).collect();
        assert_eq!(
            names,
            [
                "block 256 ahead 2",
                "block 256 ahead 1",
                "block 256 ahead 4",
                "block 512 ahead 1",
                "block 512 ahead 2",
                "block 512 ahead 4"
            ]
        );
        let narrow = Forms {
            blocks: (256, 64),
            ..FORMS
        };
        assert_eq!(narrow.all(), [FORMS.usual]);
    }

    #[test]
    fn the_fastest_measured_form_that_is_allowed_is_chosen() {
        let decide = |ways: &[(&str, f64)]| FORMS.decide(Some(&record(ways))).name();
        assert_eq!(FORMS.decide(None), FORMS.usual);
        assert_eq!(
            decide(&[("block 512 ahead 1", 1.0), ("block 256 ahead 2", 2.0)]),
            "block 512 ahead 1"
        );
        // Measured on a device that takes more, by another version, or in vain.
        let other = [
            ("block 1024 ahead 1", 1.0),
            ("block 256 ahead 16", 1.5),
            ("turned", 1.7),
            ("block 256 ahead 1", 2.0),
        ];
        assert_eq!(decide(&other), "block 256 ahead 1");
        assert_eq!(decide(&other[..3]), "block 256 ahead 2");
        assert_eq!(decide(&[]), "block 256 ahead 2");
    }

    #[test]
    fn sizes_are_classes_of_a_factor_of_two() {
        let classes = [0, 1, 2, 3, 4, 5, 4096, 4097].map(size_class);
        assert_eq!(classes, [0, 0, 1, 2, 2, 3, 12, 13]);
    }
}
