## Dimensions of variables that nobody wrote down, found from the equations they stand in.
##
## A dimension with unknowns is a product of a known dimension and powers of unknown ones, so "both sides are equal" is a linear equation
## between exponents and solved by elimination: Kennedy, "Dimension types" (ESOP 1994), restricted to what networks need.

import std/algorithm
import dimensions

type
  UnknownPower = tuple[unknown: int; exponent: float]

  OpenDimension* = object
    ## A dimension that may hold unknowns; the powers are sorted by unknown.
    known*: Dimension
    powers: seq[UnknownPower]

  DimensionSolver* = object
    isBound: seq[bool]
    bound: seq[OpenDimension]

func open*(known: Dimension): OpenDimension =
  OpenDimension(known: known)

proc fresh*(solver: var DimensionSolver): OpenDimension =
  ## A new unknown.
  solver.isBound.add false
  solver.bound.add OpenDimension()
  OpenDimension(powers: @[(solver.isBound.high, 1.0)])

func combine(a, b: OpenDimension; sign: float): OpenDimension =
  ## a * b^sign.
  result.known = a.known * b.known.power(sign)
  var first, second = 0
  while first < a.powers.len or second < b.powers.len:
    if second >= b.powers.len or (first < a.powers.len and a.powers[first].unknown < b.powers[second].unknown):
      result.powers.add a.powers[first]
      inc first
    elif first >= a.powers.len or b.powers[second].unknown < a.powers[first].unknown:
      result.powers.add (b.powers[second].unknown, sign * b.powers[second].exponent)
      inc second
    else:
      let exponent = a.powers[first].exponent + sign * b.powers[second].exponent
      if abs(exponent) > 1e-9:
        result.powers.add (a.powers[first].unknown, exponent)
      inc first
      inc second

func `*`*(a, b: OpenDimension): OpenDimension =
  combine(a, b, 1)

func `/`*(a, b: OpenDimension): OpenDimension =
  combine(a, b, -1)

func power*(a: OpenDimension; exponent: float): OpenDimension =
  result.known = a.known.power(exponent)
  if abs(exponent) > 1e-9:
    for part in a.powers:
      result.powers.add (part.unknown, part.exponent * exponent)

func resolve*(solver: DimensionSolver; a: OpenDimension): OpenDimension =
  ## With everything filled in that is known by now.
  result = a
  var changed = true
  while changed:
    changed = false
    for part in result.powers:
      if solver.isBound[part.unknown]:
        var rest = OpenDimension(known: result.known)
        for other in result.powers:
          if other.unknown != part.unknown:
            rest.powers.add other
        result = rest * solver.bound[part.unknown].power(part.exponent)
        changed = true
        break

func isKnown*(a: OpenDimension): bool =
  a.powers.len == 0

proc unify*(solver: var DimensionSolver; a, b: OpenDimension): bool =
  ## Makes the two the same; false when they cannot be.
  let difference = solver.resolve(a / b)
  if difference.isKnown:
    return difference.known.isDimensionless
  # The youngest unknown is expressed by the older ones, so that bindings never form a circle.
  let pivot = difference.powers[^1]
  var rest = OpenDimension(known: difference.known)
  rest.powers = difference.powers[0 .. ^2]
  solver.isBound[pivot.unknown] = true
  solver.bound[pivot.unknown] = rest.power(-1 / pivot.exponent)
  true

proc settle*(solver: var DimensionSolver; a: OpenDimension): Dimension =
  ## The dimension, with unknowns that nothing determines taken as plain numbers.
  for part in solver.resolve(a).powers.reversed:
    solver.isBound[part.unknown] = true
    solver.bound[part.unknown] = OpenDimension()
  solver.resolve(a).known

func text*(solver: DimensionSolver; a: OpenDimension): string =
  let resolved = solver.resolve(a)
  if resolved.isKnown: $resolved.known else: "not known yet"
