//! How generated kernels are launched, where that changes no bit of their results.

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelForm {
    /// Work-items of a block.
    pub block: i64,
    /// What a work-item has asked for before it computes the first: packs of elementwise kernels, steps of folds.
    pub ahead: i64,
}

impl KernelForm {
    /// What the database calls it, for example `block 256 ahead 2`.
    #[must_use]
    pub fn name(self) -> String {
        format!("block {} ahead {}", self.block, self.ahead)
    }

    /// The form of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let (block, ahead) = name.strip_prefix("block ")?.split_once(" ahead ")?;
        let form = Self {
            block: block.parse().ok()?,
            ahead: ahead.parse().ok()?,
        };
        (form.name() == name).then_some(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_by_their_names() {
        for (block, ahead) in [(128, 1), (1024, 8)] {
            let form = KernelForm { block, ahead };
            assert_eq!(KernelForm::from_name(&form.name()), Some(form));
        }
        for name in [
            "block 256",
            "block +256 ahead 2",
            "block 256 ahead 02",
            "block x ahead 2",
        ] {
            assert_eq!(KernelForm::from_name(name), None, "{name}");
        }
    }
}
