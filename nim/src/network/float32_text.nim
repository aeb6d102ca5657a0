## float64 numbers as float literals of C, rounded to float32 by arithmetic, so that the macro front end writes the same text.

import limits, numbers

func roundToFloat32*(value: float): float =
  ## The nearest float32, ties to even. Veltkamp's splitting; below the normal range by adding a number whose last bit is the wanted one.
  if value == 0 or value != value or abs(value) > MaxFloat32:
    return value
  if abs(value) < 1.1754943508222875e-38:
    const anchor = 6.310887241768095e-30   # 2^-97, whose last bit in float64 is 2^-149
    return (value + anchor) - anchor
  let high = value * 536870913.0           # 2^29 + 1
  high - (high - value)

func float32Literal*(value: float): string =
  ## `0.5f`: reads back as exactly the float32 nearest to `value`.
  if value != value:
    return "NAN"
  if value > MaxFloat32:
    return "INFINITY"
  if value < -MaxFloat32:
    return "(-INFINITY)"
  let text = floatText(roundToFloat32(value)) & "f"
  if value < 0: "(" & text & ")" else: text
