## Checked expressions: names are resolved, units are gone (every number is in SI), dimensions fit. What the equation analysis rewrites
## and the generator prints.

import std/[math, strutils, tables]
import diagnostics, numbers

type
  FormulaKind* = enum
    fkNumber, fkSymbol, fkNegate, fkNot, fkBinary, fkCall

  Formula* = ref object
    span*: Span
    case kind*: FormulaKind
    of fkNumber:
      value*: float
    of fkSymbol:
      name*: string
    of fkNegate, fkNot:
      inner*: Formula
    of fkBinary:
      operator*: string
      left*, right*: Formula
    of fkCall:
      function*: string
      args*: seq[Formula]

  Bindings* = Table[string, float]

const
  RandomFunctions* = ["random", "normal", "poisson"]
  Comparisons* = ["<", ">", "<=", ">=", "==", "!="]

func number*(value: float; at = Span()): Formula =
  Formula(kind: fkNumber, value: value, span: at)

func symbol*(name: string; at = Span()): Formula =
  Formula(kind: fkSymbol, name: name, span: at)

func isNumber*(formula: Formula; value: float): bool =
  formula.kind == fkNumber and formula.value == value

func negative*(inner: Formula): Formula =
  case inner.kind
  of fkNumber: number(-inner.value, inner.span)
  of fkNegate: inner.inner
  else: Formula(kind: fkNegate, inner: inner, span: inner.span)

func `not`*(inner: Formula): Formula =
  Formula(kind: fkNot, inner: inner, span: inner.span)

func newBinary(operator: string; left, right: Formula): Formula =
  Formula(kind: fkBinary, operator: operator, left: left, right: right, span: left.span)

func `+`*(a, b: Formula): Formula =
  if a.kind == fkNumber and b.kind == fkNumber: number(a.value + b.value, a.span)
  elif a.isNumber(0): b
  elif b.isNumber(0): a
  elif b.kind == fkNegate: newBinary("-", a, b.inner)
  elif b.kind == fkNumber and b.value < 0: newBinary("-", a, number(-b.value, b.span))
  else: newBinary("+", a, b)

func `-`*(a, b: Formula): Formula =
  if a.kind == fkNumber and b.kind == fkNumber: number(a.value - b.value, a.span)
  elif a.isNumber(0): negative(b)
  elif b.isNumber(0): a
  elif b.kind == fkNegate: newBinary("+", a, b.inner)
  else: newBinary("-", a, b)

func `*`*(a, b: Formula): Formula =
  if a.kind == fkNumber and b.kind == fkNumber: number(a.value * b.value, a.span)
  elif a.isNumber(0): a
  elif b.isNumber(0): b
  elif a.isNumber(1): b
  elif b.isNumber(1): a
  elif a.isNumber(-1): negative(b)
  elif b.isNumber(-1): negative(a)
  elif a.kind == fkNegate: negative(a.inner * b)
  elif b.kind == fkNegate: negative(a * b.inner)
  else: newBinary("*", a, b)

func `/`*(a, b: Formula): Formula =
  if a.kind == fkNumber and b.kind == fkNumber and b.value != 0: number(a.value / b.value, a.span)
  elif a.isNumber(0): a
  elif b.isNumber(1): a
  elif a.kind == fkNegate: negative(a.inner / b)
  else: newBinary("/", a, b)

func `^`*(a, b: Formula): Formula =
  if b.isNumber(1): a
  else: newBinary("^", a, b)

func binary*(operator: string; a, b: Formula): Formula =
  case operator
  of "+": a + b
  of "-": a - b
  of "*": a * b
  of "/": a / b
  of "^": a ^ b
  else: newBinary(operator, a, b)

func call*(function: string; args: varargs[Formula]): Formula =
  Formula(kind: fkCall, function: function, args: @args, span: if args.len > 0: args[0].span else: Span())

iterator children*(formula: Formula): Formula =
  case formula.kind
  of fkNegate, fkNot:
    yield formula.inner
  of fkBinary:
    yield formula.left
    yield formula.right
  of fkCall:
    for arg in formula.args:
      yield arg
  else:
    discard

func collectNames(formula: Formula; names: var seq[string]) =
  if formula.kind == fkSymbol:
    if formula.name notin names:
      names.add formula.name
  for child in formula.children:
    collectNames(child, names)

func names*(formula: Formula): seq[string] =
  ## Every symbol in it, in the order of first use.
  collectNames(formula, result)

func uses*(formula: Formula; name: string): bool =
  if formula.kind == fkSymbol:
    return formula.name == name
  for child in formula.children:
    if child.uses(name):
      return true

func nodeCount*(formula: Formula; written: Table[string, int]): int =
  ## Parts of it, with the parts of definitions that `written` knows in their place; stops counting at a million.
  result = if formula.kind == fkSymbol: written.getOrDefault(formula.name, 1) else: 1
  for child in formula.children:
    result = min(1_000_000, result + child.nodeCount(written))

func isRandom*(formula: Formula): bool =
  ## Gives another number at each evaluation.
  if formula.kind == fkCall and formula.function in RandomFunctions:
    return true
  if formula.kind == fkSymbol and formula.name == "xi":
    return true
  for child in formula.children:
    if child.isRandom:
      return true

func replace*(formula: Formula; replacements: Table[string, Formula]): Formula =
  ## With symbols put in place of; constants fold on the way.
  case formula.kind
  of fkNumber:
    formula
  of fkSymbol:
    replacements.getOrDefault(formula.name, formula)
  of fkNegate:
    negative(formula.inner.replace(replacements))
  of fkNot:
    not formula.inner.replace(replacements)
  of fkBinary:
    binary(formula.operator, formula.left.replace(replacements), formula.right.replace(replacements))
  of fkCall:
    var args: seq[Formula]
    for arg in formula.args:
      args.add arg.replace(replacements)
    Formula(kind: fkCall, function: formula.function, args: args, span: formula.span)

func evaluate*(formula: Formula; bindings: Bindings; value: var float): bool =
  ## The number that a formula over known names has; false where it has none.
  var args: seq[float]
  for child in formula.children:
    var inner: float
    if not child.evaluate(bindings, inner):
      return false
    args.add inner
  result = true
  case formula.kind
  of fkNumber:
    value = formula.value
  of fkSymbol:
    result = formula.name in bindings
    if result:
      value = bindings[formula.name]
  of fkNegate:
    value = -args[0]
  of fkNot:
    value = float(args[0] == 0)
  of fkBinary:
    value = case formula.operator
      of "+": args[0] + args[1]
      of "-": args[0] - args[1]
      of "*": args[0] * args[1]
      of "/": args[0] / args[1]
      of "^": pow(args[0], args[1])
      of "<": float(args[0] < args[1])
      of ">": float(args[0] > args[1])
      of "<=": float(args[0] <= args[1])
      of ">=": float(args[0] >= args[1])
      of "==": float(args[0] == args[1])
      of "!=": float(args[0] != args[1])
      of "and": float(args[0] != 0 and args[1] != 0)
      else: float(args[0] != 0 or args[1] != 0)
  of fkCall:
    case formula.function
    of "exp": value = exp(args[0])
    of "log": value = ln(args[0])
    of "log10": value = log10(args[0])
    of "sqrt": value = sqrt(args[0])
    of "sin": value = sin(args[0])
    of "cos": value = cos(args[0])
    of "tan": value = tan(args[0])
    of "sinh": value = sinh(args[0])
    of "cosh": value = cosh(args[0])
    of "tanh": value = tanh(args[0])
    of "floor": value = floor(args[0])
    of "ceil": value = ceil(args[0])
    of "abs": value = abs(args[0])
    of "sign": value = float(args[0] > 0) - float(args[0] < 0)
    of "min": value = min(args[0], args[1])
    of "max": value = max(args[0], args[1])
    of "clip": value = max(args[1], min(args[0], args[2]))
    of "where": value = if args[0] != 0: args[1] else: args[2]
    of "int": value = args[0]
    of "exprel":
      value = if abs(args[0]) < 1e-5: 1 + args[0] / 2 + args[0] * args[0] / 6 else: (exp(args[0]) - 1) / args[0]
    else: result = false

func precedence(formula: Formula): int =
  case formula.kind
  of fkNegate, fkNot: 6
  of fkBinary:
    case formula.operator
    of "or": 1
    of "and": 2
    of "+", "-": 4
    of "*", "/": 5
    of "^": 7
    else: 3
  else: 9

func text*(formula: Formula): string =
  ## As a person would write it, for comments and messages.
  func inside(child: Formula; least: int): string =
    if child.precedence < least: "(" & child.text & ")" else: child.text
  case formula.kind
  of fkNumber:
    result = floatText(formula.value)
    if result.endsWith(".0"):
      result.setLen result.len - 2
  of fkSymbol: result = formula.name
  of fkNegate: result = "-" & inside(formula.inner, 6)
  of fkNot: result = "not " & inside(formula.inner, 6)
  of fkBinary:
    let own = formula.precedence
    let tight = formula.operator == "^"
    let blank = if tight: "" else: " "
    result = inside(formula.left, if tight: own + 1 else: own) & blank & formula.operator & blank & inside(formula.right, own + 1)
  of fkCall:
    var args: seq[string]
    for arg in formula.args:
      args.add arg.text
    result = formula.function & "(" & args.join(", ") & ")"
