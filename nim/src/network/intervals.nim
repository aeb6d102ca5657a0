## Ranges of formulas: between which two numbers the value lies, whatever the values of the names within their own ranges.

import std/[math, tables]
import formula

type
  Interval* = object
    ## Both ends belong to it; an end may be infinite.
    low*, high*: float

  Ranges* = Table[string, Interval]

const
  Everything* = Interval(low: -Inf, high: Inf)

func interval*(low, high: float): Interval =
  Interval(low: low, high: high)

func point*(value: float): Interval =
  if value == value: interval(value, value) else: Everything

func hull*(a, b: Interval): Interval =
  ## The smallest range with both in it.
  interval(min(a.low, b.low), max(a.high, b.high))

func largest*(a: Interval): float =
  ## The largest absolute value in it.
  max(abs(a.low), abs(a.high))

func isFinite*(a: Interval): bool =
  a.largest < Inf

func contains*(a, b: Interval): bool =
  ## Whether all of `b` is in `a`.
  a.low <= b.low and b.high <= a.high

func times(a, b: float): float =
  # 0 times infinity: the end of a range that is 0 stays 0.
  if a == 0 or b == 0: 0.0 else: a * b

func around(values: varargs[float]): Interval =
  result = interval(Inf, -Inf)
  for value in values:
    if value != value:
      return Everything
    result.low = min(result.low, value)
    result.high = max(result.high, value)

func product(a, b: Interval): Interval =
  around(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high))

func quotient(a, b: Interval): Interval =
  if b.low <= 0 and b.high >= 0: Everything
  else: product(a, interval(1 / b.high, 1 / b.low))

func power(a: Interval; exponent: float): Interval =
  ## For an exponent that is one number.
  let isWhole = floor(exponent) == exponent
  if exponent < 0 and a.low <= 0 and a.high >= 0:
    Everything
  elif not isWhole and a.low < 0:
    Everything
  elif isWhole and floorMod(exponent, 2.0) == 0 and a.low < 0 and a.high > 0:
    interval(0, max(pow(a.low, exponent), pow(a.high, exponent)))
  else:
    around(pow(a.low, exponent), pow(a.high, exponent))

func exprelOf(value: float): float =
  ## (e^x - 1) / x, which grows with x.
  if value == 0: 1.0
  elif value == -Inf: 0.0
  elif value == Inf: Inf
  else: (exp(value) - 1) / value

func range*(formula: Formula; ranges: Ranges): Interval

func compared(operator: string; a, b: Interval): Interval =
  ## 1 or 0 where the ranges decide it.
  let isAlways = case operator
    of "<": a.high < b.low
    of "<=": a.high <= b.low
    of ">": a.low > b.high
    of ">=": a.low >= b.high
    else: false
  let isNever = case operator
    of "<": a.low >= b.high
    of "<=": a.low > b.high
    of ">": a.high <= b.low
    of ">=": a.high < b.low
    else: false
  if isAlways: point(1) elif isNever: point(0) else: interval(0, 1)

func ofCall(formula: Formula; ranges: Ranges): Interval =
  var args: seq[Interval]
  for arg in formula.args:
    args.add arg.range(ranges)
  case formula.function
  of "exp": result = interval(exp(args[0].low), exp(args[0].high))
  of "log", "log10":
    result = Everything
    if args[0].low > 0:
      result = if formula.function == "log": interval(ln(args[0].low), ln(args[0].high))
               else: interval(log10(args[0].low), log10(args[0].high))
  of "sqrt": result = if args[0].low >= 0: interval(sqrt(args[0].low), sqrt(args[0].high)) else: Everything
  of "sin", "cos": result = interval(-1, 1)
  of "tanh": result = interval(tanh(args[0].low), tanh(args[0].high))
  of "sinh": result = interval(sinh(args[0].low), sinh(args[0].high))
  of "cosh":
    let most = cosh(args[0].largest)
    result = interval(if args[0].low <= 0 and args[0].high >= 0: 1.0 else: min(cosh(args[0].low), cosh(args[0].high)), most)
  of "floor": result = interval(floor(args[0].low), floor(args[0].high))
  of "ceil": result = interval(ceil(args[0].low), ceil(args[0].high))
  of "abs":
    let least = if args[0].low <= 0 and args[0].high >= 0: 0.0 else: min(abs(args[0].low), abs(args[0].high))
    result = interval(least, args[0].largest)
  of "sign": result = interval(-1, 1)
  of "int": result = args[0]
  of "min": result = interval(min(args[0].low, args[1].low), min(args[0].high, args[1].high))
  of "max": result = interval(max(args[0].low, args[1].low), max(args[0].high, args[1].high))
  of "clip":
    # As kernels compute it: the lower limit wins where the limits are exchanged.
    let below = interval(min(args[0].low, args[2].low), min(args[0].high, args[2].high))
    result = interval(max(args[1].low, below.low), max(args[1].high, below.high))
  of "where":
    result = if args[0] == point(1): args[1] elif args[0] == point(0): args[2] else: hull(args[1], args[2])
  of "exprel": result = interval(exprelOf(args[0].low), exprelOf(args[0].high))
  of "random": result = if args.len == 2: hull(args[0], args[1]) else: interval(0, 1)
  else: result = Everything
  if result.low != result.low or result.high != result.high:
    result = Everything

func range*(formula: Formula; ranges: Ranges): Interval =
  ## Names that `ranges` does not know may be anything.
  case formula.kind
  of fkNumber: result = point(formula.value)
  of fkSymbol: result = ranges.getOrDefault(formula.name, Everything)
  of fkNegate:
    let inner = formula.inner.range(ranges)
    result = interval(-inner.high, -inner.low)
  of fkNot:
    let inner = formula.inner.range(ranges)
    result = interval(1 - inner.high, 1 - inner.low)
  of fkBinary:
    let a = formula.left.range(ranges)
    let b = formula.right.range(ranges)
    case formula.operator
    of "+": result = around(a.low + b.low, a.high + b.high)
    of "-": result = around(a.low - b.high, a.high - b.low)
    of "*": result = product(a, b)
    of "/": result = quotient(a, b)
    of "^": result = if b.low == b.high and b.isFinite: power(a, b.low) else: Everything
    of "and": result = interval(min(a.low, b.low), min(a.high, b.high))
    of "or": result = interval(max(a.low, b.low), max(a.high, b.high))
    else: result = compared(formula.operator, a, b)
  of fkCall: result = formula.ofCall(ranges)
