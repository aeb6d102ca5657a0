## Parts of equations that are one number for each population, computed here in float64 and handed to the kernels as parameters of the
## group: kernels hold no values of the user's, so changing one compiles nothing anew.

import std/[sets, tables]
import equation_analysis, formula, initializer

type
  GroupPopulation* = object
    name*: string
    first*, size*: int
    parameters*: Table[string, Initializer]  ## given for this population
    initial*: Table[string, Initializer]     ## of variables

  Constant* = object
    name*: string
    values*: seq[float]    ## for each population
    meaning*: string       ## "" for a parameter of the user

  ConstantPool* = object
    equations*: Equations
    populations*: seq[Bindings]  ## values of the parameters of each
    constants*: seq[Constant]
    known: Table[string, int]    ## text of a formula to its position
    names: HashSet[string]
    notFinite*: string           ## the first one without a finite value

func initConstantPool*(equations: Equations; populations: seq[Bindings]): ConstantPool =
  result.equations = equations
  result.populations = populations
  for name in equations.model.scope.symbols.keys:
    result.names.incl name
  # Definitions over parameters are numbers too.
  for alias in equations.model.aliases:
    for bindings in result.populations.mitems:
      var value: float
      if alias.name in equations.constantNames and alias.value.evaluate(bindings, value):
        bindings[alias.name] = value

func isFinite(value: float): bool =
  value == value and abs(value) <= 3.4e38

proc addConstant*(pool: var ConstantPool; wanted, meaning: string; values: seq[float]): Formula =
  ## A symbol for numbers that were computed elsewhere; the same one for the same numbers with the same meaning.
  for constant in pool.constants:
    if constant.meaning == meaning and constant.values == values:
      return symbol(constant.name)
  var name = wanted
  var suffix = 2
  while name in pool.names:
    name = wanted & "_" & $suffix
    inc suffix
  pool.names.incl name
  for value in values:
    if not value.isFinite and pool.notFinite.len == 0:
      pool.notFinite = meaning
  pool.constants.add Constant(name: name, values: values, meaning: meaning)
  symbol(name)

proc constant*(pool: var ConstantPool; formula: Formula; wanted = ""): Formula =
  ## A symbol for a constant formula, or its number when it uses no parameter.
  if formula.kind == fkNumber:
    return formula
  let key = formula.text
  if key in pool.known:
    return symbol(pool.constants[pool.known[key]].name)
  var values: seq[float]
  for bindings in pool.populations:
    var value: float
    discard formula.evaluate(bindings, value)
    values.add value
  if formula.names.len == 0:
    return number(values[0], formula.span)
  pool.known[key] = pool.constants.len
  if formula.kind == fkSymbol and formula.name != "dt":
    for value in values:
      if not value.isFinite and pool.notFinite.len == 0:
        pool.notFinite = formula.name
    pool.constants.add Constant(name: formula.name, values: values)
    return formula
  pool.addConstant(if wanted.len > 0: wanted elif formula.kind == fkSymbol: "dt_seconds" else: "k" & $(pool.constants.len + 1), key, values)

proc lift*(pool: var ConstantPool; formula: Formula): Formula

proc flatten(formula: Formula; isInverse: bool; above, below: var seq[Formula]; isNegative: var bool) =
  ## The factors of a product.
  if formula.kind == fkBinary and formula.operator in ["*", "/"]:
    flatten(formula.left, isInverse, above, below, isNegative)
    flatten(formula.right, isInverse xor formula.operator == "/", above, below, isNegative)
  elif formula.kind == fkNegate:
    isNegative = not isNegative
    flatten(formula.inner, isInverse, above, below, isNegative)
  elif isInverse:
    below.add formula
  else:
    above.add formula

proc liftProduct(pool: var ConstantPool; formula: Formula): Formula =
  ## One constant for all constant factors, divisors included.
  var above, below: seq[Formula]
  var isNegative = false
  flatten(formula, false, above, below, isNegative)
  var factor = number(1)
  var numerator, denominator: Formula
  for part in above:
    if pool.equations.isConstant(part): factor = factor * part
    elif numerator == nil: numerator = pool.lift(part)
    else: numerator = numerator * pool.lift(part)
  for part in below:
    if pool.equations.isConstant(part): factor = factor / part
    elif denominator == nil: denominator = pool.lift(part)
    else: denominator = denominator * pool.lift(part)
  if isNegative and factor.kind == fkNumber:
    factor = negative(factor)
    isNegative = false
  result = pool.constant(factor)
  if numerator != nil:
    result = result * numerator
  if denominator != nil:
    result = result / denominator
  if isNegative:
    result = negative(result)

proc lift*(pool: var ConstantPool; formula: Formula): Formula =
  ## With its constant parts replaced by symbols of the pool.
  if pool.equations.isConstant(formula):
    return pool.constant(formula)
  case formula.kind
  of fkNumber, fkSymbol:
    result = formula
  of fkNegate:
    result = negative(pool.lift(formula.inner))
  of fkNot:
    result = not pool.lift(formula.inner)
  of fkBinary:
    if formula.operator in ["*", "/"]:
      result = pool.liftProduct(formula)
    else:
      result = binary(formula.operator, pool.lift(formula.left),
                      if formula.operator == "^" and formula.right.kind == fkNumber: formula.right else: pool.lift(formula.right))
  of fkCall:
    var args: seq[Formula]
    for arg in formula.args:
      args.add pool.lift(arg)
    result = Formula(kind: fkCall, function: formula.function, args: args, span: formula.span)

func isUniform*(constant: Constant): bool =
  for value in constant.values:
    if value != constant.values[0]:
      return false
  true
