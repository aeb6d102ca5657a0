## Text front end: network text to a checked plan.

import std/unicode
import ast, checker, diagnostics, includes, limits, parser, plan, vocabulary

const DefaultName = "network"
  ## Name of a network whose text has no `neuralNetwork NAME:` line.

func placeOf(text: string; position: int): Span =
  ## Line and column of a byte.
  result = span(1, 1, 1)
  for idx in 0 ..< position:
    if text[idx] == '\n':
      inc result.line
      result.column = 1
    elif (text[idx].ord and 0xC0) != 0x80:
      inc result.column

proc checkEncoding(text: string; report: var Report) =
  let wrong = validateUtf8(text)
  if wrong >= 0:
    report.error(placeOf(text, wrong), "the text is not UTF-8: byte " & $text[wrong].ord & " at position " & $wrong,
                 expected = "UTF-8", hint = "save the file as UTF-8")

proc unwrap(statements: seq[Statement]; report: var Report; name: var string; nameSpan: var Span): seq[Statement] =
  ## The statements of the network: the block of its `neuralNetwork NAME:` line, or the whole text where there is no such line.
  var networks: seq[Statement]
  for statement in statements:
    if statement.keyword == NetworkKeyword:
      networks.add statement
  name = DefaultName
  nameSpan = if statements.len > 0: statements[0].span else: span(0, 0, 0)
  if networks.len == 0:
    return statements
  let network = networks[0]
  nameSpan = network.span
  if network.operand != nil and network.operand.kind == ekName:
    name = network.operand.text
    nameSpan = network.operand.span
  elif network.kind != stBroken:
    report.error(network.span, "the network has no name", expected = "neuralNetwork NAME:")
  if not network.hasBody and network.kind != stBroken:
    report.error(nameSpan, "':' is missing after the network's name", expected = "neuralNetwork " & name & ":",
                 hint = "its statements follow, indented")
  for statement in statements:
    if statement.keyword != NetworkKeyword:
      if network.body.len == 0 or report.isIndentationUnclear:
        # Statements that were meant to be indented: check them all the same.
        result.add statement
      else:
        report.error(statement.span, "a statement outside the network", expected = "the indentation of the network's block")
  for extra in 1 ..< networks.len:
    report.error(networks[extra].span, "a second network in the same text", expected = "one network",
                 hint = "give each network a text of its own")
  network.body & result

proc compileText*(text, baseDirectory: string; report: var Report): NetworkPlan =
  ## Every error of the text is in `report`; without errors the plan is complete. Relative paths of `include` statements start at
  ## `baseDirectory`; "" is the working directory.
  if text.len > MaxTextBytes:
    report.error(span(0, 0, 0), "the text has " & $text.len & " bytes", expected = "at most " & $MaxTextBytes)
    return
  checkEncoding(text, report)
  if report.errorCount > 0:
    return
  let statements = parseText(text, report)
  if statements.len == 0:
    if report.errorCount == 0:
      report.error(span(0, 0, 0), "the text is empty", expected = "neuralNetwork NAME: and its layers")
    return
  var name: string
  var nameSpan: Span
  let body = expandIncludes(unwrap(statements, report, name, nameSpan), baseDirectory, report)
  if report.isFull:
    return
  checkNetwork(name, nameSpan, body, report)
