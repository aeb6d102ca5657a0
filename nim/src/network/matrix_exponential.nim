## The exponential of a small matrix and its integral, in float64, with nothing but + - * / and square roots so that every machine and the compiler of the
## macro front end compute the same bits.
##
## Scaling and squaring with a Taylor series: Moler and Van Loan, "Nineteen dubious ways to compute the exponential of a matrix,
## twenty-five years later" (SIAM Review 45, 2003), method 3. Variables of very different units are first brought to one scale.

import std/math

type
  Matrix* = seq[seq[float]]

const
  TaylorTerms = 18         ## 0.5^18 / 18! is below the last bit of float64

func zeros(size: int): Matrix =
  for _ in 1 .. size:
    result.add newSeq[float](size)

func product(a, b: Matrix): Matrix =
  result = zeros(a.len)
  for row in 0 ..< a.len:
    for inner in 0 ..< a.len:
      if a[row][inner] != 0:
        for column in 0 ..< a.len:
          result[row][column] += a[row][inner] * b[inner][column]

func transposed(a: Matrix): Matrix =
  result = zeros(a.len)
  for row in 0 ..< a.len:
    for column in 0 ..< a.len:
      result[column][row] = a[row][column]

func scales(a: Matrix): seq[float] =
  ## Powers of two d such that a[i][j] * d[j] / d[i] is at most about the largest diagonal element where that is possible.
  var largest = 1.0
  for idx in 0 ..< a.len:
    largest = max(largest, abs(a[idx][idx]))
  for _ in 0 ..< a.len:
    result.add 1.0
  for _ in 1 .. a.len:
    for row in 0 ..< a.len:
      for column in 0 ..< a.len:
        if row != column and a[row][column] != 0:
          while abs(a[row][column]) * result[column] / result[row] > largest and result[row] < 1e100:
            result[row] = result[row] * 2

func exponential*(a: Matrix): Matrix =
  ## e^a.
  let size = a.len
  let scale = scales(a)
  var scaled = zeros(size)
  var norm = 0.0
  for row in 0 ..< size:
    var sum = 0.0
    for column in 0 ..< size:
      scaled[row][column] = a[row][column] * scale[column] / scale[row]
      sum += abs(scaled[row][column])
    norm = max(norm, sum)
  var squarings = 0
  while norm > 0.5 and squarings < 64:
    norm = norm / 2
    inc squarings
  for _ in 1 .. squarings:
    for row in scaled.mitems:
      for value in row.mitems:
        value = value / 2
  result = zeros(size)
  for idx in 0 ..< size:
    result[idx][idx] = 1
  var term = result
  for order in 1 .. TaylorTerms:
    term = product(term, scaled)
    for row in 0 ..< size:
      for column in 0 ..< size:
        term[row][column] = term[row][column] / float(order)
        result[row][column] += term[row][column]
  for _ in 1 .. squarings:
    result = product(result, result)
  for row in 0 ..< size:
    for column in 0 ..< size:
      result[row][column] = result[row][column] * scale[row] / scale[column]

func propagators*(a: Matrix; dt: float; state, input: var Matrix) =
  ## For x' = a x + b with constant b: x(dt) = state * x(0) + input * b. Van Loan 1978: both stand in the exponential of [[a, 1], [0, 0]].
  let size = a.len
  var whole = zeros(2 * size)
  for row in 0 ..< size:
    for column in 0 ..< size:
      whole[row][column] = a[row][column] * dt
    whole[row][size + row] = dt
  let solved = exponential(whole)
  state = zeros(size)
  input = zeros(size)
  for row in 0 ..< size:
    for column in 0 ..< size:
      state[row][column] = solved[row][column]
      input[row][column] = solved[row][size + column]

func noiseCovariance*(a: Matrix; strengths: seq[float]; dt: float): Matrix =
  ## Of x' = a x + noise at dt: the integral of e^(a s) g g^T e^(a^T s) over s from 0 to dt, where g has the strengths on its diagonal.
  ##
  ## A Taylor series for a step that is short against every time constant, doubled as often as needed: each doubling carries the
  ## covariance over the second half and adds that of the first.
  let size = a.len
  result = zeros(size)
  var isThere = false
  for strength in strengths:
    isThere = isThere or strength != 0
  if not isThere:
    return
  # `over` is a times the short step, in units in which its entries are of one size.
  var over = zeros(size)
  for row in 0 ..< size:
    for column in 0 ..< size:
      over[row][column] = a[row][column] * dt
  let scale = scales(over)
  var norm = 0.0
  for row in 0 ..< size:
    var sum = 0.0
    for column in 0 ..< size:
      over[row][column] = over[row][column] * scale[column] / scale[row]
      sum += abs(over[row][column])
    norm = max(norm, sum)
  var doublings = 0
  var share = 1.0
  while norm > 0.25 and doublings < 64:
    norm = norm / 2
    share = share / 2
    inc doublings
  for row in over.mitems:
    for value in row.mitems:
      value = value * share
  var term = zeros(size)
  for idx, strength in strengths:
    term[idx][idx] = strength / scale[idx] * (strength / scale[idx]) * dt * share
  for order in 1 .. TaylorTerms:
    for row in 0 ..< size:
      for column in 0 ..< size:
        result[row][column] += term[row][column]
    let moved = product(over, term)
    for row in 0 ..< size:
      for column in 0 ..< size:
        term[row][column] = (moved[row][column] + moved[column][row]) / float(order + 1)
  var state = exponential(over)
  for _ in 1 .. doublings:
    let carried = product(product(state, result), transposed(state))
    for row in 0 ..< size:
      for column in 0 ..< size:
        result[row][column] += carried[row][column]
    state = product(state, state)
  for row in 0 ..< size:
    for column in 0 ..< size:
      result[row][column] = result[row][column] * scale[row] * scale[column]

func lowerTriangle*(covariance: Matrix): Matrix =
  ## Cholesky: l with l l^T = covariance; a direction without noise has a column of zeros.
  const least = 1e-13    # of a variance: below are roundings
  let size = covariance.len
  result = zeros(size)
  for column in 0 ..< size:
    var pivot = covariance[column][column]
    for inner in 0 ..< column:
      pivot -= result[column][inner] * result[column][inner]
    if pivot <= least * covariance[column][column]:
      continue
    result[column][column] = sqrt(pivot)
    for row in column + 1 ..< size:
      var sum = covariance[row][column]
      for inner in 0 ..< column:
        sum -= result[row][inner] * result[column][inner]
      result[row][column] = sum / result[column][column]
