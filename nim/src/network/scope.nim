## Names and what they mean in an equation, and the one routine that turns an expression of the text into a checked formula.

import std/tables
import ast, diagnostics, dimension_solver, dimensions, formula, functions, suggestions, units

type
  SymbolKind* = enum
    syParameter, syState, syAlias, syInput, syConstant

  Symbol* = object
    name*: string
    kind*: SymbolKind
    dimension*: OpenDimension
    span*: Span

  Scope* = object
    symbols*: OrderedTable[string, Symbol]
    solver*: DimensionSolver
    excused*: seq[string]  ## names whose declaration was wrong: their uses are let pass
    allowsRandom*: bool
    hidden*: seq[Symbol]   ## names that stand where a unit could and hide that unit; the span is that of the use
    owner*: string         ## "neuron 'cell'", for messages

  Typed* = object
    ## `formula` is nil where something was wrong, which has been reported.
    formula*: Formula
    dimension*: OpenDimension
    isCondition*: bool

proc declare*(scope: var Scope; name: string; kind: SymbolKind; at: Span; dimension: OpenDimension): bool =
  if name in scope.symbols:
    return false
  scope.symbols[name] = Symbol(name: name, kind: kind, dimension: dimension, span: at)
  true

func visibleNames*(scope: Scope): seq[string] =
  for name in scope.symbols.keys:
    result.add name

func isGood(typed: Typed): bool =
  typed.formula != nil

proc check*(scope: var Scope; node: Expr; report: var Report): Typed

func dimensionHint*(scope: Scope; otherwise = ""): string =
  ## What to say of two dimensions that do not fit: mostly a name that was meant as a unit, if there is one.
  if scope.hidden.len == 0:
    return otherwise
  let symbol = scope.hidden[0]
  let place = if symbol.span.line > 0: " on line " & $symbol.span.line else: ""
  shown(symbol.name) & place & " is the " & (if symbol.kind == syParameter: "parameter" else: "name") & " of " & scope.owner &
    ", which hides the unit: give it another name, for example " & shown(symbol.name & "_0")

func hasUnit(scope: Scope; node: Expr): bool =
  ## Whether a unit stands in a product.
  case node.kind
  of ekQuantity: true
  of ekName:
    var unit: Unit
    node.text notin scope.symbols and findUnit(node.text, unit)
  of ekBinary: node.operator in ["*", "/", "^"] and (scope.hasUnit(node.left) or scope.hasUnit(node.right))
  else: false

func noteHidden(scope: var Scope; node: Expr) =
  ## In `0.3*mS/cm^2` with a parameter `cm`: probably the unit is meant.
  let right = if node.right.kind == ekBinary and node.right.operator == "^": node.right.left else: node.right
  var unit: Unit
  if right.kind == ekName and right.text in scope.symbols and findUnit(right.text, unit) and scope.hasUnit(node.left):
    var symbol = scope.symbols[right.text]
    symbol.span = right.span
    scope.hidden.add symbol

proc sameDimension(scope: var Scope; a, b: Typed; at: Span; what: string; report: var Report): bool =
  result = scope.solver.unify(a.dimension, b.dimension)
  if not result:
    report.error(at, what & " have different dimensions: " & scope.solver.text(a.dimension) & " and " &
                 scope.solver.text(b.dimension), hint = scope.dimensionHint("both must be measured in the same kind of unit"))

proc plainNumber(scope: var Scope; a: Typed; at: Span; what: string; report: var Report): bool =
  result = scope.solver.unify(a.dimension, open(Dimensionless))
  if not result:
    report.error(at, what & " is a " & scope.solver.text(a.dimension), expected = "a dimensionless number",
                 hint = scope.dimensionHint("divide it by a quantity of its dimension"))

proc checkValue(scope: var Scope; node: Expr; report: var Report): Typed =
  ## Not a condition.
  result = scope.check(node, report)
  if result.isGood and result.isCondition:
    report.error(node.span, "a condition where a value is needed", hint = "int(condition) is 1 or 0; where(condition, a, b) chooses")
    result = Typed()

proc checkCondition*(scope: var Scope; node: Expr; report: var Report): Typed =
  result = scope.check(node, report)
  if result.isGood and not result.isCondition:
    report.error(node.span, describe(node) & " where a condition is needed", expected = "a comparison, for example v > vt")
    result = Typed()

proc checkName(scope: var Scope; node: Expr; report: var Report): Typed =
  let name = node.text
  if name in scope.symbols:
    return Typed(formula: symbol(name, node.span), dimension: scope.symbols[name].dimension)
  var unit: Unit
  if findUnit(name, unit):
    return Typed(formula: number(unit.toBase(1), node.span), dimension: open(unit.dimension))
  if name == "pi":
    return Typed(formula: number(3.141592653589793, node.span))
  if name notin scope.excused:
    let hint = if report.isFull: "" else: didYouMean(name, scope.visibleNames)
    report.error(node.span, shown(name) & " is not known" & (if scope.owner.len > 0: " in " & scope.owner else: ""), hint = hint)

proc checkQuantity(scope: var Scope; node: Expr; report: var Report): Typed =
  var unit: Unit
  if not findUnit(node.unit, unit):
    report.error(node.span, "unknown unit " & shown(node.unit), expected = "one of " & list(unitNames(), 40),
                 hint = nearestHint(node.unit, unitNames()))
    return
  let inner = scope.checkValue(node.number, report)
  if inner.isGood:
    result = Typed(formula: number(unit.toBase(inner.formula.value), node.span), dimension: open(unit.dimension))

proc checkPower(scope: var Scope; node: Expr; base, exponent: Typed; report: var Report): Typed =
  if node.left.kind == ekQuantity:
    report.error(node.left.span, "a power of a number with a unit: is the unit meant, or both?",
                 hint = "for the unit write 20000*" & node.left.unit & "^2")
    return
  if not scope.plainNumber(exponent, node.right.span, "the exponent", report):
    return
  if exponent.formula.kind == fkNumber:
    return Typed(formula: base.formula ^ exponent.formula, dimension: base.dimension.power(exponent.formula.value))
  if scope.plainNumber(base, node.left.span, "the base of a power whose exponent is no number", report):
    result = Typed(formula: base.formula ^ exponent.formula)

proc asUnit(scope: Scope; node: Expr; unit: var Unit): bool =
  node.kind == ekName and node.text notin scope.symbols and findUnit(node.text, unit)

proc checkBinary(scope: var Scope; node: Expr; report: var Report): Typed =
  let operator = node.operator
  if operator in ["and", "or"]:
    let left = scope.checkCondition(node.left, report)
    let right = scope.checkCondition(node.right, report)
    if left.isGood and right.isGood:
      result = Typed(formula: binary(operator, left.formula, right.formula), isCondition: true)
    return
  if operator notin ["+", "-", "*", "/", "^"] and operator notin Comparisons:
    report.error(node.span, shown(operator) & " in an expression", expected = "one of + - * / ^, a comparison, and, or")
    return
  var unit: Unit
  if operator in ["*", "/"] and node.left.kind in {ekInt, ekFloat} and scope.asUnit(node.right, unit):
    # `20*ms` is the very number that `20.ms` is.
    let value = if node.left.kind == ekInt: float(node.left.intValue) else: node.left.floatValue
    if operator == "*":
      return Typed(formula: number(unit.toBase(value), node.span), dimension: open(unit.dimension))
    let inverse = Unit(dimension: unit.dimension.power(-1), factor: if unit.factor < 1: float(int64(1 / unit.factor + 0.5)) else: 1 / unit.factor)
    return Typed(formula: number(value * inverse.factor, node.span), dimension: open(inverse.dimension))
  if operator in ["*", "/"]:
    scope.noteHidden(node)
  let left = scope.checkValue(node.left, report)
  let right = scope.checkValue(node.right, report)
  if not (left.isGood and right.isGood):
    return
  case operator
  of "*":
    result = Typed(formula: left.formula * right.formula, dimension: left.dimension * right.dimension)
  of "/":
    if right.formula.isNumber(0):
      report.error(node.right.span, "a division by zero")
      return
    result = Typed(formula: left.formula / right.formula, dimension: left.dimension / right.dimension)
  of "^":
    result = scope.checkPower(node, left, right, report)
  else:
    if scope.sameDimension(left, right, node.span, "the two sides of " & shown(operator), report):
      result = Typed(formula: binary(operator, left.formula, right.formula), dimension: left.dimension,
                     isCondition: operator in Comparisons)

proc checkCall(scope: var Scope; node: Expr; report: var Report): Typed =
  var spec: FunctionSpec
  if node.callee.kind != ekName:
    report.error(node.span, "a call of " & describe(node.callee), expected = "the name of a function")
    return
  let name = node.callee.text
  if not findFunction(name, spec):
    report.error(node.span, "unknown function " & shown(name), expected = "one of " & list(functionNames(), 40),
                 hint = nearestHint(name, functionNames()))
    return
  if name in RandomFunctions and not scope.allowsRandom:
    report.error(node.span, shown(name) & " here", expected = "a value that is the same at every evaluation")
    return
  if node.args.len < spec.least or node.args.len > spec.most or (spec.least == 0 and node.args.len == 1):
    report.error(node.span, shown(name) & " has " & count(node.args.len, "argument"),
                 expected = if spec.least == 0: "none or " & $spec.most else: $spec.least)
    return
  var args: seq[Typed]
  for idx, arg in node.args:
    let isCondition = spec.rule == drCondition or (spec.rule == drWhere and idx == 0)
    args.add(if isCondition: scope.checkCondition(arg.value, report) else: scope.checkValue(arg.value, report))
    if arg.name.len > 0:
      report.error(arg.nameSpan, "a named argument of " & shown(name), expected = "values only")
  var formulas: seq[Formula]
  for arg in args:
    if not arg.isGood:
      return
    formulas.add arg.formula
  let start = if spec.rule == drWhere: 1 else: 0
  case spec.rule
  of drPlain:
    for idx, arg in args:
      if not scope.plainNumber(arg, node.args[idx].value.span, "the argument of " & shown(name), report):
        return
  of drSame, drWhere:
    for idx in start + 1 ..< args.len:
      if not scope.sameDimension(args[start], args[idx], node.span, "the arguments of " & shown(name), report):
        return
    if args.len > start:
      result.dimension = args[start].dimension
  of drRoot:
    result.dimension = args[0].dimension.power(0.5)
  of drSign, drCondition:
    discard
  result.formula = call(name, formulas)
  result.formula.span = node.span

proc check*(scope: var Scope; node: Expr; report: var Report): Typed =
  case node.kind
  of ekInt:
    result = Typed(formula: number(float(node.intValue), node.span))
  of ekFloat:
    result = Typed(formula: number(node.floatValue, node.span))
  of ekName:
    result = scope.checkName(node, report)
  of ekQuantity:
    result = scope.checkQuantity(node, report)
  of ekUnary:
    if node.operator == "not":
      let inner = scope.checkCondition(node.left, report)
      if inner.isGood:
        result = Typed(formula: not inner.formula, isCondition: true)
    elif node.operator == "-":
      let inner = scope.checkValue(node.left, report)
      if inner.isGood:
        result = Typed(formula: negative(inner.formula), dimension: inner.dimension)
    else:
      report.error(node.span, "unknown operator " & shown(node.operator))
  of ekBinary:
    result = scope.checkBinary(node, report)
  of ekCall:
    result = scope.checkCall(node, report)
  of ekString, ekIndex, ekMember, ekList:
    report.error(node.span, describe(node) & " in an expression", expected = "names, numbers with units, operators and functions")
  if result.formula != nil and result.formula.isNumber(0) and node.kind in {ekInt, ekFloat}:
    # Zero is zero of every dimension.
    result.dimension = scope.solver.fresh

proc checkAs*(scope: var Scope; node: Expr; wanted: OpenDimension; what: string; report: var Report): Formula =
  ## A value of a given dimension; nil where something was wrong.
  let typed = scope.checkValue(node, report)
  if typed.isGood:
    if scope.solver.unify(typed.dimension, wanted):
      return typed.formula
    report.error(node.span, what & " is a " & scope.solver.text(typed.dimension) & " where a " & scope.solver.text(wanted) &
                 " is needed", hint = scope.dimensionHint)
