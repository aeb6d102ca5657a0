## Units of the language and their factors to SI base and derived units.

type
  Dimension* = enum
    dimTime = "time"
    dimVoltage = "voltage"
    dimCurrent = "current"
    dimConductance = "conductance"
    dimCapacitance = "capacitance"
    dimResistance = "resistance"
    dimFrequency = "frequency"

  Unit* = object
    name*: string
    dimension*: Dimension
    factor*: float

const
  Units* = [
    Unit(name: "s", dimension: dimTime, factor: 1.0),
    Unit(name: "ms", dimension: dimTime, factor: 1e-3),
    Unit(name: "us", dimension: dimTime, factor: 1e-6),
    Unit(name: "ns", dimension: dimTime, factor: 1e-9),
    Unit(name: "V", dimension: dimVoltage, factor: 1.0),
    Unit(name: "mV", dimension: dimVoltage, factor: 1e-3),
    Unit(name: "uV", dimension: dimVoltage, factor: 1e-6),
    Unit(name: "A", dimension: dimCurrent, factor: 1.0),
    Unit(name: "mA", dimension: dimCurrent, factor: 1e-3),
    Unit(name: "uA", dimension: dimCurrent, factor: 1e-6),
    Unit(name: "nA", dimension: dimCurrent, factor: 1e-9),
    Unit(name: "pA", dimension: dimCurrent, factor: 1e-12),
    Unit(name: "S", dimension: dimConductance, factor: 1.0),
    Unit(name: "mS", dimension: dimConductance, factor: 1e-3),
    Unit(name: "uS", dimension: dimConductance, factor: 1e-6),
    Unit(name: "nS", dimension: dimConductance, factor: 1e-9),
    Unit(name: "F", dimension: dimCapacitance, factor: 1.0),
    Unit(name: "uF", dimension: dimCapacitance, factor: 1e-6),
    Unit(name: "nF", dimension: dimCapacitance, factor: 1e-9),
    Unit(name: "pF", dimension: dimCapacitance, factor: 1e-12),
    Unit(name: "Ohm", dimension: dimResistance, factor: 1.0),
    Unit(name: "kOhm", dimension: dimResistance, factor: 1e3),
    Unit(name: "MOhm", dimension: dimResistance, factor: 1e6),
    Unit(name: "Hz", dimension: dimFrequency, factor: 1.0),
    Unit(name: "kHz", dimension: dimFrequency, factor: 1e3)]

func findUnit*(name: string; unit: var Unit): bool =
  for candidate in Units:
    if candidate.name == name:
      unit = candidate
      return true

func unitNames*(): seq[string] =
  for unit in Units:
    result.add unit.name
