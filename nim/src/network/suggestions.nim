## "Did you mean …": the nearest of the names that would have been right.

import std/strutils

func editDistance(a, b: string): int =
  ## Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours, case ignored.
  let left = a.toLowerAscii
  let right = b.toLowerAscii
  var older, previous, current: seq[int]
  previous = newSeq[int](right.len + 1)
  for column in 0 .. right.len:
    previous[column] = column
  for row in 1 .. left.len:
    current = newSeq[int](right.len + 1)
    current[0] = row
    for column in 1 .. right.len:
      let cost = if left[row - 1] == right[column - 1]: 0 else: 1
      var best = min(min(current[column - 1] + 1, previous[column] + 1), previous[column - 1] + cost)
      if row > 1 and column > 1 and left[row - 1] == right[column - 2] and left[row - 2] == right[column - 1]:
        best = min(best, older[column - 2] + 1)
      current[column] = best
    older = previous
    previous = current
  previous[right.len]

func nearest*(name: string; candidates: openArray[string]): string =
  ## The candidate within a third of the name's length, or "" when none is that near.
  const longest = 64
  if name.len == 0 or name.len > longest:
    return ""
  var best = max(1, name.len div 3) + 1
  for candidate in candidates:
    if candidate.len <= longest and abs(candidate.len - name.len) < best:
      let distance = editDistance(name, candidate)
      if distance < best:
        best = distance
        result = candidate

func list*(names: openArray[string]; limit = 12): string =
  ## "a, b, c": at most `limit` names, then how many more.
  for idx, name in names:
    if idx == limit:
      return result & " and " & $(names.len - limit) & " more"
    if idx > 0:
      result.add ", "
    result.add name

func oneOf*(names: openArray[string]): string =
  ## What is accepted, for the "expected" line.
  if names.len == 1: names[0] else: "one of " & list(names, 20)

func nearestHint*(name: string; candidates: openArray[string]): string =
  ## A hint when there is a near candidate, otherwise nothing.
  let best = nearest(name, candidates)
  if best.len > 0:
    result = "did you mean '" & best & "'?"

func didYouMean*(name: string; candidates: openArray[string]): string =
  ## A hint: the nearest candidate, or what there is to choose from.
  result = nearestHint(name, candidates)
  if result.len == 0 and candidates.len > 0:
    result = "known: " & list(candidates)
