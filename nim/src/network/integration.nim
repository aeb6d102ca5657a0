## One step of a neuron's equations as new values over old ones, for the methods that need no intermediate stages.

import std/[sets, tables]
import constants, derivative, equation_analysis, formula, matrix_exponential, neuron_model

type
  StepRule* = object
    variable*: string
    value*: Formula        ## the new value, lifted: over states, inputs and symbols of the pool
    heldValue*: Formula    ## the same while the neuron is refractory; nil where it does not differ
    rule*: string          ## the method, for the comment

const
  NoisePrefix = "noise of "
    ## No name of the language has a blank.

func noiseOf*(variable: string): string =
  ## The symbol of the normal number that stands for a variable's white noise over a step.
  NoisePrefix & variable

func splitSum(equations: Equations; formula: Formula; isNegative: bool; parts: var seq[Formula]) =
  ## The summands, with constant factors and divisors of sums handed to each of them.
  if formula.kind == fkBinary and formula.operator in ["+", "-"]:
    equations.splitSum(formula.left, isNegative, parts)
    equations.splitSum(formula.right, isNegative xor formula.operator == "-", parts)
  elif formula.kind == fkNegate:
    equations.splitSum(formula.inner, not isNegative, parts)
  elif formula.kind == fkBinary and formula.operator in ["*", "/"] and equations.isConstant(formula.right):
    var inner: seq[Formula]
    equations.splitSum(formula.left, isNegative, inner)
    for part in inner:
      parts.add binary(formula.operator, part, formula.right)
  elif formula.kind == fkBinary and formula.operator == "*" and equations.isConstant(formula.left):
    var inner: seq[Formula]
    equations.splitSum(formula.right, isNegative, inner)
    for part in inner:
      parts.add formula.left * part
  else:
    parts.add(if isNegative: negative(formula) else: formula)

proc entry(pool: var ConstantPool; matrices: seq[Matrix]; row, column: int; name, meaning: string): Formula =
  ## One element of the propagators of all populations.
  var values: seq[float]
  var isZero = true
  for matrix in matrices:
    values.add matrix[row][column]
    isZero = isZero and matrix[row][column] == 0
  if isZero: number(0) else: pool.addConstant(name, meaning, values)

proc exactFormulas(pool: var ConstantPool; system: LinearSystem; dt: float; suffix: string): seq[Formula] =
  ## x(dt) of each variable of a linear system, with propagators that are numbers for each population.
  let size = system.variables.len
  var fixed, moving: seq[Formula]          # constants[k] = fixed + moving
  for constant in system.constants:
    var parts: seq[Formula]
    pool.equations.splitSum(constant, false, parts)
    fixed.add number(0)
    moving.add number(0)
    for part in parts:
      if pool.equations.isConstant(part): fixed[^1] = fixed[^1] + part
      else: moving[^1] = moving[^1] + part
  var states, inputs, spreads: seq[Matrix]
  var offsets: seq[seq[float]]
  for bindings in pool.populations:
    var a: Matrix
    for row in system.matrix:
      a.add newSeq[float](size)
      for column, entry in row:
        discard entry.evaluate(bindings, a[^1][column])
    var state, input: Matrix
    propagators(a, dt, state, input)
    var strengths = newSeq[float](size)
    for row in 0 ..< size:
      discard system.noise[row].evaluate(bindings, strengths[row])
    spreads.add lowerTriangle(noiseCovariance(a, strengths, dt))
    states.add state
    inputs.add input
    var offset = newSeq[float](size)
    for row in 0 ..< size:
      for column in 0 ..< size:
        var value: float
        discard fixed[column].evaluate(bindings, value)
        offset[row] += input[row][column] * value
    offsets.add offset
  for row in 0 ..< size:
    let name = system.variables[row]
    var value = number(0)
    for column in 0 ..< size:
      let other = system.variables[column]
      value = value + pool.entry(states, row, column, name & "_from_" & other & suffix, name & " after dt for each unit of " & other) * symbol(other)
    for column in 0 ..< size:
      if not moving[column].isNumber(0):
        let other = system.variables[column]
        value = value + pool.entry(inputs, row, column, name & "_by_slope_of_" & other & suffix,
                              name & " after dt for each unit of d" & other & "/dt") * pool.lift(moving[column])
    var hasOffset = false
    var offset: seq[float]
    for values in offsets:
      offset.add values[row]
      hasOffset = hasOffset or values[row] != 0
    if hasOffset:
      value = value + pool.addConstant(name & "_offset" & suffix, name & " after dt from constant terms", offset)
    for column in 0 .. row:
      let other = system.variables[column]
      value = value + pool.entry(spreads, row, column, name & "_noise_" & other & suffix,
                            name & " after dt for each unit of the noise of " & other & suffix) * symbol(noiseOf(other))
    result.add value

proc withoutHeld(system: LinearSystem; held: HashSet[string]; isCoupled: var bool): LinearSystem =
  ## The system of the variables that go on while others are held: those become constants.
  for row, name in system.variables:
    if name in held:
      continue
    result.variables.add name
    var entries: seq[Formula]
    result.noise.add system.noise[row]
    var constant = system.constants[row]
    for column, other in system.variables:
      if other notin held:
        entries.add system.matrix[row][column]
      elif not system.matrix[row][column].isNumber(0):
        isCoupled = true
        constant = constant + system.matrix[row][column] * symbol(other)
    result.matrix.add entries
    result.constants.add constant

proc exactRules*(pool: var ConstantPool; system: LinearSystem; held: HashSet[string]; dt: float): seq[StepRule] =
  let values = pool.exactFormulas(system, dt, "")
  for idx, name in system.variables:
    result.add StepRule(variable: name, value: values[idx], rule: "exact")
  var isCoupled = false
  let rest = withoutHeld(system, held, isCoupled)
  if isCoupled:
    let others = pool.exactFormulas(rest, dt, "_held")
    for idx, name in rest.variables:
      for rule in result.mitems:
        if rule.variable == name:
          rule.heldValue = others[idx]

func withoutNoise(formula: Formula): Formula =
  formula.replace({"xi": number(0)}.toTable)

proc noise(pool: var ConstantPool; state: StateVariable; slope = number(0)): Formula =
  ## What white noise adds in a step to a variable that returns with the slope df/dx: of the variance (e^(2 slope dt) - 1) / (2 slope) for
  ## each unit of its strength squared, as Ornstein and Uhlenbeck's process has; without a slope dt, as in Euler and Maruyama's method.
  let strength = pool.equations.inlined(state.derivative, toHashSet(["xi"])).derivative("xi")
  if strength.isNumber(0):
    return number(0)
  let time = if slope.isNumber(0): symbol("dt") else: symbol("dt") * call("exprel", number(2) * slope * symbol("dt"))
  pool.lift(strength * call("sqrt", time)) * call("normal")

proc eulerRule*(pool: var ConstantPool; state: StateVariable): StepRule =
  let change = pool.lift(symbol("dt") * withoutNoise(state.derivative))
  StepRule(variable: state.name, value: symbol(state.name) + change + pool.noise(state), rule: "euler")

proc exponentialEulerRule*(pool: var ConstantPool; state: StateVariable): StepRule =
  ## x + f(x) * (e^(a dt) - 1) / a with the slope a = df/dx: exact where f is linear in x and nothing else moves.
  let smooth = StateVariable(name: state.name, derivative: withoutNoise(state.derivative), span: state.span)
  let slope = pool.equations.slope(smooth)
  if slope.isNumber(0) or smooth.derivative.isRandom:
    return pool.eulerRule(state)
  let reach = symbol("dt") * call("exprel", slope * symbol("dt"))
  let change =
    if pool.equations.isConstant(slope): pool.lift(reach * smooth.derivative)
    else: pool.lift(symbol("dt") * smooth.derivative) * pool.lift(call("exprel", slope * symbol("dt")))
  StepRule(variable: state.name, value: symbol(state.name) + change + pool.noise(state, slope), rule: "exponential Euler")
