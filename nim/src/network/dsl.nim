## The macro front end: the same network text as the body of a Nim macro, checked and planned while the Nim program compiles.
##
##   neuralNetwork testNetwork:
##     layer input(784)
##     layer output(10, activation: softmax)
##     connect input -> output (weight: xavier)
##
## declares `const testNetwork: NetworkDefinition`, whose `planJson` is the very text that the library makes of the same lines. Errors stop
## the compilation with the messages of the text front end.

import std/[macros, os]
import ast, checker, diagnostics, includes, plan, plan_json

type
  NetworkDefinition* = object
    ## A checked network, ready to be built from its plan.
    name*: string
    planJson*: string

  BodyReader = object
    firstLine: int         ## of the macro call: places count from there, as in a text of its own
    report: Report

func placeOf(reader: BodyReader; node: NimNode): Span =
  let place = node.lineInfoObj
  span(place.line - reader.firstLine + 1, place.column + 1, 1)

proc toExpr(reader: var BodyReader; node: NimNode): Expr

proc toArgs(reader: var BodyReader; nodes: openArray[NimNode]): seq[Arg] =
  for node in nodes:
    case node.kind
    of nnkExprColonExpr, nnkExprEqExpr:
      result.add Arg(name: node[0].strVal, nameSpan: reader.placeOf(node[0]), value: reader.toExpr(node[1]))
    of nnkPar, nnkTupleConstr:
      # `hidden (weight: …)`: with a blank Nim reads the parentheses as a tuple.
      result.add reader.toArgs(node[0 .. ^1])
    else:
      result.add Arg(value: reader.toExpr(node))

proc toCall(reader: var BodyReader; callee: NimNode; args: openArray[NimNode]; kind: ExprKind): Expr =
  let target = reader.toExpr(callee)
  let values = reader.toArgs(args)
  if kind == ekCall: Expr(kind: ekCall, callee: target, args: values, span: target.span)
  else: Expr(kind: ekIndex, callee: target, args: values, span: target.span)

func isSigned(node: NimNode): bool =
  ## `-x` or a negative number, without parentheses.
  case node.kind
  of nnkPrefix: node[0].strVal == "-"
  of nnkIntLit .. nnkInt64Lit: node.intVal < 0
  of nnkFloatLit .. nnkFloat64Lit: node.floatVal < 0
  else: false

proc toExpr(reader: var BodyReader; node: NimNode): Expr =
  let at = reader.placeOf(node)
  case node.kind
  of nnkIntLit .. nnkUInt64Lit:
    result = newInt(node.intVal, at)
  of nnkFloatLit .. nnkFloat64Lit:
    result = newFloat(node.floatVal, at)
  of nnkStrLit .. nnkTripleStrLit:
    result = Expr(kind: ekString, text: node.strVal, span: at)
  of nnkIdent, nnkSym:
    result = newName(node.strVal, at)
  of nnkAccQuoted:
    result = reader.toExpr(node[0])
  of nnkDotExpr:
    if node[0].kind in {nnkIntLit .. nnkFloat64Lit}:
      let number = reader.toExpr(node[0])
      result = Expr(kind: ekQuantity, number: number, unit: node[1].strVal, span: number.span)
    else:
      let base = reader.toExpr(node[0])
      result = Expr(kind: ekMember, base: base, member: node[1].strVal, span: base.span)
  of nnkCall, nnkCommand, nnkObjConstr:
    result = reader.toCall(node[0], node[1 .. ^1], ekCall)
  of nnkBracketExpr:
    result = reader.toCall(node[0], node[1 .. ^1], ekIndex)
  of nnkBracket:
    result = Expr(kind: ekList, span: at)
    for item in node:
      result.items.add reader.toExpr(item)
  of nnkPar:
    if node.len == 1:
      result = reader.toExpr(node[0])
  of nnkPrefix:
    let operand = reader.toExpr(node[1])
    case node[0].strVal
    of "-": result = negated(operand, reader.placeOf(node[0]))
    of "+": result = operand
    else: result = Expr(kind: ekUnary, operator: node[0].strVal, left: operand, span: reader.placeOf(node[0]))
  of nnkInfix:
    var operator = node[0].strVal
    var right = reader.toExpr(node[2])
    if operator.len > 1 and operator[^1] == '-' and operator != "->":
      # Nim takes `^-` in 2^-3 for one operator.
      operator.setLen operator.len - 1
      right = negated(right, right.span)
    if operator == "^" and node[1].isSigned:
      # Nim binds a sign more tightly than a power; the language does not: -x^2 is -(x^2).
      let base = if node[1].kind == nnkPrefix: reader.toExpr(node[1][1]) else: negated(reader.toExpr(node[1]), at)
      let sign = reader.placeOf(node[1])
      return negated(Expr(kind: ekBinary, operator: "^", left: base, right: right, span: base.span), sign)
    let left = reader.toExpr(node[1])
    result = Expr(kind: ekBinary, operator: operator, left: left, right: right, span: left.span)
  else:
    discard
  if result == nil:
    reader.report.error(at, "unexpected " & shown(node.repr), expected = "a name, a number, a list or a call")
    result = newName("", at)

proc toStatements(reader: var BodyReader; body: NimNode): seq[Statement]

proc toStatement(reader: var BodyReader; node: NimNode): Statement =
  ## nil for what says nothing: documentation comments.
  let hasBody = node.len > 0 and node[^1].kind == nnkStmtList
  case node.kind
  of nnkCommentStmt:
    return nil
  of nnkAsgn:
    let target = reader.toExpr(node[0])
    result = Statement(kind: stAssign, operand: target, operator: "=", value: reader.toExpr(node[1]), span: target.span)
  of nnkInfix:
    let operator = node[0].strVal
    if operator in ["+=", "-=", "*=", "/="]:
      let target = reader.toExpr(node[1])
      result = Statement(kind: stAssign, operand: target, operator: operator, value: reader.toExpr(node[2]), span: target.span)
  of nnkIncludeStmt:
    result = Statement(kind: stCommand, keyword: "include", operand: reader.toExpr(node[0]), span: reader.placeOf(node))
  of nnkCommand:
    let count = if hasBody: node.len - 1 else: node.len
    if count == 2:
      result = Statement(kind: stCommand, keyword: node[0].strVal, operand: reader.toExpr(node[1]),
                         span: reader.placeOf(node[0]))
  of nnkCall:
    if hasBody and node.len == 2:
      result = Statement(kind: stCommand, keyword: node[0].strVal, span: reader.placeOf(node[0]))
  else:
    discard
  if result == nil:
    let operand = reader.toExpr(node)
    result = Statement(kind: stExpression, operand: operand, span: operand.span)
  if result.keyword.len == 0:
    var head = result.operand
    while head != nil and head.kind in {ekCall, ekIndex}:
      head = head.callee
    if head != nil and head.kind == ekName:
      result.keyword = head.text
  if hasBody:
    result.hasBody = true
    result.body = reader.toStatements(node[^1])

proc toStatements(reader: var BodyReader; body: NimNode): seq[Statement] =
  for node in body:
    let statement = reader.toStatement(node)
    if statement != nil:
      result.add statement

proc planOfBody*(name, body: NimNode; report: var Report): NetworkPlan =
  ## What the macro makes of its arguments; for macros that want the plan itself.
  var reader = BodyReader(firstLine: name.lineInfoObj.line)
  let written = reader.toStatements(body)
  report = reader.report
  let statements = expandIncludes(written, name.lineInfoObj.filename.parentDir, report)
  checkNetwork(name.strVal, reader.placeOf(name), statements, report)

macro neuralNetwork*(name, body: untyped): untyped =
  ## Declares `const name: NetworkDefinition`.
  var report: Report
  let plan = planOfBody(name, body, report)
  if report.errorCount > 0:
    error(report.renderErrors(""), name)
  let planName = newLit(plan.name)
  let planText = newLit(plan.toJson)
  result = quote do:
    const `name` = NetworkDefinition(name: `planName`, planJson: `planText`)
