//! What was counted, in terms of the source.

use serde::{Deserialize, Serialize};

use super::{AccessSite, BranchSite, Edge, KernelSites, LoopSite, SAMPLED_ITEMS, Sites, WAVE};

/// What the text form of a profile says it is.
const SCHEMA: &str = "amdgpu.profile/1";
/// Larger texts are none of ours.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Of the hash FNV-1a of 64 bits, <http://www.isthe.com/chongo/tech/comp/fnv/>.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// What instrumented runs of one kernel counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Profile {
    pub schema: String,
    /// Of the source and its macros ([`identity`]).
    pub identity: String,
    /// The source.
    pub source: String,
    /// Of the device it ran on.
    pub device: String,
    /// Compilations make a copy for the parameters that had one value.
    pub uses_constants: bool,
    /// Compilations unroll loops by how often they ran, and weigh branches.
    pub uses_counts: bool,
    pub kernel: KernelProfile,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelProfile {
    /// Symbol of the kernel.
    pub name: String,
    /// By number of the block: its line and how often it ran.
    pub blocks: Vec<(u32, u64)>,
    /// Ends of blocks.
    pub branches: Vec<Branch>,
    pub loops: Vec<LoopCount>,
    pub accesses: Vec<Access>,
    /// Parameters that had one value.
    pub constants: Vec<Constant>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Branch {
    pub block: u32,
    pub line: u32,
    pub runs: u64,
    pub taken: u64,
    /// Sampled waves that met the branch, and those of them whose lanes all took it equally often.
    pub waves: u32,
    pub uniform_waves: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoopCount {
    pub line: u32,
    /// The block that it starts with.
    pub header: u32,
    pub entries: u64,
    /// How often it went back to its start.
    pub iterations: u64,
}

/// An access, and how far its address lies behind that of the lane before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Access {
    pub line: u32,
    pub is_store: bool,
    pub bytes: u32,
    /// The distance in bytes that most pairs of neighbours have; absent where no two neighbours met the access.
    pub stride_bytes: Option<i64>,
    /// How many of 100 pairs have it.
    pub percent: u8,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Constant {
    pub name: String,
    /// As they are in memory, zeros above.
    pub bits: u64,
}

/// What says that two compilations have the same code: a hash of the source, its macros and the instances that are asked for.
pub fn identity(source: &str, defines: &[(String, String)], instances: &[String]) -> String {
    let text = format!("{defines:?}{instances:?}{source}");
    let mut hash = FNV_OFFSET;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    format!("{hash:016x}")
}

impl Profile {
    /// The profile of a kernel after a run, from the words of the buffer. `None` when the kernel was not instrumented, or words are missing.
    pub fn of_run(
        sites: &Sites,
        words: &[u64],
        kernel: &str,
        constants: Vec<Constant>,
        (source, identity): (&str, String),
        device: &str,
    ) -> Option<Self> {
        let mut all = sites.kernels.iter();
        let own = all.find(|one| one.name == kernel)?;
        (words.len() as u64 >= sites.words).then_some(())?;
        let reader = Reader { words, sites: own };
        Some(Self {
            schema: SCHEMA.to_owned(),
            identity,
            source: source.to_owned(),
            device: device.to_owned(),
            uses_constants: true,
            uses_counts: true,
            kernel: KernelProfile {
                name: kernel.to_owned(),
                blocks: own
                    .blocks
                    .iter()
                    .map(|block| (block.line, reader.word(block.runs)))
                    .collect(),
                branches: (0..)
                    .zip(&own.blocks)
                    .filter_map(|(number, block)| {
                        let runs = reader.word(block.runs);
                        block.branch.map(|site| reader.branch(number, &site, runs))
                    })
                    .collect(),
                loops: own.loops.iter().map(|site| reader.count(site)).collect(),
                accesses: own
                    .accesses
                    .iter()
                    .map(|site| reader.access(site))
                    .collect(),
                constants,
            },
        })
    }

    /// Refuses a profile that is not of the compilation of this identity.
    ///
    /// # Errors
    ///
    /// A sentence that says so.
    pub fn check(&self, identity: &str) -> Result<(), String> {
        if self.identity == identity {
            return Ok(());
        }
        Err(format!(
            "the profile of `{}` is of another source, or of this one with other macros; measure it again with profile_kernel",
            self.kernel.name
        ))
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A profile of its text form.
    ///
    /// # Errors
    ///
    /// Why the text is none.
    pub fn of_text(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("it is larger than {MAX_TEXT_BYTES} bytes"));
        }
        let profile: Self =
            serde_json::from_str(text).map_err(|error| format!("it is no profile: {error}"))?;
        if profile.schema == SCHEMA {
            return Ok(profile);
        }
        Err(format!(
            "the schema is '{}'; this version reads '{SCHEMA}'",
            profile.schema
        ))
    }

    /// Adds the counts of another run of the same kernel; parameters that differ are no constants.
    ///
    /// # Errors
    ///
    /// The profiles are of two kernels.
    pub fn add(&mut self, other: &Self) -> Result<(), String> {
        let (own, more) = (&mut self.kernel, &other.kernel);
        if self.identity != other.identity
            || own.name != more.name
            || own.blocks.len() != more.blocks.len()
        {
            return Err(format!(
                "the profiles are of two kernels: `{}` and `{}`, or of two sources",
                own.name, more.name
            ));
        }
        for (block, added) in own.blocks.iter_mut().zip(&more.blocks) {
            block.1 = block.1.saturating_add(added.1);
        }
        for (branch, added) in own.branches.iter_mut().zip(&more.branches) {
            branch.runs = branch.runs.saturating_add(added.runs);
            branch.taken = branch.taken.saturating_add(added.taken);
            branch.waves = branch.waves.saturating_add(added.waves);
            branch.uniform_waves = branch.uniform_waves.saturating_add(added.uniform_waves);
        }
        for (item, added) in own.loops.iter_mut().zip(&more.loops) {
            item.entries = item.entries.saturating_add(added.entries);
            item.iterations = item.iterations.saturating_add(added.iterations);
        }
        for (access, added) in own.accesses.iter_mut().zip(&more.accesses) {
            if access.stride_bytes != added.stride_bytes && added.percent > access.percent {
                *access = added.clone();
            }
        }
        own.constants.retain(|one| more.constants.contains(one));
        Ok(())
    }
}

struct Reader<'a> {
    words: &'a [u64],
    sites: &'a KernelSites,
}

impl Reader<'_> {
    fn word(&self, number: u32) -> u64 {
        self.words.get(number as usize).copied().unwrap_or_default()
    }

    fn branch(&self, block: u32, site: &BranchSite, runs: u64) -> Branch {
        let (mut waves, mut uniform_waves) = (0, 0);
        for wave in 0..SAMPLED_ITEMS / WAVE {
            let Some(first) = site.samples else { break };
            let lanes = (wave * WAVE)..((wave + 1) * WAVE);
            let counts = lanes.map(|item| {
                let place = first + 2 * item as u32;
                (self.word(place), self.word(place + 1))
            });
            let met: Vec<(u64, u64)> = counts.filter(|(_, met)| *met > 0).collect();
            let Some((first, rest)) = met.split_first() else {
                continue;
            };
            waves += 1;
            uniform_waves += u32::from(rest.iter().all(|one| one == first));
        }
        Branch {
            block,
            line: site.line,
            runs,
            taken: self.word(site.taken),
            waves,
            uniform_waves,
        }
    }

    fn edge(&self, edge: Edge) -> u64 {
        let Some(block) = self.sites.blocks.get(edge.block as usize) else {
            return 0;
        };
        let runs = self.word(block.runs);
        match (edge.when, &block.branch) {
            (Some(true), Some(branch)) => self.word(branch.taken),
            (Some(false), Some(branch)) => runs.saturating_sub(self.word(branch.taken)),
            _ => runs,
        }
    }

    fn count(&self, site: &LoopSite) -> LoopCount {
        let iterations: u64 = site.back.iter().map(|edge| self.edge(*edge)).sum();
        let header = self.sites.blocks.get(site.header as usize);
        let runs = header.map_or(0, |block| self.word(block.runs));
        LoopCount {
            line: site.line,
            header: site.header,
            entries: runs.saturating_sub(iterations),
            iterations,
        }
    }

    fn access(&self, site: &AccessSite) -> Access {
        let address = |item: u64| self.word(site.samples + item as u32);
        let mut strides: Vec<i64> = (1..SAMPLED_ITEMS)
            .filter(|item| item % WAVE != 0)
            .map(|item| (address(item - 1), address(item)))
            .filter(|(one, next)| *one != 0 && *next != 0)
            .map(|(one, next)| next.wrapping_sub(one) as i64)
            .collect();
        strides.sort_unstable();
        let most = strides
            .chunk_by(|one, other| one == other)
            .max_by_key(|same| same.len());
        Access {
            line: site.line,
            is_store: site.is_store,
            bytes: site.bytes,
            stride_bytes: most.map(|same| same[0]),
            percent: most.map_or(0, |same| (same.len() * 100 / strides.len()) as u8),
        }
    }
}
