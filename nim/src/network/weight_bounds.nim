## The largest amount that one spike can add to an input, where the text of a synapse tells: the engine sizes its fixed-point sums by it.

import std/[strutils, tables]
import formula, initializer, neuron_model, synapse_model

func factorsOf(formula: Formula; factors: var seq[Formula]) =
  if formula.kind == fkBinary and formula.operator == "*":
    factorsOf(formula.left, factors)
    factorsOf(formula.right, factors)
  elif formula.kind == fkNegate:
    factorsOf(formula.inner, factors)
  else:
    factors.add formula

func largest(initial: Initializer; value: var float): bool =
  ## The largest amount of an initial value that has one.
  case initial.kind
  of inConstant: value = abs(initial.first)
  of inRandom: value = max(abs(initial.first), abs(initial.second))
  of inClippedNormal: value = max(abs(initial.low), abs(initial.high))
  else: return false
  true

func variableBound(model: SynapseModel; name: string; initial: Initializer; values: Bindings; bound: var float): bool =
  ## Of a variable that starts within limits and is only ever set to `clip(…, low, high)`.
  for state in model.states:
    if state.name == name and state.derivative != nil and not state.isClocked:
      return false
  if not initial.largest(bound):
    return false
  var last: Formula
  for assignments in [model.onPre, model.onPost, model.onReward, model.clocked]:
    for assignment in assignments:
      if assignment.name == name:
        last = assignment.value
        if assignment.operator != "=" or last.kind != fkCall:
          return false
        var low, high: float
        case last.function
        of "clip":
          if not last.args[1].evaluate(values, low) or not last.args[2].evaluate(values, high):
            return false
        of "where":
          # Pruning and growing: either another amount or the old one.
          for choice in last.args[1 .. 2]:
            if not (choice.kind == fkSymbol and choice.name == name):
              if not choice.evaluate(values, high):
                return false
        else:
          return false
        bound = max(bound, max(abs(low), abs(high)))
  for state in model.states:
    if state.name == name and state.isClocked:
      # Its equation moves it before the last assignment of the step puts it back.
      return last != nil and last.function == "clip"
  true

func weightBound*(model: SynapseModel; initial: Table[string, Initializer]; values: Bindings; bound: var float): bool =
  ## False where the text does not tell.
  bound = 0
  for assignments in [model.onPre, model.onPost, model.clocked]:
    for assignment in assignments:
      if not assignment.name.startsWith(TargetPrefix):
        continue
      var factors: seq[Formula]
      factorsOf(assignment.value, factors)
      var amount = 1.0
      for factor in factors:
        var value: float
        if factor.evaluate(values, value):
          amount = amount * abs(value)
        elif factor.kind == fkSymbol and factor.name in initial and
            model.variableBound(factor.name, initial[factor.name], values, value):
          amount = amount * value
        else:
          return false
      bound = max(bound, amount)
  result = bound > 0
