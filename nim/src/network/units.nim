## Units of the language and their factors to SI.

import dimensions

type
  Unit* = object
    name*: string
    dimension*: Dimension
    factor*: float

func unitsOf(symbol: string; dimension: Dimension; prefixes: openArray[(string, float)]): seq[Unit] =
  for (prefix, factor) in prefixes:
    result.add Unit(name: prefix & symbol, dimension: dimension, factor: factor)

const
  Units* =
    unitsOf("s", TimeDimension, {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}) &
    unitsOf("V", VoltageDimension, {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}) &
    unitsOf("A", CurrentDimension, {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}) &
    unitsOf("S", VoltageDimension.power(-1) * CurrentDimension, {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}) &
    unitsOf("F", TimeDimension * CurrentDimension / VoltageDimension,
            {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}) &
    unitsOf("Ohm", VoltageDimension / CurrentDimension, {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}) &
    unitsOf("Hz", FrequencyDimension, {"": 1.0, "k": 1e3, "M": 1e6}) &
    unitsOf("C", TimeDimension * CurrentDimension, {"": 1.0, "n": 1e-9, "p": 1e-12}) &
    unitsOf("m", LengthDimension, {"": 1.0, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9}) &
    unitsOf("mol", dimension(amount = 1), {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}) &
    # Moles for each litre: 1000 mol / m^3.
    unitsOf("M", dimension(length = -3, amount = 1), {"m": 1.0, "u": 1e-3, "n": 1e-6})

func findUnit*(name: string; unit: var Unit): bool =
  for candidate in Units:
    if candidate.name == name:
      unit = candidate
      return true

func unitNames*(): seq[string] =
  for unit in Units:
    result.add unit.name

func toBase*(unit: Unit; value: float): float =
  ## In SI. Division by the inverse keeps 0.1 ms at 0.0001 s and not one bit beside it.
  if unit.factor < 1: value / float(int64(1 / unit.factor + 0.5)) else: value * unit.factor
