## The functions that expressions may call, with what they demand of their arguments.

type
  DimensionRule* = enum
    drPlain                ## plain numbers to a plain number
    drSame                 ## arguments of one dimension, which the result has
    drRoot                 ## the square root of the argument's dimension
    drSign                 ## any dimension to a plain number
    drWhere                ## a condition, then two values of one dimension
    drCondition            ## a condition to 0 or 1

  FunctionSpec* = object
    name*: string
    least*, most*: int     ## number of arguments
    rule*: DimensionRule

const
  Functions* = [
    FunctionSpec(name: "exp", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "log", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "log10", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "sin", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "cos", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "tan", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "sinh", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "cosh", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "tanh", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "exprel", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "floor", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "ceil", least: 1, most: 1, rule: drPlain),
    FunctionSpec(name: "sqrt", least: 1, most: 1, rule: drRoot),
    FunctionSpec(name: "abs", least: 1, most: 1, rule: drSame),
    FunctionSpec(name: "min", least: 2, most: 2, rule: drSame),
    FunctionSpec(name: "max", least: 2, most: 2, rule: drSame),
    FunctionSpec(name: "clip", least: 3, most: 3, rule: drSame),
    FunctionSpec(name: "sign", least: 1, most: 1, rule: drSign),
    FunctionSpec(name: "where", least: 3, most: 3, rule: drWhere),
    FunctionSpec(name: "int", least: 1, most: 1, rule: drCondition),
    FunctionSpec(name: "random", least: 0, most: 2, rule: drSame),
    FunctionSpec(name: "normal", least: 0, most: 2, rule: drSame),
    FunctionSpec(name: "poisson", least: 1, most: 1, rule: drPlain)]

func findFunction*(name: string; spec: var FunctionSpec): bool =
  for candidate in Functions:
    if candidate.name == name:
      spec = candidate
      return true

func functionNames*(): seq[string] =
  for spec in Functions:
    result.add spec.name
