## The body of a `synapse` statement, checked for one projection: what a spike of the source or the target, a reward, and time do.


import diagnostics, formula, neuron_model, scope

type
  SynapseState* = object
    name*: string
    derivative*: Formula   ## nil: it changes only at events
    isClocked*: bool       ## integrated at every step instead of when it is needed
    span*: Span

  SynapseModel* = ref object
    name*: string
    span*: Span
    isBuiltIn*: bool
    scope*: Scope
    parameters*: seq[Parameter]
    states*: seq[SynapseState]
    aliases*: seq[Alias]
    onPre*, onPost*, onReward*: seq[Assignment]
    isBroken*: bool
