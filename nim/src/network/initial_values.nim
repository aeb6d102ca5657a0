## Initial values of variables, parameters, weights and delays: numbers with units, distributions, files, expressions of the index.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, formula, initializer, json_text, numbers, references, scope

type
  Index* = tuple[name: string; dimension: Dimension]
    ## What an expression may use beside the names of its scope.

  InitialValue* = object
    ## `formula` is nil for what the plan can say itself; otherwise it uses `i` (and `j`, `size`) and is computed by a kernel.
    initializer*: Initializer
    formula*: Formula

func constantValue*(value: float): Initializer =
  Initializer(kind: inConstant, first: value)

func isNumber(formula: Formula; value: var float): bool =
  formula.evaluate(initTable[string, float](), value)

proc fitting(scope: var Scope; typed: Typed; wanted: OpenDimension; at: Span; what: string; report: var Report): bool =
  result = scope.solver.unify(typed.dimension, wanted)
  if not result:
    report.error(at, what & " is a " & scope.solver.text(typed.dimension) & " where a " & scope.solver.text(wanted) & " is needed",
                 hint = scope.dimensionHint)

func distribution(formula: Formula; initializer: var Initializer): bool =
  ## `random(low, high)`, `normal(mean, sd)`, `clip(normal(mean, sd), low, high)` of numbers.
  if formula.kind != fkCall or formula.args.len < 2:
    return false
  case formula.function
  of "random":
    initializer = Initializer(kind: inRandom)
    result = formula.args[0].isNumber(initializer.first) and formula.args[1].isNumber(initializer.second)
  of "normal":
    initializer = Initializer(kind: inNormal)
    result = formula.args[0].isNumber(initializer.first) and formula.args[1].isNumber(initializer.second)
  of "clip":
    if formula.args[0].distribution(initializer) and initializer.kind == inNormal:
      initializer.kind = inClippedNormal
      result = formula.args[1].isNumber(initializer.low) and formula.args[2].isNumber(initializer.high)
  else:
    discard

proc checkDistribution(node: Expr; what: string; value: Initializer; report: var Report): bool =
  result = true
  if value.kind == inRandom and value.first > value.second:
    report.error(node.span, "the range of " & what & " is empty", expected = "the lower bound first")
    result = false
  elif value.kind in {inNormal, inClippedNormal} and value.second < 0:
    report.error(node.span, "the standard deviation of " & what & " is negative", expected = "zero or more")
    result = false
  elif value.kind == inClippedNormal and value.low > value.high:
    report.error(node.span, "the limits of " & what & " are exchanged", expected = "the lower one first")
    result = false
  for number in [value.first, value.second, value.low, value.high]:
    if number != number or abs(number) > 3.4028234663852886e38:
      report.error(node.span, what & " is outside the range of float32")
      return false

func ofPair(indices: openArray[Index]): bool =
  ## Whether the value is one of a synapse, which has two neurons.
  for index in indices:
    if index.name == "j":
      return true

proc readInitialValue*(scope: var Scope; node: Expr; wanted: OpenDimension; what: string; indices: openArray[Index];
                       report: var Report; value: var InitialValue): bool =
  ## `indices` are the names of positions that an expression may use; none where only the plan's own forms will do.
  if node.kind in {ekCall, ekName}:
    let name = if node.kind == ekName: node.text elif node.callee.kind == ekName: node.callee.text else: ""
    if name in ["xavier", "he"] and name notin scope.symbols:
      if not indices.ofPair:
        report.error(node.span, what & " cannot start as " & shown(name), expected = "a value of a neuron",
                     hint = "xavier and he are for weights, which have inputs and outputs")
        return false
      value.initializer = Initializer(kind: if name == "he": inHe else: inXavier)
      return true
    if node.isReference:
      var reference: Reference
      if not readReference(node, report, reference):
        return false
      value.initializer = Initializer(kind: if reference.kind == rfFile: inFile else: inArray, path: reference.name)
      return true
    if name == "constant" and node.kind == ekCall:
      if node.args.len != 1 or node.args[0].name notin ["", "value"]:
        report.error(node.span, "'constant' needs a value", expected = "constant(0.1)")
        return false
      return scope.readInitialValue(node.args[0].value, wanted, what, indices, report, value)
  # Indices are names of this expression only.
  var inner = scope
  inner.allowsRandom = true
  for index in indices:
    inner.symbols[index.name] = Symbol(name: index.name, kind: syConstant, dimension: open(index.dimension))
  let typed = inner.check(node, report)
  scope.solver = inner.solver
  if typed.formula == nil:
    return false
  if typed.isCondition:
    report.error(node.span, what & " is a condition", expected = "a value")
    return false
  if not scope.fitting(typed, wanted, node.span, what, report):
    return false
  var number: float
  if typed.formula.distribution(value.initializer):
    return checkDistribution(node, what, value.initializer, report)
  if typed.formula.isNumber(number):
    value.initializer = constantValue(number)
    return checkDistribution(node, what, value.initializer, report)
  if indices.len == 0:
    report.error(node.span, what & " is " & describe(node), expected = "a number with its unit, random, normal, clip(normal(…), low, high), file or array")
    return false
  value.formula = typed.formula
  value.initializer = constantValue(0)
  true

func program(formula: Formula; names: openArray[Index]; code: var seq[string]): bool =
  ## An expression of two neurons as a program for a stack (docs/plan_schema.md); false where something else is in it.
  result = true
  case formula.kind
  of fkNumber:
    code.add floatText(formula.value)
  of fkSymbol:
    result = false
    for name in names:
      result = result or name.name == formula.name
    code.add quoted(formula.name)
  of fkNegate, fkNot:
    result = formula.inner.program(names, code)
    code.add quoted(if formula.kind == fkNegate: "negate" else: "not")
  of fkBinary:
    result = formula.left.program(names, code) and formula.right.program(names, code)
    code.add quoted(formula.operator)
  of fkCall:
    result = formula.function != "poisson"
    for arg in formula.args:
      result = result and arg.program(names, code)
    if formula.function in RandomFunctions and formula.args.len == 0:
      # The standard ones.
      code.add floatText(0)
      code.add floatText(1)
    code.add quoted(formula.function)

proc readPairValue*(scope: var Scope; node: Expr; wanted: OpenDimension; what: string; names: openArray[Index]; report: var Report;
                    value: var InitialValue): bool =
  ## What each synapse has its own of: also an expression of `names`, such as the positions `i` of its source and `j` of its target.
  result = scope.readInitialValue(node, wanted, what, names, report, value)
  if result and value.formula != nil:
    var code: seq[string]
    if value.formula.program(names, code):
      value = InitialValue(initializer: Initializer(kind: inExpression, code: code))
    else:
      var known = ""
      for name in names:
        known.add (if known.len > 0: ", " else: "") & name.name
      report.error(node.span, what & " is an expression of more than the positions of the two neurons",
                   expected = "numbers, random numbers and " & known)
      result = false

func timesKernel*(value: Initializer; product: var Initializer): bool =
  ## The value times the kernel's entry, unless it names the kernel itself; false for values that are no expression.
  var code: seq[string]
  case value.kind
  of inConstant: code = @[floatText(value.first)]
  of inRandom: code = @[floatText(value.first), floatText(value.second), quoted("random")]
  of inNormal: code = @[floatText(value.first), floatText(value.second), quoted("normal")]
  of inClippedNormal:
    code = @[floatText(value.first), floatText(value.second), quoted("normal"), floatText(value.low), floatText(value.high), quoted("clip")]
  of inExpression:
    if quoted("kernel") in value.code:
      product = value
      return true
    code = value.code
  else:
    return false
  product = Initializer(kind: inExpression, code: code & @[quoted("kernel"), quoted("*")])
  true

proc readConstant*(scope: var Scope; node: Expr; wanted: OpenDimension; what: string; report: var Report; value: var float): bool =
  ## One number with its unit.
  let formula = scope.checkAs(node, wanted, what, report)
  if formula == nil:
    return false
  if not formula.isNumber(value) or value != value or abs(value) > 3.4028234663852886e38:
    report.error(node.span, what & " is " & describe(node), expected = "a number with its unit")
    return false
  true
