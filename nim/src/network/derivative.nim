## Partial derivatives of formulas, simplified by the constructors of `formula` as they are built.

import formula

func derivative*(f: Formula; name: string): Formula

func ofCall(f: Formula; name: string): Formula =
  let u = f.args[0]
  let inner = u.derivative(name)
  case f.function
  of "exp": f * inner
  of "log": inner / u
  of "log10": inner / (u * number(2.302585092994046))
  of "sqrt": inner / (number(2) * f)
  of "sin": call("cos", u) * inner
  of "cos": negative(call("sin", u) * inner)
  of "tan": inner / (call("cos", u) ^ number(2))
  of "sinh": call("cosh", u) * inner
  of "cosh": call("sinh", u) * inner
  of "tanh": (number(1) - f ^ number(2)) * inner
  of "exprel":
    # (e^u - exprel(u)) / u, and its series where that cancels.
    call("where", binary("<", call("abs", u), number(0.01)), number(0.5) + u / number(3), (call("exp", u) - f) / u) * inner
  of "abs": call("sign", u) * inner
  of "min": call("where", binary("<", u, f.args[1]), inner, f.args[1].derivative(name))
  of "max": call("where", binary(">", u, f.args[1]), inner, f.args[1].derivative(name))
  of "clip":
    call("where", binary("<", u, f.args[1]), f.args[1].derivative(name),
         call("where", binary(">", u, f.args[2]), f.args[2].derivative(name), inner))
  of "where": call("where", u, f.args[1].derivative(name), f.args[2].derivative(name))
  else: number(0)          # constant between jumps

func derivative*(f: Formula; name: string): Formula =
  ## ∂f/∂name; every other symbol is a constant.
  if not f.uses(name):
    return number(0)
  case f.kind
  of fkSymbol: number(1)
  of fkNegate: negative(f.inner.derivative(name))
  of fkBinary:
    case f.operator
    of "+": f.left.derivative(name) + f.right.derivative(name)
    of "-": f.left.derivative(name) - f.right.derivative(name)
    of "*": f.left.derivative(name) * f.right + f.left * f.right.derivative(name)
    of "/":
      if f.right.uses(name):
        (f.left.derivative(name) * f.right - f.left * f.right.derivative(name)) / (f.right * f.right)
      else:
        f.left.derivative(name) / f.right
    of "^":
      if f.right.uses(name):
        f * (f.right.derivative(name) * call("log", f.left) + f.right * f.left.derivative(name) / f.left)
      else:
        f.right * (f.left ^ (f.right - number(1))) * f.left.derivative(name)
    else: number(0)
  of fkCall: f.ofCall(name)
  else: number(0)
