## The shortest text of a float64 reads back as the same number, at run time and at compile time.

import std/[random, strutils, unittest]
import ../src/network/numbers

const atCompileTime = [floatText(0.1), floatText(-0.5), floatText(5e-324), floatText(1.7976931348623157e308),
                       floatText(0.30000000000000004), floatText(1e22), floatText(1.0), floatText(0.0001)]

suite "numbers as text":
  test "known values":
    check floatText(0.0) == "0.0"
    check floatText(-0.0) == "-0.0"
    check floatText(1.0) == "1.0"
    check floatText(0.001) == "0.001"
    check floatText(1e-7) == "1e-7"
    check floatText(123456789012345680.0) == "1.2345678901234568e17"
    check floatText(9007199254740992.0) == "9007199254740992.0"
    check floatText(1e23) == "1e23"
    check floatText(2.2250738585072014e-308) == "2.2250738585072014e-308"

  test "compile time and run time agree":
    check atCompileTime == [floatText(0.1), floatText(-0.5), floatText(5e-324), floatText(1.7976931348623157e308),
                            floatText(0.30000000000000004), floatText(1e22), floatText(1.0), floatText(0.0001)]

  test "random bit patterns read back exactly in at most 24 characters":
    var random = initRand(20)
    for _ in 1 .. 300:
      let value = cast[float](random.next())
      if value == value and abs(value) <= 1.7976931348623157e308:
        let text = floatText(value)
        check parseFloat(text) == value
        check text.len <= 25
