## Floating-point numbers as text: the shortest decimal that reads back as the same float64.
##
## Steele and White, "How to print floating-point numbers accurately" (PLDI 1990), the method known as Dragon4, with exact integers.
## Written here because Nim 1.6 prints 16 digits, which do not always read back, and cannot print at compile time, where the macro front end
## needs the very same text.

type
  Natural32s = seq[uint32]
    ## An unsigned integer of any size, least significant part first.

func fromInt(value: uint64): Natural32s =
  @[uint32(value and 0xFFFF_FFFF'u64), uint32(value shr 32)]

func trim(number: var Natural32s) =
  while number.len > 0 and number[^1] == 0:
    number.setLen number.len - 1

func scale(number: var Natural32s; factor: uint32) =
  var carry = 0'u64
  for idx in 0 ..< number.len:
    let product = uint64(number[idx]) * uint64(factor) + carry
    number[idx] = uint32(product and 0xFFFF_FFFF'u64)
    carry = product shr 32
  if carry > 0:
    number.add uint32(carry)

func shiftLeft(number: var Natural32s; bits: int) =
  for _ in 1 .. bits div 31:
    number.scale(1'u32 shl 31)
  number.scale(1'u32 shl (bits mod 31))

func plus(a, b: Natural32s): Natural32s =
  var carry = 0'u64
  for idx in 0 ..< max(a.len, b.len):
    var sum = carry
    if idx < a.len: sum += uint64(a[idx])
    if idx < b.len: sum += uint64(b[idx])
    result.add uint32(sum and 0xFFFF_FFFF'u64)
    carry = sum shr 32
  if carry > 0:
    result.add uint32(carry)

func compare(a, b: Natural32s): int =
  var left = a
  var right = b
  left.trim
  right.trim
  if left.len != right.len:
    return cmp(left.len, right.len)
  for idx in countdown(left.len - 1, 0):
    if left[idx] != right[idx]:
      return cmp(left[idx], right[idx])

func subtract(a: var Natural32s; b: Natural32s) =
  ## a -= b, where a >= b.
  var borrow = 0'i64
  for idx in 0 ..< a.len:
    var difference = int64(a[idx]) - borrow - (if idx < b.len: int64(b[idx]) else: 0)
    borrow = 0
    if difference < 0:
      difference += 0x1_0000_0000'i64
      borrow = 1
    a[idx] = uint32(difference)

func decompose(value: float): tuple[mantissa: uint64; exponent: int] =
  ## value = mantissa * 2^exponent with a 53-bit mantissa, fewer bits for subnormal numbers. By exact scaling, since bits cannot be read
  ## at compile time.
  const top = 9007199254740992.0      # 2^53
  var scaled = value
  var exponent = 0
  while scaled >= top:
    scaled = scaled / 2
    inc exponent
  while scaled < top / 2 and exponent > -1074:
    scaled = scaled * 2
    dec exponent
  (uint64(scaled), exponent)

func shortestDigits(value: float): tuple[digits: string; pointAt: int] =
  ## Digits d1 d2 … with value = 0.d1d2… * 10^pointAt, for value > 0.
  let (mantissa, exponent) = decompose(value)
  let isBoundary = mantissa == 4503599627370496'u64 and exponent > -1074
  let inclusive = (mantissa and 1) == 0
  # value = numerator / denominator; neighbours are half of `above` and `below` away.
  var numerator = fromInt(mantissa)
  var denominator = fromInt(1)
  var above = fromInt(1)
  var below = fromInt(1)
  numerator.shiftLeft(if isBoundary: 2 else: 1)
  denominator.shiftLeft(if isBoundary: 2 else: 1)
  if isBoundary:
    above.shiftLeft(1)
  if exponent > 0:
    numerator.shiftLeft(exponent)
    above.shiftLeft(exponent)
    below.shiftLeft(exponent)
  else:
    denominator.shiftLeft(-exponent)

  func reaches(sum, denominator: Natural32s; inclusive: bool): bool =
    let order = compare(sum, denominator)
    order > 0 or (inclusive and order == 0)

  var pointAt = 0
  while reaches(numerator.plus(above), denominator, inclusive):
    denominator.scale(10)
    inc pointAt
  while true:
    var ten = numerator.plus(above)
    ten.scale(10)
    if reaches(ten, denominator, inclusive):
      break
    numerator.scale(10)
    above.scale(10)
    below.scale(10)
    dec pointAt

  var digits = ""
  while true:
    numerator.scale(10)
    above.scale(10)
    below.scale(10)
    var digit = 0
    while compare(numerator, denominator) >= 0:
      numerator.subtract(denominator)
      inc digit
    let order = compare(numerator, below)
    let low = order < 0 or (inclusive and order == 0)
    let high = reaches(numerator.plus(above), denominator, inclusive)
    if not low and not high:
      digits.add char('0'.ord + digit)
      continue
    let twice = compare(numerator.plus(numerator), denominator)
    if high and (not low or twice >= 0):
      inc digit
    digits.add char('0'.ord + digit)
    break
  (digits, pointAt)

func floatText*(value: float): string =
  ## A JSON number with a point or an exponent, so that it reads as a fraction everywhere. `value` is finite.
  if value == 0:
    return if 1.0 / value < 0: "-0.0" else: "0.0"
  if value < 0:
    return "-" & floatText(-value)
  let (digits, pointAt) = shortestDigits(value)
  if pointAt in -3 .. 0:
    result = "0."
    for _ in 1 .. -pointAt:
      result.add '0'
    result.add digits
  elif pointAt in 1 .. 16:
    for idx in 0 ..< max(digits.len, pointAt):
      if idx == pointAt:
        result.add '.'
      result.add(if idx < digits.len: digits[idx] else: '0')
    if digits.len <= pointAt:
      result.add ".0"
  else:
    result.add digits[0]
    if digits.len > 1:
      result.add "." & digits[1 .. ^1]
    result.add "e" & $(pointAt - 1)
