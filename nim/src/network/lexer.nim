## Text to logical lines of tokens.
##
## A logical line is one statement: it ends at a newline outside brackets and not after an operator or comma. Comments start with `#`.
## The lexer never fails: what it cannot read it reports and skips.

import std/[parseutils, strutils, unicode]
import diagnostics, limits, vocabulary

type
  TokenKind* = enum
    tkName, tkInt, tkFloat, tkString, tkOperator, tkOpen, tkClose, tkComma, tkColon, tkAssign, tkEnd

  Token* = object
    kind*: TokenKind
    spaceBefore*: bool
    span*: Span
    text*: string
    intValue*: int64
    floatValue*: float

  Lexer* = object
    text: string
    position: int
    line, column: int
    file: int

  LogicalLine* = object
    indent*: int           ## columns before the first token
    tokens*: seq[Token]    ## ends with a tkEnd
    damaged*: bool         ## something in it was reported already

const
  NameStart = {'a' .. 'z', 'A' .. 'Z', '_', '\x80' .. '\xFF'}
  NameRest = NameStart + {'0' .. '9'}
  OperatorCharacters = {'+', '-', '*', '/', '^', '<', '>', '=', '!', '.', '%', '&', '|', '~', '@', '$', '?'}
  Operators = ["+", "-", "*", "/", "^", "<", ">", "<=", ">=", "==", "!=", "->", ".", "..", "..<"]
  AssignOperators = ["=", "+=", "-=", "*=", "/="]

func initLexer*(text: sink string; file = 0): Lexer =
  ## `file` is the place of an included text in the report.
  result = Lexer(text: text, line: 1, column: 1, file: file)
  if result.text.startsWith("\xEF\xBB\xBF"):
    result.position = 3

func peek(lexer: Lexer; ahead = 0): char =
  let position = lexer.position + ahead
  if position < lexer.text.len: lexer.text[position] else: '\0'

func atEnd(lexer: Lexer): bool =
  lexer.position >= lexer.text.len

func atLineEnd(lexer: Lexer): bool =
  lexer.atEnd or lexer.peek == '\n' or (lexer.peek == '\r' and (lexer.peek(1) == '\n' or lexer.position + 1 == lexer.text.len))

func here(lexer: Lexer; length = 1): Span =
  Span(line: lexer.line, column: lexer.column, length: length, file: lexer.file)

proc advance(lexer: var Lexer) =
  ## One byte; the column moves at the last byte of a character.
  inc lexer.position
  if (lexer.peek.ord and 0xC0) != 0x80 or lexer.atEnd:
    inc lexer.column

proc newLine(lexer: var Lexer) =
  if lexer.peek == '\r':
    inc lexer.position
  if not lexer.atEnd:
    inc lexer.position
  inc lexer.line
  lexer.column = 1

proc skipBlanks(lexer: var Lexer; report: var Report) =
  ## Blanks and a comment, up to the end of the line.
  while not lexer.atLineEnd:
    case lexer.peek
    of ' ':
      lexer.advance
    of '\t':
      if not report.isIndentationUnclear:
        report.isIndentationUnclear = true
        report.error(lexer.here, "a tab character", expected = "spaces",
                     hint = "replace every tab by spaces; only the first one is reported")
      lexer.advance
    of '#':
      while not lexer.atLineEnd:
        lexer.advance
    else:
      return

func isLetterAt(lexer: Lexer; position: int): bool =
  ## Beyond ASCII everything counts as a letter but controls, blanks, punctuation, arrows, symbols and private characters.
  case int(lexer.text.runeAt(position))
  of 0x80 .. 0xA9, 0xAB .. 0xB4, 0xB6 .. 0xB9, 0xBB .. 0xBF, 0xD7, 0xF7, 0x2000 .. 0x2BFF, 0x3000 .. 0x3004, 0x3008 .. 0x3020,
     0xD800 .. 0xF8FF, 0xFE00 .. 0xFE0F, 0xFEFF, 0xFF00 .. 0xFF20, 0xFFF0 .. 0xFFFF, 0x1F000 .. 0x1FAFF, 0xE0000 .. 0x10FFFF:
    false
  else:
    true

proc readName(lexer: var Lexer; report: var Report): Token =
  let first = lexer.position
  result = Token(kind: tkName, span: lexer.here)
  while lexer.peek in NameRest and not lexer.atEnd:
    if lexer.peek >= '\x80' and not lexer.isLetterAt(lexer.position):
      break
    for _ in 1 .. lexer.text.runeLenAt(lexer.position):
      lexer.advance
  result.text = lexer.text[first ..< lexer.position]
  result.span.length = lexer.column - result.span.column
  if result.text.len > MaxNameBytes:
    report.error(result.span, "a name of " & count(result.text.len, "byte"),
                 expected = "at most " & count(MaxNameBytes, "byte"))

proc readDigits(lexer: var Lexer; digits: var string) =
  while lexer.peek in Digits or (lexer.peek == '_' and lexer.peek(1) in Digits):
    if lexer.peek != '_':
      digits.add lexer.peek
    lexer.advance

proc readNumber(lexer: var Lexer; report: var Report): Token =
  result = Token(kind: tkInt, span: lexer.here)
  var digits = ""
  var isTooLarge = false
  lexer.readDigits(digits)
  if lexer.peek == '.' and lexer.peek(1) in Digits:
    result.kind = tkFloat
    digits.add '.'
    lexer.advance
    lexer.readDigits(digits)
  if lexer.peek in {'e', 'E'}:
    let signed = lexer.peek(1) in {'+', '-'}
    if lexer.peek(if signed: 2 else: 1) in Digits:
      result.kind = tkFloat
      digits.add 'e'
      lexer.advance
      if signed:
        digits.add lexer.peek
        lexer.advance
      var exponent = ""
      lexer.readDigits(exponent)
      exponent = exponent.strip(chars = {'0'}, trailing = false)
      # Nim's own reading of numbers wraps around at exponents of 19 digits.
      isTooLarge = exponent.len > 5
      digits.add(if isTooLarge or exponent.len == 0: "0" else: exponent)
  result.text = digits
  result.span.length = lexer.column - result.span.column
  if digits.len > MaxNumberDigits:
    report.error(result.span, "the number is written with " & count(digits.len, "character"),
                 expected = "at most " & $MaxNumberDigits)
  elif result.kind == tkFloat:
    discard parseBiggestFloat(digits, result.floatValue)
    if isTooLarge or result.floatValue > 1.7976931348623157e308:
      report.error(result.span, "the number is out of range", expected = "a number between 5e-324 and 1.8e308")
      result.floatValue = 0
  else:
    for digit in digits:
      let value = digit.ord - '0'.ord
      if result.intValue > (high(int64) - value) div 10:
        report.error(result.span, "the number is too large", expected = "at most 9223372036854775807")
        result.intValue = 0
        break
      result.intValue = result.intValue * 10 + value

proc readString(lexer: var Lexer; report: var Report): Token =
  result = Token(kind: tkString, span: lexer.here)
  lexer.advance
  while true:
    if lexer.atLineEnd:
      result.span.length = lexer.column - result.span.column
      report.error(result.span, "the text is not closed", expected = "a closing '\"' on the same line")
      return
    let character = lexer.peek
    if character == '"':
      lexer.advance
      break
    if character == '\\':
      lexer.advance
      case lexer.peek
      of '"', '\\':
        result.text.add lexer.peek
        lexer.advance
      of 'n':
        result.text.add '\n'
        lexer.advance
      of 't':
        result.text.add '\t'
        lexer.advance
      else:
        report.error(lexer.here, "an unknown escape in a text", expected = "\\\", \\\\, \\n or \\t")
    else:
      result.text.add character
      lexer.advance
  result.span.length = lexer.column - result.span.column

proc readOperator(lexer: var Lexer; report: var Report; token: var Token): bool =
  ## The longest known operator; a minus that starts a number after another operator stays a token of its own.
  token = Token(kind: tkOperator, span: lexer.here)
  for length in countdown(3, 1):
    if lexer.position + length <= lexer.text.len:
      let candidate = lexer.text[lexer.position ..< lexer.position + length]
      if candidate in Operators or candidate in AssignOperators:
        token.text = candidate
        token.span.length = length
        if candidate in AssignOperators:
          token.kind = tkAssign
        for _ in 1 .. length:
          lexer.advance
        return true
  let at = lexer.here
  let text = $lexer.peek
  lexer.advance
  report.error(at, "unexpected " & shown(text))

func lookalike(character: Rune): string =
  ## What a character was probably meant to be that word processors and web pages put into a text.
  case int(character)
  of 0xA0, 0x2000 .. 0x200B, 0x202F, 0x205F, 0x3000, 0xFEFF: "write an ordinary blank"
  of 0x2010 .. 0x2015, 0x2212: "write '-'"
  of 0x2018 .. 0x201F, 0x2032, 0x2033: "texts are written with \""
  of 0x2190 .. 0x21FF: "write '->'"
  else: ""

proc skipCharacter(lexer: var Lexer; report: var Report) =
  let at = lexer.here
  let character = lexer.text.runeAt(lexer.position)
  var hint = ""
  var name = shown($character)
  case lexer.peek
  of ';': hint = "one statement on each line"
  of '{', '}': hint = "blocks are written by indentation, lists with [ ]"
  of '\'', '`': hint = "texts are written with \""
  of '\x80' .. '\xFF':
    name = "character U+" & toHex(int(character), 4)
    hint = lookalike(character)
  else:
    if character.int < ord(' ') or character.int == 0x7F:
      name = "control character U+" & toHex(int(character), 4)
  report.error(at, "unexpected " & name, hint = hint)
  for _ in 1 .. lexer.text.runeLenAt(lexer.position):
    lexer.advance

func opensStatement(lexer: Lexer): bool =
  ## At the first word of a line inside brackets: does it look like the next statement?
  var stop = lexer.position
  while stop < lexer.text.len and lexer.text[stop] in NameRest:
    inc stop
  if not startsStatement(lexer.text[lexer.position ..< stop]):
    return false
  var after = stop
  while after < lexer.text.len and lexer.text[after] == ' ':
    inc after
  after > stop and after < lexer.text.len and lexer.text[after] in NameStart + {'[', '"'}

func continues(token: Token): bool =
  ## A line that ends in such a token goes on in the next one.
  token.kind in {tkComma, tkAssign} or (token.kind == tkOperator and token.text != ".")

proc closeBrackets(open: var seq[Token]; line: var LogicalLine; report: var Report; why: string) =
  for bracket in open:
    report.error(bracket.span, shown(bracket.text) & " is not closed" & why)
    line.damaged = true
  open.setLen 0

proc readPunctuation(lexer: var Lexer; open: var seq[Token]; report: var Report; token: var Token): bool =
  ## Brackets, commas and colons; keeps account of the open brackets. False for a bracket that cannot be taken.
  token = Token(span: lexer.here, text: $lexer.peek)
  lexer.advance
  result = true
  case token.text[0]
  of ',': token.kind = tkComma
  of ':': token.kind = tkColon
  of '(', '[':
    token.kind = tkOpen
    if open.len < MaxNesting:
      open.add token
    else:
      report.error(token.span, "brackets are nested too deeply", expected = "at most " & $MaxNesting & " levels")
      result = false
  else:
    token.kind = tkClose
    let wanted = if token.text == ")": "(" else: "["
    if open.len > 0 and open[^1].text == wanted:
      open.setLen open.len - 1
    else:
      report.error(token.span, shown(token.text) & " closes nothing that is open")
      result = false

proc readToken(lexer: var Lexer; open: var seq[Token]; report: var Report; token: var Token): bool =
  ## The next token of a line that has one; false when what stands there is none, which is reported.
  result = true
  if lexer.peek >= '\x80' and not lexer.isLetterAt(lexer.position):
    lexer.skipCharacter(report)
    return false
  case lexer.peek
  of NameStart: token = lexer.readName(report)
  of Digits: token = lexer.readNumber(report)
  of '"': token = lexer.readString(report)
  of '(', '[', ')', ']', ',', ':': result = lexer.readPunctuation(open, report, token)
  of OperatorCharacters: result = lexer.readOperator(report, token)
  else:
    lexer.skipCharacter(report)
    result = false

proc endBeforeStatement(lexer: var Lexer; line: var LogicalLine; open: var seq[Token]; report: var Report) =
  ## The line that was to go on is followed by a new statement: it ends here, and the lexer goes back to the start of its line.
  if open.len > 0:
    closeBrackets(open, line, report, " before the next statement")
  else:
    let last = line.tokens[^1]
    report.error(last.span, "the statement ends after " & shown(last.text), expected = "a value after it")
    line.damaged = true
  lexer.position -= lexer.column - 1
  lexer.column = 1

proc nextLine*(lexer: var Lexer; line: var LogicalLine; report: var Report): bool =
  ## Reads the next statement's tokens; false at the end of the text.
  line = LogicalLine()
  var open: seq[Token]
  let errorsBefore = report.errorCount
  while true:
    let positionBefore = lexer.position
    lexer.skipBlanks(report)
    if lexer.atEnd or report.isFull:
      if line.tokens.len == 0:
        return false
      closeBrackets(open, line, report, "")
      break
    if lexer.atLineEnd:
      lexer.newLine
      if line.tokens.len > 0 and open.len == 0 and not line.tokens[^1].continues:
        break
      continue
    if line.tokens.len == 0:
      line.indent = lexer.column - 1
    elif line.tokens[^1].span.line != lexer.line and lexer.peek in NameStart and lexer.opensStatement:
      lexer.endBeforeStatement(line, open, report)
      break
    var token: Token
    let spaced = lexer.position > positionBefore
    if not lexer.readToken(open, report, token):
      continue
    token.spaceBefore = spaced
    if line.tokens.len < MaxStatementTokens:
      line.tokens.add token
    elif not line.damaged:
      report.error(token.span, "the statement is too long", expected = "at most " & $MaxStatementTokens & " words and signs")
      line.damaged = true
  let last = line.tokens[^1].span
  line.tokens.add Token(kind: tkEnd, span: Span(line: last.line, column: last.column + last.length, length: 1, file: last.file))
  line.damaged = line.damaged or report.errorCount > errorsBefore
  true
