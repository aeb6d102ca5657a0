## Text to statements: recursive descent over logical lines, blocks by indentation as in Nim.
##
## A statement with a syntax error is reported once and becomes `stBroken`; parsing goes on with the next line. Inside a statement a
## failure is a state, not an exception: every step after it does nothing and gives nil.

import ast, diagnostics, lexer, limits, vocabulary

type
  StatementParser = object
    ## Position in the tokens of one logical line.
    tokens: seq[Token]
    position: int
    depth: int
    operatorCount: int
    hasFailed: bool        ## the error was reported

  BlockParser = object
    lexer: Lexer
    line: LogicalLine
    hasLine: bool
    statementCount: int

func binaryPower(operator: string): int =
  ## How tightly a binary operator binds, as in Nim; 0 for what is none.
  case operator
  of "->": 1
  of "or": 2
  of "and": 3
  of "<", ">", "<=", ">=", "==", "!=": 4
  of "..", "..<": 5
  of "+", "-": 6
  of "*", "/": 7
  of "^": 8
  else: 0

func current(parser: StatementParser): Token =
  parser.tokens[parser.position]

proc take(parser: var StatementParser): Token =
  result = parser.tokens[parser.position]
  if result.kind != tkEnd:
    inc parser.position

func found(token: Token): string =
  case token.kind
  of tkString: "a text"
  else: shown(token.text)

proc fail(parser: var StatementParser; report: var Report; at: Span; message, expected: string) =
  if not parser.hasFailed:
    report.error(at, message, expected)
  parser.hasFailed = true

proc refuse(parser: var StatementParser; report: var Report; token: Token; expected: string) =
  ## The token cannot stand here.
  let message = if token.kind == tkEnd: "the statement ends too early" else: "unexpected " & found(token)
  parser.fail(report, token.span, message, expected)

proc parseExpr(parser: var StatementParser; report: var Report; minPower = 1): Expr

proc enter(parser: var StatementParser; report: var Report) =
  inc parser.depth
  if parser.depth > MaxNesting:
    parser.fail(report, parser.current.span, "the expression is nested too deeply", "at most " & $MaxNesting & " levels")

func isClosing(parser: StatementParser; bracket: string): bool =
  parser.current.kind == tkClose and parser.current.text == bracket

proc parseArgs(parser: var StatementParser; report: var Report; closing: string): seq[Arg] =
  while not parser.hasFailed:
    if parser.isClosing(closing):
      discard parser.take
      return
    var arg = Arg()
    let next = parser.tokens[min(parser.position + 1, parser.tokens.high)]
    if parser.current.kind == tkName and (next.kind == tkColon or (next.kind == tkAssign and next.text == "=")):
      let name = parser.take
      discard parser.take
      arg.name = name.text
      arg.nameSpan = name.span
    arg.value = parser.parseExpr(report)
    result.add arg
    if parser.current.kind == tkComma:
      discard parser.take
    elif not parser.isClosing(closing):
      parser.refuse(report, parser.current, "',' or '" & closing & "'")

proc parseNumber(parser: var StatementParser): Expr =
  ## A literal with the unit that may follow: `20`, `20ms`, `20.ms`.
  let token = parser.take
  result =
    if token.kind == tkInt: newInt(token.intValue, token.span)
    else: newFloat(token.floatValue, token.span)
  let next = parser.current
  let after = parser.tokens[min(parser.position + 1, parser.tokens.high)]
  if next.kind == tkName and not next.spaceBefore:
    discard parser.take
    result = Expr(kind: ekQuantity, number: result, unit: next.text, span: token.span)
  elif next.kind == tkOperator and next.text == "." and after.kind == tkName:
    discard parser.take
    discard parser.take
    result = Expr(kind: ekQuantity, number: result, unit: after.text, span: token.span)

proc parsePrimary(parser: var StatementParser; report: var Report): Expr =
  let token = parser.current
  case token.kind
  of tkInt, tkFloat:
    result = parser.parseNumber
  of tkString:
    discard parser.take
    result = Expr(kind: ekString, text: token.text, span: token.span)
  of tkName:
    discard parser.take
    result = newName(token.text, token.span)
  of tkOpen:
    discard parser.take
    if token.text == "[":
      result = Expr(kind: ekList, span: token.span)
      for arg in parser.parseArgs(report, "]"):
        if arg.name.len > 0:
          parser.fail(report, arg.nameSpan, "a named value in a list", "values only")
        result.items.add arg.value
    else:
      result = parser.parseExpr(report)
      if parser.isClosing(")"):
        discard parser.take
      else:
        parser.refuse(report, parser.current, "')'")
  else:
    parser.refuse(report, token, "a name, a number or '('")

proc parsePostfix(parser: var StatementParser; report: var Report): Expr =
  result = parser.parsePrimary(report)
  while not parser.hasFailed:
    let token = parser.current
    if token.kind == tkOpen:
      discard parser.take
      let kind = if token.text == "(": ekCall else: ekIndex
      let args = parser.parseArgs(report, if kind == ekCall: ")" else: "]")
      result =
        if kind == ekCall: Expr(kind: ekCall, callee: result, args: args, span: result.span)
        else: Expr(kind: ekIndex, callee: result, args: args, span: result.span)
    elif token.kind == tkOperator and token.text == ".":
      discard parser.take
      let member = parser.take
      if member.kind != tkName:
        parser.refuse(report, member, "a name after '.'")
      result = Expr(kind: ekMember, base: result, member: member.text, span: result.span)
    else:
      return

proc parseUnary(parser: var StatementParser; report: var Report): Expr =
  let token = parser.current
  if (token.kind == tkOperator and token.text in ["-", "+"]) or (token.kind == tkName and token.text == "not"):
    parser.enter(report)
    discard parser.take
    # A sign binds more loosely than a power, as in mathematics: -x^2 is -(x^2).
    let operand = if parser.hasFailed: nil
                  elif token.text == "not": parser.parseUnary(report)
                  else: parser.parseExpr(report, binaryPower("^"))
    dec parser.depth
    if parser.hasFailed:
      return nil
    if token.text == "-":
      return negated(operand, token.span)
    if token.text == "+":
      return operand
    return Expr(kind: ekUnary, operator: token.text, left: operand, span: token.span)
  parser.parsePostfix(report)

proc parseExpr(parser: var StatementParser; report: var Report; minPower = 1): Expr =
  parser.enter(report)
  if not parser.hasFailed:
    result = parser.parseUnary(report)
  while not parser.hasFailed:
    let token = parser.current
    let power = if token.kind in {tkOperator, tkName}: binaryPower(token.text) else: 0
    if power < minPower:
      break
    discard parser.take
    inc parser.operatorCount
    if parser.operatorCount > MaxOperators:
      parser.fail(report, token.span, "the statement is too long", "at most " & $MaxOperators & " operators")
      break
    let right = parser.parseExpr(report, if token.text == "^": power else: power + 1)
    if parser.hasFailed:
      return nil
    result = Expr(kind: ekBinary, operator: token.text, left: result, right: right, span: result.span)
  dec parser.depth

func startsOperand(token: Token): bool =
  ## After a first word: is this the operand of a command (`layer input`) and not the rest of an expression (`v > vt`)?
  case token.kind
  of tkName: binaryPower(token.text) == 0
  of tkInt, tkFloat, tkString: true
  of tkOpen: token.text == "[" and token.spaceBefore
  else: false

proc parseSimple(parser: var StatementParser; report: var Report): Statement =
  ## One statement without its indented block.
  let first = parser.current
  let second = parser.tokens[min(parser.position + 1, parser.tokens.high)]
  if first.kind == tkName and second.startsOperand:
    discard parser.take
    result = Statement(kind: stCommand, keyword: first.text, span: first.span)
    result.operand = parser.parseExpr(report)
  elif first.kind == tkName and second.kind == tkColon:
    discard parser.take
    result = Statement(kind: stCommand, keyword: first.text, span: first.span)
  elif first.kind == tkName and second.kind == tkEnd and first.text in CommandKeywords:
    discard parser.take
    parser.refuse(report, second, "something after '" & first.text & "'")
  else:
    let target = parser.parseExpr(report)
    if parser.hasFailed:
      return nil
    if parser.current.kind == tkAssign:
      let operator = parser.take.text
      let value = parser.parseExpr(report)
      result = Statement(kind: stAssign, operand: target, operator: operator, value: value, span: first.span)
    else:
      result = Statement(kind: stExpression, operand: target, span: first.span)
    if first.kind == tkName:
      result.keyword = first.text

proc parseTokens(parser: var StatementParser; report: var Report): Statement =
  ## Not nil unless the parser has failed.
  result = parser.parseSimple(report)
  if parser.hasFailed:
    return nil
  if parser.current.kind == tkColon:
    discard parser.take
    result.hasBody = true
    if parser.current.kind != tkEnd:
      parser.enter(report)
      let inner = if parser.hasFailed: nil else: parser.parseTokens(report)
      dec parser.depth
      if parser.hasFailed:
        return nil
      result.body.add inner
  if parser.current.kind != tkEnd:
    parser.refuse(report, parser.current, if result.hasBody: "the end of the statement" else: "the end of the statement or ':'")

func brokenStatement(tokens: seq[Token]): Statement =
  ## Keeps the first word and the name after it, so that uses of the name are not reported as well.
  result = Statement(kind: stBroken, span: tokens[0].span)
  if tokens[0].kind == tkName:
    result.keyword = tokens[0].text
    if tokens.len > 1 and tokens[1].kind == tkName:
      result.operand = newName(tokens[1].text, tokens[1].span)
  result.hasBody = tokens.len > 1 and tokens[^2].kind == tkColon

proc parseStatement(line: LogicalLine; depth: int; report: var Report): Statement =
  if line.damaged:
    return brokenStatement(line.tokens)
  var parser = StatementParser(tokens: line.tokens, depth: depth)
  result = parser.parseTokens(report)
  if parser.hasFailed:
    result = brokenStatement(line.tokens)

proc fetch(blocks: var BlockParser; report: var Report) =
  blocks.hasLine = blocks.lexer.nextLine(blocks.line, report)
  inc blocks.statementCount
  if blocks.hasLine and blocks.statementCount > MaxStatements:
    report.error(blocks.line.tokens[0].span, "too many statements", expected = "at most " & $MaxStatements)
    blocks.hasLine = false

proc parseBlock(blocks: var BlockParser; indent, outerIndent, depth: int; report: var Report): seq[Statement] =
  ## Statements at `indent`; returns at the first line that stands no further right than the block around this one.
  while blocks.hasLine and not report.isFull:
    let line = blocks.line
    let first = line.tokens[0]
    if line.indent <= outerIndent:
      return
    if line.indent < indent and not report.isIndentationUnclear:
      report.error(first.span, "the indentation matches no block", expected = count(indent, "blank") & " before the statement",
                   hint = "statements of one block start in the same column")
    if line.indent > indent and not report.isIndentationUnclear:
      report.error(first.span, "unexpected indentation", expected = count(indent, "blank") & " before the statement",
                   hint = "statements of one block start in the same column")
    # A number of its own: the compiler's interpreter, which runs this for the macro front end, lets `line` follow `blocks.line`.
    let own = line.indent + 0
    var statement = parseStatement(line, depth, report)
    blocks.fetch(report)
    let deeper = blocks.hasLine and blocks.line.indent > own
    if deeper and (statement.hasBody or statement.keyword in BlockKeywords):
      if not statement.hasBody and statement.kind != stBroken:
        report.error(statement.span, "'" & statement.keyword & "' has an indented block but no ':'",
                     expected = "':' at the end of the line")
      statement.hasBody = true
      if depth >= MaxNesting:
        report.error(blocks.line.tokens[0].span, "blocks are nested too deeply",
                     expected = "at most " & $MaxNesting & " levels")
        while blocks.hasLine and blocks.line.indent > own and not report.isFull:
          blocks.fetch(report)
      else:
        let inner = blocks.line.indent + 0
        statement.body.add blocks.parseBlock(inner, own, depth + 1, report)
    elif statement.hasBody and statement.body.len == 0 and statement.kind != stBroken:
      report.error(statement.span, "'" & statement.keyword & ":' has no block",
                   expected = "an indented statement below it")
    result.add statement

proc parseText*(text: sink string; report: var Report; file = 0): seq[Statement] =
  ## The statements of a text. What is wrong with its syntax is in `report`.
  var blocks = BlockParser(lexer: initLexer(text, file))
  blocks.fetch(report)
  if blocks.hasLine:
    result = blocks.parseBlock(blocks.line.indent, -1, 1, report)
