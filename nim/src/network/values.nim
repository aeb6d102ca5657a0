## Reading values out of expressions: numbers, sizes, times, initial values, activations. What does not fit is reported.

import activations, ast, diagnostics, dimensions, limits, numbers, plan, references, suggestions, units

type
  Values* = object
    ## The arguments of a call by parameter name.
    given*: seq[Arg]

func asNumber*(node: Expr; value: var float): bool =
  ## Numbers without a unit.
  case node.kind
  of ekInt:
    value = float(node.intValue)
    result = true
  of ekFloat:
    value = node.floatValue
    result = true
  else:
    discard

proc readNumber*(node: Expr; what: string; report: var Report; value: var float): bool =
  ## A number that float32 can hold.
  if not node.asNumber(value):
    let hint =
      if node.kind in {ekUnary, ekBinary}: "expressions are not supported here in this version: write the number"
      elif node.kind == ekQuantity: what & " has no unit"
      else: ""
    report.error(node.span, what & " is " & describe(node), expected = "a number", hint = hint)
    return false
  if abs(value) > MaxFloat32 or value != value:
    report.error(node.span, what & " is outside the range of float32", expected = "a number between -3.4e38 and 3.4e38")
    return false
  true

proc readSize*(node: Expr; layer: string; report: var Report; size: var int): bool =
  if node.kind != ekInt:
    report.error(node.span, "the size of layer " & shown(layer) & " is " & describe(node),
                 expected = "a whole number from 1 to " & $MaxLayerSize)
    return false
  if node.intValue < 1 or node.intValue > MaxLayerSize:
    let amount = if node.intValue == 0: "zero" elif node.intValue < 0: "negative" else: "too large"
    report.error(node.span, "the size of layer " & shown(layer) & " is " & amount & ": " & $node.intValue,
                 expected = "a whole number from 1 to " & $MaxLayerSize)
    return false
  size = int(node.intValue)
  true

proc readTime*(node: Expr; what: string; report: var Report; seconds: var float): bool =
  ## `0.1.ms`, `0.1ms` or `0.1*ms`.
  const example = "a time with its unit, for example 0.1.ms"
  var number: Expr = node
  var unitName = ""
  if node.kind == ekQuantity:
    number = node.number
    unitName = node.unit
  elif node.kind == ekBinary and node.operator == "*" and node.right.kind == ekName:
    number = node.left
    unitName = node.right.text
  var value: float
  if not number.asNumber(value):
    report.error(node.span, what & " is " & describe(node), expected = example)
    return false
  if unitName.len == 0:
    report.error(node.span, what & " has no unit", expected = example)
    return false
  var unit: Unit
  if not findUnit(unitName, unit):
    report.error(node.span, "unknown unit " & shown(unitName), expected = example,
                 hint = didYouMean(unitName, ["s", "ms", "us", "ns"]))
    return false
  if not isSame(unit.dimension, TimeDimension):
    report.error(node.span, what & " is a " & $unit.dimension, expected = example)
    return false
  if not (value > 0) or value * unit.factor > MaxFloat32:
    report.error(node.span, what & " is " & floatText(value) & " " & unit.name, expected = "a time above zero")
    return false
  seconds = unit.toBase(value)
  true

proc matchArgs*(args: seq[Arg]; parameters: openArray[string]; later: openArray[string]; owner: string; at: Span;
                report: var Report): Values =
  ## Assigns positional and named arguments to parameters; result.given has one entry for each parameter, value nil where not given.
  for parameter in parameters:
    result.given.add Arg(name: parameter)
  var position = 0
  for arg in args:
    var slot = -1
    if arg.name.len == 0:
      if position >= parameters.len:
        report.error(arg.value.span, owner & " has too many arguments", expected =
          (if parameters.len == 0: "no arguments" else: "at most " & count(parameters.len, "argument") & ": " & list(parameters)))
        return
      slot = position
      inc position
    else:
      for idx, parameter in parameters:
        if parameter == arg.name:
          slot = idx
      if slot < 0:
        if arg.name in later:
          report.error(arg.nameSpan, shown(arg.name) & " of " & owner & " is not supported in this version",
                       hint = "docs/network_language.md lists what is")
        else:
          report.error(arg.nameSpan, owner & " has no option " & shown(arg.name),
                       expected = (if parameters.len == 0: "no options" else: oneOf(parameters)),
                       hint = nearestHint(arg.name, parameters))
        continue
    if result.given[slot].value != nil:
      report.error(arg.value.span, "'" & parameters[slot] & "' of " & owner & " is given twice", expected = "one value")
      continue
    result.given[slot].value = arg.value

func `[]`*(values: Values; name: string): Expr =
  for arg in values.given:
    if arg.name == name:
      return arg.value

proc splitCall*(node: Expr; what: string; report: var Report; name: var string; args: var seq[Arg]): bool =
  ## `name` or `name(args)`.
  if node.kind == ekName:
    name = node.text
    return true
  if node.kind == ekCall and node.callee.kind == ekName:
    name = node.callee.text
    args = node.args
    return true
  report.error(node.span, what & " is " & describe(node), expected = "a name, with its values in parentheses where it has any")

proc readActivation*(node: Expr; layer: string; report: var Report; activation: var ActivationPlan): bool =
  let owner = "the activation of layer " & shown(layer)
  var name: string
  var args: seq[Arg]
  if not splitCall(node, owner, report, name, args):
    return false
  var spec: ActivationSpec
  if not findActivation(name, spec):
    report.error(node.span, "unknown activation " & shown(name), expected = oneOf(activationNames()),
                 hint = nearestHint(name, activationNames()))
    return false
  let errorsBefore = report.errorCount
  let values = matchArgs(args, spec.parameters, [], "activation " & shown(name), node.span, report)
  activation = ActivationPlan(kind: name)
  for idx, parameter in spec.parameters:
    var value = spec.defaults[idx]
    let given = values[parameter]
    if given != nil and not readNumber(given, "'" & parameter & "' of " & shown(name), report, value):
      continue
    if idx == 0:
      activation.alpha = value
    else:
      activation.beta = value
    if spec.hasState and parameter == "decay" and (value < 0 or value > 1):
      report.error(given.span, "'decay' of " & shown(name) & " is what a step leaves of the potential", expected = "a number from 0 to 1")
    elif spec.hasState and parameter == "slope" and value <= 0:
      report.error(given.span, "'slope' of " & shown(name) & " is not above zero", expected = "a number above 0")
  report.errorCount == errorsBefore

proc readPair(values: Values; names: array[2, string]; owner: string; at: Span; report: var Report;
              pair: var array[2, float]): bool =
  result = true
  for idx, name in names:
    let node = values[name]
    if node == nil:
      report.error(at, owner & " needs '" & name & "'", expected = owner & " with " & names[0] & " and " & names[1])
      return false
    if not readNumber(node, "'" & name & "' of " & owner, report, pair[idx]):
      result = false

proc readConstant(args: seq[Arg]; at: Span; report: var Report; initializer: var Initializer): bool =
  let errorsBefore = report.errorCount
  let value = matchArgs(args, ["value"], [], "'constant'", at, report)["value"]
  if value == nil:
    if report.errorCount == errorsBefore:
      report.error(at, "'constant' needs a value", expected = "constant(0.1)")
    return false
  initializer = Initializer(kind: inConstant)
  readNumber(value, "the value of 'constant'", report, initializer.first)

proc readRandom(args: seq[Arg]; at: Span; report: var Report; initializer: var Initializer): bool =
  let errorsBefore = report.errorCount
  let values = matchArgs(args, ["low", "high"], [], "'random'", at, report)
  var pair: array[2, float]
  if report.errorCount > errorsBefore or not readPair(values, ["low", "high"], "'random'", at, report, pair):
    return false
  if pair[0] > pair[1]:
    report.error(at, "the range of 'random' is empty: " & floatText(pair[0]) & " to " & floatText(pair[1]),
                 expected = "the lower bound first", hint = "random(" & floatText(pair[1]) & ", " & floatText(pair[0]) & ")")
    return false
  initializer = Initializer(kind: inRandom, first: pair[0], second: pair[1])
  true

proc readNormal(args: seq[Arg]; at: Span; report: var Report; initializer: var Initializer): bool =
  let errorsBefore = report.errorCount
  let values = matchArgs(args, ["mean", "sd"], [], "'normal'", at, report)
  var pair: array[2, float]
  if report.errorCount > errorsBefore or not readPair(values, ["mean", "sd"], "'normal'", at, report, pair):
    return false
  if pair[1] < 0:
    report.error(values["sd"].span, "the standard deviation of 'normal' is negative: " & floatText(pair[1]),
                 expected = "zero or more")
    return false
  initializer = Initializer(kind: inNormal, first: pair[0], second: pair[1])
  true

proc readClipped(args: seq[Arg]; at: Span; report: var Report; initializer: var Initializer): bool =
  ## `clip(normal(mean, sd), low, high)`.
  let errorsBefore = report.errorCount
  let values = matchArgs(args, ["value", "low", "high"], [], "'clip'", at, report)
  let inner = values["value"]
  var pair: array[2, float]
  if report.errorCount > errorsBefore:
    return false
  if inner == nil or inner.kind != ekCall or inner.callee.kind != ekName or inner.callee.text != "normal":
    report.error(at, "'clip' needs a normal distribution", expected = "clip(normal(mean, sd), low, high)")
    return false
  if not readNormal(inner.args, inner.span, report, initializer) or not readPair(values, ["low", "high"], "'clip'", at, report, pair):
    return false
  if pair[0] > pair[1]:
    report.error(at, "the limits of 'clip' are exchanged", expected = "the lower one first")
    return false
  initializer.kind = inClippedNormal
  initializer.low = pair[0]
  initializer.high = pair[1]
  true

proc readGiven(node: Expr; report: var Report; initializer: var Initializer): bool =
  var reference: Reference
  result = node.isReference and readReference(node, report, reference)
  if result:
    initializer = Initializer(kind: if reference.kind == rfFile: inFile else: inArray, path: reference.name)
  elif not node.isReference:
    report.error(node.span, shown(node.text) & " needs a text in parentheses", expected = node.text & "(\"weights\")")

proc readInitializer*(node: Expr; what: string; accepted: openArray[string]; report: var Report;
                      initializer: var Initializer): bool =
  ## Initial values of weights or biases; a bare number is a constant.
  if node.kind in {ekInt, ekFloat}:
    initializer = Initializer(kind: inConstant)
    return readNumber(node, what, report, initializer.first)
  if node.kind notin {ekName, ekCall}:
    report.error(node.span, what & " is " & describe(node), expected = "a number or " & oneOf(accepted),
                 hint = (if node.kind in {ekUnary, ekBinary}: "expressions are not supported here in this version" else: ""))
    return false
  var name: string
  var args: seq[Arg]
  if not splitCall(node, what, report, name, args):
    return false
  if name notin accepted:
    report.error(node.span, what & " cannot start as " & shown(name), expected = "a number or " & oneOf(accepted),
                 hint = nearestHint(name, accepted))
    return false
  case name
  of "constant": readConstant(args, node.span, report, initializer)
  of "random": readRandom(args, node.span, report, initializer)
  of "normal": readNormal(args, node.span, report, initializer)
  of "clip": readClipped(args, node.span, report, initializer)
  of "file", "array": readGiven(node, report, initializer)
  else:
    let errorsBefore = report.errorCount
    discard matchArgs(args, [], [], shown(name), node.span, report)
    initializer = Initializer(kind: if name == "he": inHe else: inXavier)
    report.errorCount == errorsBefore
