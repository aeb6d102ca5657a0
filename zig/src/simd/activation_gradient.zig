//! Gradients of activations on vectors: what a value's change does to its result, times the gradient of the result.

const std = @import("std");
const elementary = @import("elementary.zig");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

/// The whole gradient where x is positive, else the share `below` of it.
pub inline fn piecewise(comptime V: type, x: V, below: V, gradient: V) V {
    return @select(Element(V), x > all(V, 0), gradient, below * gradient);
}

pub inline fn relu(comptime V: type, x: V, gradient: V) V {
    return @select(Element(V), x <= all(V, 0), all(V, 0), gradient);
}

/// alpha e^x below zero.
pub inline fn elu(comptime V: type, x: V, gradient: V, alpha: V) V {
    const T = Element(V);
    const below = alpha * elementary.exp(V, @select(T, x > all(V, 0), all(V, 0), x));
    return piecewise(V, x, below, gradient);
}

/// (1 + erf(x / sqrt 2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi)
pub inline fn gelu(comptime V: type, x: V, gradient: V) V {
    const share = all(V, 0.5) + all(V, 0.5) * elementary.erf(V, x * all(V, std.math.sqrt1_2));
    const density = all(V, 0.39894228040143267794) * elementary.exp(V, all(V, -0.5) * x * x);
    // At infinities x e^(-x^2 / 2) is zero, not infinity times zero.
    const slope = @select(Element(V), density == all(V, 0), all(V, 0), x * density);
    return gradient * (share + slope);
}

/// The sigmoid s at u and its slope s (1 - s), neither of which cancels.
inline fn parts(comptime V: type, u: V) struct { value: V, slope: V } {
    const power = elementary.exp(V, -@abs(u));
    const inverse = all(V, 1) / (all(V, 1) + power);
    const small = power * inverse;
    return .{ .value = @select(Element(V), u < all(V, 0), small, inverse), .slope = small * inverse };
}

/// With s the sigmoid of u = 2 sqrt(2 / pi) (x + 0.044715 x^3), x s has the derivative s + x s (1 - s) u'.
pub inline fn geluTanh(comptime V: type, x: V, gradient: V) V {
    const factor = all(V, 2 * 0.79788456080286535588);
    const x2 = x * x;
    const sigmoids = parts(V, factor * (x + all(V, 0.044715) * x2 * x));
    const inner = factor * (all(V, 1) + all(V, 3 * 0.044715) * x2);
    const slope = @select(Element(V), sigmoids.slope == all(V, 0), all(V, 0), x * sigmoids.slope * inner);
    return gradient * (sigmoids.value + slope);
}

/// s (1 + x (1 - s))
pub inline fn silu(comptime V: type, x: V, gradient: V) V {
    const sigmoids = parts(V, x);
    const slope = @select(Element(V), sigmoids.slope == all(V, 0), all(V, 0), x * sigmoids.slope);
    return gradient * (sigmoids.value + slope);
}

/// From the result y of the sigmoid.
pub inline fn sigmoid(comptime V: type, y: V, gradient: V) V {
    return gradient * (y * (all(V, 1) - y));
}

/// From the result y of the hyperbolic tangent.
pub inline fn tanh(comptime V: type, y: V, gradient: V) V {
    return gradient * ((all(V, 1) - y) * (all(V, 1) + y));
}

pub inline fn softplus(comptime V: type, x: V, gradient: V) V {
    return gradient * elementary.sigmoid(V, x);
}
