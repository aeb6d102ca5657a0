## Physical dimensions: exponents over time, voltage, current, length and amount, from which every quantity of the language is made.
##
## Voltage takes the place that mass has in SI, so that what electricity in cells is measured in has small whole exponents.

import std/strutils

type
  BaseDimension* = enum
    bdTime = "s"
    bdVoltage = "V"
    bdCurrent = "A"
    bdLength = "m"
    bdAmount = "mol"

  Dimension* = object
    exponents*: array[BaseDimension, float]
      ## Floats, since square roots halve them; compared with a tolerance.

const
  Tolerance = 1e-6

func dimension*(time = 0.0; voltage = 0.0; current = 0.0; length = 0.0; amount = 0.0): Dimension =
  Dimension(exponents: [time, voltage, current, length, amount])

const
  Dimensionless* = dimension()
  TimeDimension* = dimension(time = 1)
  VoltageDimension* = dimension(voltage = 1)
  CurrentDimension* = dimension(current = 1)
  FrequencyDimension* = dimension(time = -1)
  LengthDimension* = dimension(length = 1)
  KnownDimensions: array[16, (string, Dimension)] = [
    ("dimensionless", Dimensionless),
    ("time", TimeDimension),
    ("voltage", VoltageDimension),
    ("current", CurrentDimension),
    ("length", LengthDimension),
    ("amount of substance", dimension(amount = 1)),
    ("frequency", FrequencyDimension),
    ("conductance", dimension(voltage = -1, current = 1)),
    ("resistance", dimension(voltage = 1, current = -1)),
    ("capacitance", dimension(time = 1, voltage = -1, current = 1)),
    ("charge", dimension(time = 1, current = 1)),
    ("concentration", dimension(length = -3, amount = 1)),
    ("voltage per time", dimension(time = -1, voltage = 1)),
    ("current per time", dimension(time = -1, current = 1)),
    ("conductance per time", dimension(time = -1, voltage = -1, current = 1)),
    ("area", dimension(length = 2))]

func `*`*(a, b: Dimension): Dimension =
  for base in BaseDimension:
    result.exponents[base] = a.exponents[base] + b.exponents[base]

func `/`*(a, b: Dimension): Dimension =
  for base in BaseDimension:
    result.exponents[base] = a.exponents[base] - b.exponents[base]

func power*(a: Dimension; exponent: float): Dimension =
  for base in BaseDimension:
    result.exponents[base] = a.exponents[base] * exponent

func isDimensionless*(a: Dimension): bool =
  result = true
  for base in BaseDimension:
    if abs(a.exponents[base]) > Tolerance:
      return false

func isSame*(a, b: Dimension): bool =
  isDimensionless(a / b)

func exponentText(exponent: float): string =
  ## "", "^2", "^-0.5".
  let whole = int(exponent + (if exponent < 0: -0.5 else: 0.5))
  if abs(exponent - float(whole)) < Tolerance:
    return if whole == 1: "" else: "^" & $whole
  let thousandths = int(exponent * 1000 + (if exponent < 0: -0.5 else: 0.5))
  let digits = align($abs(thousandths), 4, '0')
  "^" & (if thousandths < 0: "-" else: "") & digits[0 .. ^4] & "." & digits[^3 .. ^1].strip(leading = false, chars = {'0'})

func productOfUnits(a: Dimension): string =
  ## "A/V^2".
  var above, below: seq[string]
  for base in BaseDimension:
    let exponent = a.exponents[base]
    if exponent > Tolerance:
      above.add $base & exponentText(exponent)
    elif exponent < -Tolerance:
      below.add $base & exponentText(-exponent)
  result = if above.len > 0: above.join("*") else: "1"
  if below.len > 0:
    result.add "/" & (if below.len > 1: "(" & below.join("*") & ")" else: below[0])

func `$`*(a: Dimension): string =
  ## "voltage", or a product of units where there is no word.
  for (name, known) in KnownDimensions:
    if isSame(a, known):
      return name
  a.productOfUnits

func unitSymbol*(a: Dimension): string =
  ## The SI unit as a label: "V", "S", "A/V^2".
  const symbols = [(Dimensionless, ""), (FrequencyDimension, "Hz"), (dimension(voltage = -1, current = 1), "S"),
                   (dimension(voltage = 1, current = -1), "Ohm"), (dimension(time = 1, voltage = -1, current = 1), "F"),
                   (dimension(time = 1, current = 1), "C")]
  for (known, symbol) in symbols:
    if isSame(a, known):
      return symbol
  a.productOfUnits
