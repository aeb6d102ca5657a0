## The checked network: what the checker makes of the statements and every consumer reads. docs/plan_schema.md describes its JSON form.

import diagnostics, initializer, spiking_plan
export initializer

type
  ActivationPlan* = object
    kind*: string
    alpha*, beta*: float   ## zero where the activation has no such parameter

  LayerPlan* = object
    name*: string
    size*: int
    activation*: ActivationPlan
    hasBias*: bool
    bias*: Initializer
    span*: Span

  ConnectionPlan* = object
    source*, target*: int  ## positions in `layers`
    weight*: Initializer
    span*: Span

  PlasticityPlan* = object
    rule*: string
    learningRate*: float
    thresholdRate*: float  ## of bcm
    connections*: seq[int] ## positions in `connections`
    span*: Span

  NetworkPlan* = object
    name*: string
    seed*: int64
    hasTimeStep*: bool
    timeStepSeconds*: float
    layers*: seq[LayerPlan]
    connections*: seq[ConnectionPlan]
    plasticity*: seq[PlasticityPlan]
    input*: int            ## the layer that takes the network's input
    outputs*: seq[int]     ## layers that nothing follows, in the order they were declared
    order*: seq[int]       ## layers so that each stands after those it depends on
    isSpiking*: bool       ## then `spiking` says everything, and there are no layers
    spiking*: SpikingPlan
    warnings*: seq[Finding]
