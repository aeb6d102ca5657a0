## What the statements of a spiking network declare, by name, before anything is generated from it.

import std/tables
import ast, diagnostics, initial_values, neuron_model, positions, spiking_plan, synapse_model

type
  Population* = object
    name*: string
    span*: Span
    size*: int
    model*: NeuronModel
    given*: OrderedTable[string, InitialValue]  ## initial values of variables and values of parameters
    group*, first*: int
    positions*: Positions

  Source* = object
    plan*: SourcePlan
    span*: Span
    positions*: Positions

  Projection* = object
    plan*: ProjectionPlan
    span*: Span
    source*, target*: int        ## positions in `populations`; -1 for a source that is no population
    synapse*: SynapseModel       ## nil: a spike adds the weight to the input
    given*: OrderedTable[string, InitialValue]  ## of the synapse's variables
    parameters*: Table[string, float]           ## of the synapse, as far as they were given
    isBroken*: bool

  SpikingNetwork* = object
    dt*: float
    models*: OrderedTable[string, NeuronModel]
    synapses*: OrderedTable[string, Statement]
    populations*: seq[Population]
    sources*: seq[Source]
    drives*: seq[DrivePlan]
    rewards*: seq[RewardPlan]
    projections*: seq[Projection]
    records*: seq[RecordPlan]
    names*: OrderedTable[string, Span]           ## of populations and sources
    excused*: seq[string]                        ## names whose declaration was wrong

func populationIndex*(network: SpikingNetwork; name: string): int =
  for idx, population in network.populations:
    if population.name == name:
      return idx
  -1

func sourceIndex*(network: SpikingNetwork; name: string): int =
  for idx, source in network.sources:
    if source.plan.name == name:
      return idx
  -1
