## `dt = …` and `seed = …`, and whether a network is layered or spiking.

import std/tables
import ast, diagnostics, plan, suggestions, values, vocabulary

func isSpiking*(statements: seq[Statement]): bool =
  ## One statement that only spiking networks have decides.
  for statement in statements:
    if statement.kind != stAssign and statement.keyword in SpikingStatements:
      return true

proc checkSetting(plan: var NetworkPlan; statement: Statement; isSpiking: bool; lines: var Table[string, int]; report: var Report) =
  ## `dt = 0.1.ms`, `seed = 42`.
  if statement.operand.kind != ekName or statement.operand.text notin SettingKeywords:
    let name = if statement.operand.kind == ekName: statement.operand.text else: ""
    report.error(statement.span, "cannot assign to " & describe(statement.operand), expected = "dt = … or seed = …",
                 hint = if name.len > 0: didYouMean(name, SettingKeywords) else: "")
    return
  let name = statement.operand.text
  if statement.operator != "=":
    report.error(statement.span, "'" & name & "' is set with " & shown(statement.operator), expected = "'='")
    return
  if name in lines:
    report.error(statement.span, "'" & name & "' is set twice", hint = "it was set on line " & $lines[name])
    return
  lines[name] = statement.span.line
  if name == "seed":
    if statement.value.kind != ekInt or statement.value.intValue < 0:
      report.error(statement.value.span, "the seed is " & describe(statement.value),
                   expected = "a whole number from 0 to 9223372036854775807")
      return
    plan.seed = statement.value.intValue
  elif readTime(statement.value, "'dt'", report, plan.timeStepSeconds):
    plan.hasTimeStep = true
    if not isSpiking:
      report.warning(statement.span, "'dt' has no effect in a layered network")

proc readSettings*(plan: var NetworkPlan; statements: seq[Statement]; isSpiking: bool; report: var Report) =
  var lines: Table[string, int]
  for statement in statements:
    if statement.kind == stAssign and not report.isFull:
      plan.checkSetting(statement, isSpiking, lines, report)
