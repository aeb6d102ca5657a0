//! From seeds to keys, as `numpy.random.SeedSequence` does: the hash of O'Neill's `seed_seq_fe` (2015), whose words are those of NumPy.

const POOL: usize = 4;
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;
const SHIFT: u32 = 16;

/// Entropy and the path of children that leads to this sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedSequence {
    /// Words of 32 bits, the low ones of each integer first.
    pub entropy: Vec<u32>,
    pub spawn_key: Vec<u32>,
    /// Children that were made.
    pub children: u32,
}

impl SeedSequence {
    #[must_use]
    pub fn new(entropy: &[u32]) -> Self {
        Self {
            entropy: entropy.to_vec(),
            ..Self::default()
        }
    }

    /// The next `count` children.
    pub fn spawn(&mut self, count: u32) -> Vec<Self> {
        let first = self.children;
        self.children = self.children.wrapping_add(count);
        let child = |number: u32| Self {
            entropy: self.entropy.clone(),
            spawn_key: [self.spawn_key.as_slice(), &[first.wrapping_add(number)]].concat(),
            children: 0,
        };
        (0..count).map(child).collect()
    }

    /// Words of the state, the first two of which make a key.
    #[must_use]
    pub fn words(&self, count: usize) -> Vec<u32> {
        let pool = self.pool();
        let mut constant = INIT_B;
        let word = |place: usize| {
            let mut value = pool[place % POOL] ^ constant;
            constant = constant.wrapping_mul(MULT_B);
            value = value.wrapping_mul(constant);
            value ^ value >> SHIFT
        };
        (0..count).map(word).collect()
    }

    /// The key of Philox.
    #[must_use]
    pub fn key(&self) -> u64 {
        let words = self.words(2);
        u64::from(words[1]) << 32 | u64::from(words[0])
    }

    fn pool(&self) -> [u32; POOL] {
        let mut words = self.entropy.clone();
        if !self.spawn_key.is_empty() {
            // So that no entropy is mistaken for a path of children.
            words.resize(words.len().max(POOL), 0);
            words.extend(&self.spawn_key);
        }
        let mut hash = Hash(INIT_A);
        let mut pool = [0; POOL];
        for (place, value) in pool.iter_mut().enumerate() {
            *value = hash.of(words.get(place).copied().unwrap_or(0));
        }
        for from in 0..POOL {
            for to in 0..POOL {
                if from != to {
                    pool[to] = mix(pool[to], hash.of(pool[from]));
                }
            }
        }
        for word in words.iter().skip(POOL) {
            for value in &mut pool {
                *value = mix(*value, hash.of(*word));
            }
        }
        pool
    }
}

struct Hash(u32);

impl Hash {
    fn of(&mut self, value: u32) -> u32 {
        let mixed = value ^ self.0;
        self.0 = self.0.wrapping_mul(MULT_A);
        let product = mixed.wrapping_mul(self.0);
        product ^ product >> SHIFT
    }
}

fn mix(left: u32, right: u32) -> u32 {
    let value = MIX_LEFT
        .wrapping_mul(left)
        .wrapping_sub(MIX_RIGHT.wrapping_mul(right));
    value ^ value >> SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.random.SeedSequence(0).generate_state(4)`, the same of 2**100, and of the second child of the second child of 5.
    #[test]
    fn words_are_those_of_numpy() {
        assert_eq!(
            SeedSequence::new(&[0]).words(4),
            [2_968_811_710, 3_677_149_159, 745_650_761, 2_884_920_346]
        );
        let mut sequence = SeedSequence::new(&[5]);
        let mut child = sequence.spawn(2).remove(1);
        let grandchild = child.spawn(2).remove(1);
        assert_eq!(grandchild.spawn_key, [1, 1]);
        assert_eq!((sequence.children, child.children), (2, 2));
        assert_eq!(grandchild.words(4), GRANDCHILD);
        assert_eq!(SeedSequence::new(&[0, 0, 0, 16]).words(4), LARGE);
    }

    const GRANDCHILD: [u32; 4] = [2_587_752_009, 1_842_802_681, 2_996_527_125, 2_122_983_801];
    const LARGE: [u32; 4] = [740_723_363, 1_301_814_144, 1_259_337_830, 491_388_788];
}
