## Which equations of a neuron form a linear system with constant coefficients, and are therefore integrated exactly.

import std/[sets, tables]
import derivative, formula, neuron_model

type
  LinearSystem* = object
    ## x' = matrix * x + constants for the variables named; `constants` may use inputs and whatever does not change within a step.
    variables*: seq[string]
    matrix*: seq[seq[Formula]]   ## over parameters
    constants*: seq[Formula]
    noise*: seq[Formula]         ## over parameters: what stands before xi

  Equations* = object
    model*: NeuronModel
    constantNames*: HashSet[string]  ## whose value is one number for each population: parameters, dt, definitions over them
    reach: Table[string, HashSet[string]]  ## what a definition depends on, through other definitions too
    definitions: Table[string, Formula]

func initEquations*(model: NeuronModel; uniformParameters: HashSet[string]): Equations =
  result.model = model
  result.constantNames = uniformParameters
  result.constantNames.incl "dt"
  for alias in model.aliases:
    var reach: HashSet[string]
    var isConstant = true
    for name in alias.value.names:
      reach.incl name
      if name in result.reach:
        reach = reach + result.reach[name]
      isConstant = isConstant and name in result.constantNames
    result.reach[alias.name] = reach
    result.definitions[alias.name] = alias.value
    if isConstant and not alias.value.isRandom:
      result.constantNames.incl alias.name

func isConstant*(equations: Equations; formula: Formula): bool =
  ## One number for each population.
  if formula.isRandom:
    return false
  for name in formula.names:
    if name notin equations.constantNames:
      return false
  true

func dependsOn*(equations: Equations; formula: Formula; names: HashSet[string]): bool =
  for name in formula.names:
    if name in names or (name in equations.reach and not disjoint(equations.reach[name], names)):
      return true

func inlined*(equations: Equations; formula: Formula; names: HashSet[string]): Formula =
  ## With those definitions written out that depend on `names`.
  var replacements: Table[string, Formula]
  for name in formula.names:
    if name in equations.reach and not disjoint(equations.reach[name], names):
      replacements[name] = equations.inlined(equations.definitions[name], names)
  if replacements.len == 0: formula else: formula.replace(replacements)

func writtenOut*(equations: Equations; formula: Formula): Formula =
  ## With every definition written out.
  var replacements: Table[string, Formula]
  for name in formula.names:
    if name in equations.definitions:
      replacements[name] = equations.writtenOut(equations.definitions[name])
  if replacements.len == 0: formula else: formula.replace(replacements)

func slope*(equations: Equations; state: StateVariable): Formula =
  ## How the derivative of a variable depends on the variable itself.
  equations.inlined(state.derivative, toHashSet([state.name])).derivative(state.name)

func systemOver(equations: Equations; variables: seq[string]; dropped: var string): LinearSystem =
  ## `dropped` names the first variable whose equation is not linear in `variables` with constant coefficients.
  let members = variables.toHashSet
  var moving: HashSet[string]
  var zeros: Table[string, Formula]
  for state in equations.model.states:
    if state.derivative != nil and state.name notin members:
      moving.incl state.name
  for name in variables:
    zeros[name] = number(0)
  result.variables = variables
  for name in variables:
    for state in equations.model.states:
      if state.name == name:
        let written = equations.inlined(state.derivative, members)
        var row: seq[Formula]
        for other in variables:
          row.add written.derivative(other)
          if not equations.isConstant(row[^1]):
            dropped = name
            return
        let noise = written.derivative("xi")
        let rest = written.replace(zeros).replace({"xi": number(0)}.toTable)
        if rest.isRandom or not equations.isConstant(noise) or equations.dependsOn(rest, moving):
          dropped = name
          return
        result.matrix.add row
        result.constants.add rest
        result.noise.add noise

func linearSystem*(equations: Equations; dropped: var string): LinearSystem =
  ## The largest set of variables that the method finds: it starts with all and drops what does not fit until the rest does.
  var variables: seq[string]
  for state in equations.model.states:
    if state.derivative != nil:
      variables.add state.name
  while variables.len > 0:
    var misfit = ""
    result = equations.systemOver(variables, misfit)
    if misfit.len == 0:
      return
    if dropped.len == 0:
      dropped = misfit
    var kept: seq[string]
    for name in variables:
      if name != misfit:
        kept.add name
    variables = kept
  result = LinearSystem()
