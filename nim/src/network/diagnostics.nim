## Findings about a network text: collected while parsing and checking, rendered all at once.

import std/[algorithm, strutils, unicode]
import limits

type
  Span* = object
    ## A place in the text; line and column count from 1, column and length in characters. Line 0 is "no place".
    line*, column*, length*: int
    file*: int             ## 0: the text itself; else the position, from 1, of an included file in the report

  Severity* = enum
    sevError = "error"
    sevWarning = "warning"

  Finding* = object
    severity*: Severity
    span*: Span
    message*: string
    expected*: string
    hint*: string

  Report* = object
    ## At most MaxFindings errors and as many warnings are kept.
    findings*: seq[Finding]
    errorCount*: int
    warningCount*: int
    files*: seq[tuple[path, text: string]]  ## that were included
    isIndentationUnclear*: bool ## a tab was found: what stands in which block cannot be judged

func span*(line, column, length: int): Span =
  Span(line: line, column: column, length: length)

func isFull*(report: Report): bool =
  ## True once another error would not be shown: parsing on brings nothing to the reader.
  report.errorCount >= MaxFindings

proc error*(report: var Report; at: Span; message: string; expected = ""; hint = "") =
  inc report.errorCount
  if report.errorCount <= MaxFindings:
    report.findings.add Finding(severity: sevError, span: at, message: message, expected: expected, hint: hint)

proc warning*(report: var Report; at: Span; message: string; hint = "") =
  inc report.warningCount
  if report.warningCount <= MaxFindings:
    report.findings.add Finding(severity: sevWarning, span: at, message: message, hint: hint)

func inTextOrder(a, b: Finding): int =
  result = cmp(a.span.file, b.span.file)
  if result == 0:
    result = cmp(a.span.line, b.span.line)
  if result == 0:
    result = cmp(a.span.column, b.span.column)

func ordered*(report: Report; severity: Severity): seq[Finding] =
  ## The findings of one severity, in the order of the text.
  for finding in report.findings:
    if finding.severity == severity:
      result.add finding
  result.sort(inTextOrder)

func shown*(name: string): string =
  ## A piece of the user's text as it appears in a message: quoted, cut when long.
  const widest = 60
  if name.len <= widest:
    return "'" & name & "'"
  var cut = widest
  while cut > 0 and (name[cut].ord and 0xC0) == 0x80:
    dec cut
  "'" & name[0 ..< cut] & "…'"

func count*(number: int; noun: string; plural = ""): string =
  if number != 1 and plural.len > 0:
    return $number & " " & plural
  result = $number & " " & noun
  if number != 1:
    result.add 's'

func nextCharacter(line: string; position: int): int =
  ## Where the character after the one at `position` starts.
  result = position + 1
  while result < line.len and (line[result].ord and 0xC0) == 0x80:
    inc result

func printable(character: string): string =
  ## One character as it can be shown: control characters as blanks, bytes that are no UTF-8 as the replacement character.
  if character.len == 1 and character[0] < ' ':
    " "
  elif validateUtf8(character) >= 0:
    "\uFFFD"
  else:
    character

func excerpt(line: string; at: Span): string =
  ## The line with a caret under the finding; of a long line only the part around it.
  const before = 60
  const width = 110
  let gutter = "  " & $at.line & " | "
  let blank = repeat(' ', gutter.len - 2) & "| "
  let first = if at.column - 1 > before and line.len > width: at.column - 1 - before else: 0
  var position = 0
  for _ in 1 .. first:
    if position < line.len:
      position = line.nextCharacter(position)
  result = gutter & (if first > 0: "…" else: "")
  var shown = 0
  while position < line.len and shown < width:
    let next = line.nextCharacter(position)
    result.add printable(line[position ..< next])
    position = next
    inc shown
  if position < line.len:
    result.add "…"
  let indent = at.column - 1 - first
  let room = max(1, shown - indent)
  result.add "\n" & blank & repeat(' ', max(0, indent + (if first > 0: 1 else: 0))) &
    repeat('^', clamp(at.length, 1, room))

type
  LineCursor = object
    ## Walks the text once while findings are rendered in the order of their lines.
    line, start: int

func lineAt(cursor: var LineCursor; text: string; line: int): string =
  while cursor.line < line:
    let next = text.find('\n', cursor.start)
    if next < 0:
      return ""
    cursor.start = next + 1
    inc cursor.line
  var stop = text.find('\n', cursor.start)
  if stop < 0:
    stop = text.len
  if stop > cursor.start and text[stop - 1] == '\r':
    dec stop
  text[cursor.start ..< stop]

func render(finding: Finding; path, text: string; cursor: var LineCursor): string =
  result = $finding.severity & ": "
  if path.len > 0:
    result.add path & ", "
  if finding.span.line > 0:
    result.add "line " & $finding.span.line & ", column " & $finding.span.column & ": "
  result.add finding.message
  if finding.span.line > 0 and text.len > 0:
    result.add "\n" & excerpt(cursor.lineAt(text, finding.span.line), finding.span)
  if finding.expected.len > 0:
    result.add "\n  expected: " & finding.expected
  if finding.hint.len > 0:
    result.add "\n  hint: " & finding.hint

func renderErrors*(report: Report; text: string): string =
  ## Every error, in the order of the text. With an empty `text` the excerpts are left out.
  var cursor = LineCursor(line: 1)
  result = "the network description has " & (if report.isFull: "many errors" else: count(report.errorCount, "error"))
  var file = 0
  for finding in report.ordered(sevError):
    if finding.span.file != file:
      file = finding.span.file
      cursor = LineCursor(line: 1)
    if file == 0: result.add "\n\n" & render(finding, "", text, cursor)
    else: result.add "\n\n" & render(finding, report.files[file - 1].path, report.files[file - 1].text, cursor)
  if report.isFull:
    result.add "\n\nonly the first " & $MaxFindings & " errors are shown; what follows them was not checked"
