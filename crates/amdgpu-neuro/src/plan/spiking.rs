//! Version 2 of the network plan: a spiking network. `docs/plan_schema.md`, section "Spiking".

use serde::{Deserialize, Serialize};

use super::inline_or_file::InlineOrFile;
use super::positions::PositionsPlan;
use super::{Initializer, Warning};

/// A plan of version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikingNetworkPlan {
    pub schema: String,
    pub version: u64,
    pub name: String,
    pub seed: u64,
    pub dt_seconds: f64,
    pub warnings: Vec<Warning>,
    pub spiking: SpikingPlan,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikingPlan {
    /// HIP-C text with every kernel of `kernels`.
    pub source: String,
    pub groups: Vec<GroupPlan>,
    pub populations: Vec<PopulationPlan>,
    #[serde(default)]
    pub sources: Vec<SourcePlan>,
    #[serde(default)]
    pub drives: Vec<DrivePlan>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewards: Vec<RewardPlan>,
    #[serde(default)]
    pub projections: Vec<ProjectionPlan>,
    pub kernels: Vec<KernelPlan>,
    #[serde(default)]
    pub records: Vec<RecordPlan>,
}

impl SpikingPlan {
    /// The population of a name.
    #[must_use]
    pub fn population(&self, name: &str) -> Option<&PopulationPlan> {
        self.populations
            .iter()
            .find(|population| population.name == name)
    }

    /// Position of the source of a name.
    #[must_use]
    pub fn source_index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name() == name)
    }

    /// The group of a population.
    #[must_use]
    pub fn group_of(&self, population: &str) -> Option<usize> {
        self.population(population)
            .map(|population| population.group)
    }

    /// Neurons of a population or source; 0 for a name that there is not.
    #[must_use]
    pub fn size_of(&self, name: &str) -> usize {
        match (self.population(name), self.source_index(name)) {
            (Some(population), _) => population.size,
            (None, Some(source)) => self.sources[source].size(),
            (None, None) => 0,
        }
    }

    /// Where the neurons of a population or source are.
    #[must_use]
    pub fn positions_of(&self, name: &str) -> Option<&PositionsPlan> {
        match (self.population(name), self.source_index(name)) {
            (Some(population), _) => population.positions.as_ref(),
            (None, Some(source)) => self.sources[source].positions(),
            (None, None) => None,
        }
    }

    /// The kernels of a projection.
    pub fn kernels_of(&self, projection: usize) -> impl Iterator<Item = &KernelPlan> {
        self.kernels
            .iter()
            .filter(move |kernel| kernel.projection == Some(projection))
    }

    /// Whether a kernel of the projection has an argument of this role.
    #[must_use]
    pub fn projection_uses(&self, projection: usize, role: Role) -> bool {
        self.kernels_of(projection).any(|kernel| {
            kernel
                .arguments
                .iter()
                .any(|argument| argument.role == role)
        })
    }

    /// Whether the projection has a kernel of this phase.
    #[must_use]
    pub fn has_phase(&self, projection: usize, phase: Phase) -> bool {
        self.kernels_of(projection)
            .any(|kernel| kernel.phase == phase)
    }
}

/// Neurons of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    pub name: String,
    pub size: usize,
    pub variables: Vec<ValuesPlan>,
    pub parameters: Vec<ValuesPlan>,
    pub inputs: Vec<String>,
    pub has_refractory: bool,
}

impl GroupPlan {
    /// Position of an input.
    #[must_use]
    pub fn input_index(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input == name)
    }

    /// Position of a state variable.
    #[must_use]
    pub fn variable_index(&self, name: &str) -> Option<usize> {
        self.variables
            .iter()
            .position(|variable| variable.name == name)
    }

    /// Position of a parameter.
    #[must_use]
    pub fn parameter_index(&self, name: &str) -> Option<usize> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == name)
    }
}

/// A variable or parameter with its initial values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValuesPlan {
    pub name: String,
    #[serde(default)]
    pub unit: String,
    pub values: Vec<RangePlan>,
}

/// Values of a range of a group's neurons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangePlan {
    pub first: usize,
    pub count: usize,
    pub value: Initializer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationPlan {
    pub name: String,
    pub group: usize,
    pub first: usize,
    pub size: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionsPlan>,
}

/// What spikes without being simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourcePlan {
    Poisson {
        name: String,
        size: usize,
        rate_hz: Initializer,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        positions: Option<PositionsPlan>,
    },
    Spikes {
        name: String,
        size: usize,
        times_seconds: InlineOrFile<f64>,
        indices: InlineOrFile<usize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        positions: Option<PositionsPlan>,
    },
}

impl SourcePlan {
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Poisson { name, .. } | Self::Spikes { name, .. } => name,
        }
    }

    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Poisson { size, .. } | Self::Spikes { size, .. } => *size,
        }
    }

    #[must_use]
    pub const fn positions(&self) -> Option<&PositionsPlan> {
        match self {
            Self::Poisson { positions, .. } | Self::Spikes { positions, .. } => positions.as_ref(),
        }
    }
}

/// What acts on neurons without synapses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DrivePlan {
    Poisson {
        population: String,
        input: String,
        rate_hz: f64,
        count: f64,
        weight: f64,
    },
    Current {
        population: String,
        variable: String,
        samples: InlineOrFile<f64>,
        every_seconds: f64,
    },
}

/// Rewards that the text gives, beside those of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RewardPlan {
    Times {
        times_seconds: Vec<f64>,
        values: Vec<f64>,
    },
    Every {
        every_seconds: f64,
        value: f64,
    },
}

/// Who is connected with whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PatternPlan {
    AllToAll {},
    OneToOne {},
    Probability {
        probability: f64,
    },
    FixedIn {
        count: usize,
    },
    FixedOut {
        count: usize,
    },
    FixedTotal {
        count: u64,
    },
    Pairs {
        sources: InlineOrFile<u32>,
        targets: InlineOrFile<u32>,
    },
    /// Each pair with the probability `peak · exp(-distance² / (2 sigma²))`.
    Gaussian {
        sigma: f64,
        peak: f64,
    },
    Convolution(Box<ConvolutionPlan>),
}

/// From a grid to a grid by the entries of a kernel that are not 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvolutionPlan {
    pub kernel: InlineOrFile<f64>,
    /// Of the kernel, the axis that changes fastest last; empty: that of its file.
    pub shape: Vec<usize>,
    /// For x, y, z.
    pub stride: Vec<usize>,
    /// For x, y, z; `None`: as many as keep the size, half of them on either side.
    pub padding: Option<Vec<usize>>,
}

/// How synapses are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageKind {
    #[default]
    Auto,
    Dense,
    Csr16,
    Csr32,
    BitMask,
    GapCoded,
    Procedural,
}

impl StorageKind {
    /// As in the language and in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dense => "dense",
            Self::Csr16 => "csr16",
            Self::Csr32 => "csr32",
            Self::BitMask => "bit_mask",
            Self::GapCoded => "gap_coded",
            Self::Procedural => "procedural",
        }
    }
}

const fn yes() -> bool {
    true
}

/// Amounts that nothing bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AmountsPlan {
    /// Of what size an amount is; weights that the plan does not know count as 1.
    pub scale: f64,
    /// Amounts that one synapse adds to an input in a step, at most.
    pub additions: u32,
}

/// Amounts that fall as a variable of the target rises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CouplingPlan {
    pub variable: String,
    /// Change of the variable in a step for each unit that is added.
    pub gain: f64,
    /// What a step leaves of the variable.
    pub decay: f64,
    /// The amount of a synapse for each unit of the variable is `constant + of_weight * w`.
    pub constant: f64,
    pub of_weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectionPlan {
    pub from: String,
    pub to: String,
    pub input: Option<String>,
    pub pattern: PatternPlan,
    #[serde(default = "yes")]
    pub allow_autapses: bool,
    #[serde(default)]
    pub allow_multapses: bool,
    pub weight: Initializer,
    /// Largest amount that a synapse adds to an input in a step, where kernels do the adding to sums of 32 bits.
    #[serde(default)]
    pub weight_bound: Option<f64>,
    /// Where nothing bounds what kernels add: it goes to sums of 64 bits.
    #[serde(default)]
    pub amounts: Option<AmountsPlan>,
    /// How its neurons pull at each other in every step, where they do.
    #[serde(default)]
    pub coupling: Option<CouplingPlan>,
    pub delay_seconds: Initializer,
    #[serde(default)]
    pub storage: StorageKind,
    #[serde(default)]
    pub variables: Vec<SynapseVariablePlan>,
    /// Traces of each source neuron.
    #[serde(default)]
    pub pre_variables: Vec<SynapseVariablePlan>,
    /// Traces of each target neuron.
    #[serde(default)]
    pub post_variables: Vec<SynapseVariablePlan>,
}

/// State of each synapse, or of each neuron as a projection sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SynapseVariablePlan {
    pub name: String,
    #[serde(default)]
    pub unit: String,
    pub value: Initializer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Initialize,
    Start,
    Update,
    OnPre,
    OnPost,
    TracePre,
    TracePost,
    OnReward,
    Clocked,
}

impl Phase {
    /// Kernels of a projection run in this order within a step.
    #[must_use]
    pub const fn order(self) -> u8 {
        match self {
            Self::Initialize | Self::Start | Self::Update => 0,
            Self::OnPre => 1,
            Self::TracePre => 2,
            Self::OnPost => 3,
            Self::TracePost => 4,
            Self::OnReward => 5,
            Self::Clocked => 6,
        }
    }
}

/// A kernel of `source` and what it is called with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelPlan {
    pub name: String,
    pub phase: Phase,
    #[serde(default)]
    pub group: Option<usize>,
    #[serde(default)]
    pub projection: Option<usize>,
    pub arguments: Vec<ArgumentPlan>,
}

impl KernelPlan {
    /// Whether it has an argument of this role and name.
    #[must_use]
    pub fn takes(&self, role: Role, name: &str) -> bool {
        let mut arguments = self.arguments.iter();
        arguments.any(|argument| argument.role == role && argument.name == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Count,
    Step,
    Seed,
    Parameter,
    ParameterArray,
    State,
    Input,
    Unit,
    Refractory,
    Fired,
    Events,
    SpikeList,
    SpikeCount,
    RowStarts,
    RowEnds,
    Columns,
    SynapseSources,
    ColumnStarts,
    ColumnEnds,
    ColumnSynapses,
    ColumnSources,
    SynapseState,
    PreState,
    PostState,
    LastUpdate,
    SourceState,
    TargetState,
    SourceParameter,
    TargetParameter,
    TargetInput,
    PerUnit,
    MostUnits,
    WideInput,
    WideUnit,
    WideTargetInput,
    PerWideUnit,
    MostWideUnits,
    Overflow,
    Reward,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentPlan {
    pub role: Role,
    /// Of the variable, parameter or input, for the roles that have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// C type of the kernel's parameter, for example `const float*`. Every pointer is `__restrict__` besides.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub ctype: String,
    /// Name of the kernel's parameter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identifier: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecordPlan {
    Spikes {
        population: String,
    },
    State {
        population: String,
        variable: String,
        first: usize,
        count: usize,
        every_seconds: f64,
    },
}
