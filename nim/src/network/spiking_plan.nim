## The checked spiking network as the engine builds it: the objects of docs/plan_schema.md, section "Spiking", under the same names.

import initializer, references

type
  ValueRange* = object
    first*, count*: int
    value*: Initializer

  ValuesPlan* = object
    name*, unit*: string
    values*: seq[ValueRange]

  GroupPlan* = object
    name*: string
    size*: int
    variables*, parameters*: seq[ValuesPlan]
    inputs*: seq[string]
    hasRefractory*: bool

  PositionsKind* = enum
    poNone
    poGrid = "grid"
    poPoints = "points"

  PositionsPlan* = object
    case kind*: PositionsKind
    of poNone: discard
    of poGrid:
      counts*: seq[int]
      spacing*, origin*: seq[float]
      isPeriodic*: bool
    of poPoints:
      dimensions*: int           ## 0: those of the file
      coordinates*: seq[float]
      reference*: Reference
      scale*: float
      period*: seq[float]        ## empty: none

  PopulationPlan* = object
    name*: string
    group*, first*, size*: int
    positions*: PositionsPlan

  SourceKind* = enum
    skPoisson = "poisson"
    skSpikes = "spikes"

  SourcePlan* = object
    name*: string
    size*: int
    positions*: PositionsPlan
    case kind*: SourceKind
    of skPoisson:
      rate*: Initializer
    of skSpikes:
      times*: seq[float]
      indices*: seq[int]
      timesFrom*, indicesFrom*: Reference

  DriveKind* = enum
    dkPoisson = "poisson"
    dkCurrent = "current"

  DrivePlan* = object
    population*, variable*: string
    case kind*: DriveKind
    of dkPoisson:
      rate*, count*, weight*: float
    of dkCurrent:
      samples*: seq[float]
      samplesFrom*: Reference
      every*: float

  RewardKind* = enum
    rkTimes = "times"
    rkEvery = "every"

  RewardPlan* = object
    ## Rewards that the text gives itself.
    case kind*: RewardKind
    of rkTimes:
      times*, values*: seq[float]
    of rkEvery:
      every*, value*: float

  PatternKind* = enum
    pkAllToAll = "all_to_all"
    pkOneToOne = "one_to_one"
    pkProbability = "probability"
    pkFixedIn = "fixed_in"
    pkFixedOut = "fixed_out"
    pkFixedTotal = "fixed_total"
    pkPairs = "pairs"
    pkGaussian = "gaussian"
    pkConvolution = "convolution"

  PatternPlan* = object
    kind*: PatternKind
    probability*: float          ## of gaussian: at the distance 0
    sigma*: float
    count*: int64
    sources*, targets*: seq[int]
    sourcesFrom*, targetsFrom*: Reference
    kernel*: seq[float]
    kernelFrom*: Reference
    shape*, stride*, padding*: seq[int]
    hasPadding*: bool            ## otherwise the size stays

  SynapseVariablePlan* = object
    name*, unit*: string
    value*: Initializer

  Coupling* = object
    ## How the neurons of a projection pull at each other in every step, where they do.
    variable*: string            ## of the target; "" where there is no coupling, or none that can be told
    gain*: float                 ## change of the variable in a step for each unit that is added
    decay*: float                ## what a step leaves of the variable
    constant*, ofWeight*: float  ## the amount of a synapse for each unit of the variable: constant + ofWeight * w

  ProjectionPlan* = object
    source*, target*: string     ## names of a population or source, and of a population
    input*: string               ## "" where kernels of its own say what a spike does
    pattern*: PatternPlan
    allowsAutapses*, allowsMultapses*: bool
    weight*, delay*: Initializer
    hasWeightBound*: bool
    weightBound*: float          ## largest amount that a synapse adds to an input in a step, where kernels of its own do the adding
    amountScale*: float          ## of what size amounts are, where they have no bound
    additions*: int              ## then how many of them a synapse adds to an input in a step; 0 with a bound
    coupling*: Coupling
    storage*: string
    variables*, preVariables*, postVariables*: seq[SynapseVariablePlan]

  Argument* = tuple[role, name: string]

  KernelParameter* = object
    ## One parameter of a kernel and what is bound to it.
    argument*: Argument
    ctype*: string               ## without `__restrict__`, which every pointer has
    identifier*: string

  KernelPlan* = object
    name*, phase*: string
    group*, projection*: int     ## -1 where it is for none
    parameters*: seq[KernelParameter]

  RecordPlan* = object
    population*: string
    variable*: string            ## "" for spikes
    first*, count*: int
    every*: float

  SpikingPlan* = object
    source*: string
    groups*: seq[GroupPlan]
    populations*: seq[PopulationPlan]
    sources*: seq[SourcePlan]
    drives*: seq[DrivePlan]
    rewards*: seq[RewardPlan]
    projections*: seq[ProjectionPlan]
    kernels*: seq[KernelPlan]
    records*: seq[RecordPlan]
