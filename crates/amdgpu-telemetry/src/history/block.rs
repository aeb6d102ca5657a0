//! A block of buckets, open or packed.

/// Minimum, mean and maximum of the samples so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    min: f64,
    mean: f64,
    max: f64,
    count: u32,
}

impl Bucket {
    pub(super) fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.min, self.mean, self.max) = (value, value, value);
        } else {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            // A mean that is moved stays in range, where a sum of many would grow; the bounds keep rounding from leaving them.
            let moved = self.mean + (value - self.mean) / (f64::from(self.count) + 1.0);
            self.mean = moved.clamp(self.min, self.max);
        }
        self.count = self.count.saturating_add(1);
    }

    /// Minimum, mean and maximum; none without a sample.
    pub(super) fn values(&self) -> Option<[f64; 3]> {
        (self.count > 0).then_some([self.min, self.mean, self.max])
    }
}

/// A closed block. Most sensors stand still for minutes or give one value a bucket; both are kept small.
#[derive(Debug)]
pub(super) struct Packed {
    /// First value of the block; the others are differences to it.
    base: f64,
    form: Form,
}

/// Places without a sample are not-a-number, or unset bits.
#[derive(Debug)]
enum Form {
    /// One value throughout.
    Still { present: Box<[u64]> },
    /// One value in each bucket.
    Single { values: Box<[f32]> },
    /// Minimum, mean and maximum, one after the other.
    Full { values: Box<[f32]> },
}

impl Packed {
    /// None if no bucket has a sample.
    #[expect(clippy::float_cmp, reason = "what is the very same is kept once")]
    pub(super) fn of(buckets: &[Bucket]) -> Option<Self> {
        let mut filled = buckets.iter().filter_map(Bucket::values);
        let [base, ..] = filled.next()?;
        let all = || buckets.iter().map(Bucket::values);
        let form = if all().flatten().flatten().all(|value| value == base) {
            let mut present = vec![0_u64; buckets.len().div_ceil(64)];
            for (place, _) in all().enumerate().filter(|(_, values)| values.is_some()) {
                present[place / 64] |= 1 << (place % 64);
            }
            Form::Still {
                present: present.into(),
            }
        } else if all().flatten().all(|[min, _, max]| min == max) {
            Form::Single {
                values: all()
                    .map(|values| values.map_or(f32::NAN, |[_, mean, _]| (mean - base) as f32))
                    .collect(),
            }
        } else {
            Form::Full {
                values: all()
                    .flat_map(|values| {
                        values.map_or([f32::NAN; 3], |values| {
                            values.map(|value| (value - base) as f32)
                        })
                    })
                    .collect(),
            }
        };
        Some(Self { base, form })
    }

    /// Calls `show` for every bucket with a sample, oldest first.
    pub(super) fn each(&self, mut show: impl FnMut(usize, [f64; 3])) {
        match &self.form {
            Form::Still { present } => {
                for (word, &bits) in present.iter().enumerate() {
                    let mut left = bits;
                    while left != 0 {
                        show(word * 64 + left.trailing_zeros() as usize, [self.base; 3]);
                        left &= left - 1;
                    }
                }
            }
            Form::Single { values } => {
                for (place, &value) in values.iter().enumerate() {
                    if !value.is_nan() {
                        show(place, [self.base + f64::from(value); 3]);
                    }
                }
            }
            Form::Full { values } => {
                for (place, values) in values.chunks_exact(3).enumerate() {
                    if !values[0].is_nan() {
                        let value = |index: usize| self.base + f64::from(values[index]);
                        show(place, [value(0), value(1), value(2)]);
                    }
                }
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.form {
            Form::Still { present } => size_of_val(&**present),
            Form::Single { values } | Form::Full { values } => size_of_val(&**values),
        }
    }
}
