## The syntax tree of the network language, the same for the text and for the Nim macro.
##
## It is generic: what a `layer` or a `neuron` statement means is decided by the checker, so that new statements need no new syntax.
## The place of a compound expression is that of its leftmost part, which both front ends know exactly.

import diagnostics, numbers

type
  ExprKind* = enum
    ekInt, ekFloat, ekString, ekName, ekQuantity, ekCall, ekIndex, ekMember, ekList, ekUnary, ekBinary

  Expr* = ref object
    span*: Span
    case kind*: ExprKind
    of ekInt:
      intValue*: int64
    of ekFloat:
      floatValue*: float
    of ekString, ekName:
      text*: string
    of ekQuantity:
      number*: Expr
      unit*: string
    of ekCall, ekIndex:
      callee*: Expr
      args*: seq[Arg]
    of ekMember:
      base*: Expr
      member*: string
    of ekList:
      items*: seq[Expr]
    of ekUnary, ekBinary:
      operator*: string
      left*: Expr          ## the only operand of a unary operator
      right*: Expr

  Arg* = object
    name*: string          ## empty for a positional argument
    nameSpan*: Span
    value*: Expr

  StatementKind* = enum
    stCommand              ## `keyword operand`, `keyword operand:` with a body, `keyword:` with a body
    stAssign               ## `target = value`, `target += value`
    stExpression           ## anything else, for example `params(a = 1)`
    stBroken               ## had a syntax error, already reported

  Statement* = ref object
    span*: Span
    keyword*: string       ## the first word of a command or of a broken statement
    body*: seq[Statement]
    hasBody*: bool
    operand*: Expr         ## nil where there is none; the whole expression of an expression statement
    case kind*: StatementKind
    of stAssign:
      operator*: string
      value*: Expr
    else:
      discard

func newName*(text: string; at: Span): Expr =
  Expr(kind: ekName, text: text, span: at)

func newInt*(value: int64; at: Span): Expr =
  Expr(kind: ekInt, intValue: value, span: at)

func newFloat*(value: float; at: Span): Expr =
  Expr(kind: ekFloat, floatValue: value, span: at)

func negated*(operand: Expr; at: Span): Expr =
  ## `-x`; of a literal the negative literal, as Nim reads it.
  if operand.kind == ekInt and operand.intValue != low(int64):
    return newInt(-operand.intValue, at)
  if operand.kind == ekFloat:
    return newFloat(-operand.floatValue, at)
  if operand.kind == ekQuantity and operand.number.kind in {ekInt, ekFloat}:
    return Expr(kind: ekQuantity, number: negated(operand.number, at), unit: operand.unit, span: at)
  Expr(kind: ekUnary, operator: "-", left: operand, span: at)

func describe*(node: Expr): string =
  ## What an expression is, for messages: "the number 3", "the name 'x'".
  if node == nil:
    return "nothing"
  case node.kind
  of ekInt: "the number " & $node.intValue
  of ekFloat: "the number " & floatText(node.floatValue)
  of ekString: "the text " & shown(node.text)
  of ekName: "the name " & shown(node.text)
  of ekQuantity: "a quantity in " & shown(node.unit)
  of ekCall:
    if node.callee.kind == ekName: "a call of " & shown(node.callee.text) else: "a call"
  of ekIndex: "an index expression"
  of ekMember: "a dotted name"
  of ekList: "a list"
  of ekUnary, ekBinary: "an expression with " & shown(node.operator)
