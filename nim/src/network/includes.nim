## `include "file"`: the statements of another file in the place of the statement. Relative paths start at the file that includes, and for
## the text itself where its front end says: the working directory for texts, the folder of the module for macros.

import std/[os, unicode]
import ast, diagnostics, limits, parser, vocabulary

proc readIncluded(path: string; text: var string): string =
  ## What is wrong with the file, or "".
  when nimvm:
    discard                # the interpreter reads files and asks nothing about them
  else:
    if not fileExists(path):
      return "there is no file " & shown(path)
    if getFileSize(path) > MaxTextBytes:
      return "the file " & shown(path) & " is larger than " & $MaxTextBytes & " bytes"
  try:
    text = readFile(path)
  except IOError:
    return "the file " & shown(path) & " cannot be read"
  if text.len > MaxTextBytes:
    return "the file " & shown(path) & " is larger than " & $MaxTextBytes & " bytes"
  if validateUtf8(text) >= 0:
    return "the file " & shown(path) & " is not UTF-8"

proc expandIncludes*(statements: seq[Statement]; folder: string; report: var Report; open: seq[string] = @[]): seq[Statement] =
  ## `open` are the files that lead here.
  for statement in statements:
    if statement.kind != stCommand or statement.keyword != "include":
      result.add statement
      continue
    let node = statement.operand
    if node == nil or node.kind != ekString or node.text.len == 0 or '\0' in node.text or statement.hasBody:
      report.error(statement.span, "'include' needs the path of a file", expected = "include \"cells.net\"")
      continue
    let path = if node.text.isAbsolute or folder.len == 0: node.text else: folder / node.text
    if path in open:
      report.error(node.span, "the file " & shown(path) & " includes itself", hint = "remove one of the include statements")
      continue
    if report.files.len >= MaxIncludes:
      report.error(node.span, "too many files are included", expected = "at most " & $MaxIncludes)
      return
    var text: string
    let problem = readIncluded(path, text)
    if problem.len > 0:
      report.error(node.span, problem, expected = "a file with statements of a network")
      continue
    report.files.add (path, text)
    let inner = parseText(text, report, report.files.len)
    var body: seq[Statement]
    for part in inner:
      # The line `neuralNetwork NAME:` of a file that is a network itself says nothing here.
      if part.keyword == NetworkKeyword and part.hasBody: body.add part.body
      else: body.add part
    result.add expandIncludes(body, path.parentDir, report, open & path)
