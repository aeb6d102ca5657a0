## What will probably go wrong when a network is stepped, found before it is: time constants below zero, steps that are too long for an
## integrator, coupling of neurons that is too strong for the step.

import std/[math, sets, strutils, tables]
import derivative, diagnostics, dimension_solver, dimensions, equation_analysis, formula, neuron_model, numbers, scope, spiking_plan, synapse_model

const
  EulerLimit = 2.0         ## |1 + z| <= 1 up to z = -2; likewise of rk2
  Rk4Limit = 2.785         ## Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2

proc isTime(scope: var Scope; name: string): bool =
  scope.solver.settle(scope.symbols[name].dimension) == TimeDimension

proc warnOfNegativeTimes*(scope: var Scope; parameters: seq[Parameter]; equations: seq[Formula]; values: Bindings; owner: string;
                          report: var Report): bool {.discardable.} =
  ## Time constants below zero: what should decay grows.
  for parameter in parameters:
    var isUsed = false
    for equation in equations:
      isUsed = isUsed or equation.uses(parameter.name)
    let value = values.getOrDefault(parameter.name, 0.0)
    if isUsed and value < 0 and scope.isTime(parameter.name):
      report.warning(parameter.span, shown(parameter.name) & " of " & owner & " is " & floatText(value) & " s, below zero",
                     hint = "with a negative time constant what should decay grows")
      result = true

func withoutNoise(formula: Formula): Formula =
  formula.replace({"xi": number(0)}.toTable)

proc warnOfSteps*(model: NeuronModel; equations: Equations; values: Bindings; dt: float; population: string; report: var Report) =
  ## `values` are the parameters, and the initial values of the variables that have one.
  var derivatives: seq[Formula]
  var scope = model.scope
  for state in model.states:
    if state.derivative != nil:
      derivatives.add equations.writtenOut(state.derivative)
  let owner = "population " & shown(population)
  let isReported = scope.warnOfNegativeTimes(model.parameters, derivatives, values, owner, report)
  for state in model.states:
    if state.derivative == nil:
      continue
    let slope = withoutNoise(equations.writtenOut(state.derivative)).derivative(state.name)
    var a: float
    if slope.isRandom or not slope.evaluate(values, a) or a != a:
      continue
    var isFixed = true
    for name in slope.names:
      isFixed = isFixed and name in equations.constantNames
    if a > 0 and isFixed and not isReported:
      report.warning(state.span, shown(state.name) & " of " & owner & " grows without end: d" & state.name & "/dt rises with " &
                     shown(state.name), hint = "a sign in the equation, or a time constant below zero")
    let limit = case model.integrator
      of igEuler, igRk2: EulerLimit
      of igRk4: Rk4Limit
      else: Inf
    if -a * dt > limit:
      report.warning(state.span, "the step is too long for " & shown(state.name) & " of " & owner & ": it decays with " & floatText(-1 / a) &
                     " s, and the integrator " & $model.integrator & " is stable for steps up to " & floatText(-limit / a) & " s",
                     hint = "a smaller dt, or integrator: auto")

func couplingOf*(model: SynapseModel; ends: Ends; own, target: Equations; values, targetValues: Bindings; dt: float): Coupling =
  ## From the block `clocked`: amounts that fall as a variable of the target rises are an explicit step towards the source.
  var hidden: HashSet[string]
  for name in model.scope.symbols.keys:
    if name notin own.constantNames:
      hidden.incl name
  for assignment in model.clocked:
    if not assignment.name.startsWith(TargetPrefix):
      continue
    let fed = assignment.name[TargetPrefix.len .. ^1]
    let amount = own.inlined(assignment.value, hidden)
    for state in ends.target.states:
      let pull = amount.derivative(state.name & "_post")
      if pull.isNumber(0):
        continue
      let ofWeight = pull.derivative("w")
      var rest, factor: float
      if not pull.replace({"w": number(0)}.toTable).evaluate(values, rest) or not ofWeight.evaluate(values, factor):
        continue
      var gain = 1.0
      var slope = 0.0
      if state.derivative != nil:
        let written = withoutNoise(target.writtenOut(state.derivative))
        if not written.derivative(state.name).evaluate(targetValues, slope):
          slope = 0
        if fed != state.name and not written.derivative(fed).evaluate(targetValues, gain):
          continue
      elif fed != state.name:
        continue
      let isExponential = ends.target.integrator in {igAuto, igExact, igExponentialEuler}
      result.variable = state.name
      result.decay = if isExponential: exp(slope * dt) else: 1 + slope * dt
      if fed != state.name:
        gain = gain * (if isExponential and slope != 0: (exp(slope * dt) - 1) / slope else: dt)
      result.gain = abs(gain)
      result.constant = rest
      result.ofWeight = factor
      return
