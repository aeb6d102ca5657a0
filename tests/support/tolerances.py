"""The one table of tolerances by operation and dtype, with their reasons.

A bound that belongs to one function alone stands with its oracle: `math_oracle.py` for the device library, `ops_oracle.ulps` for distances.
"""

import numpy as np
from amdgpu._generated.dtypes import FORMATS, PRECISIONS

# Higham, Accuracy and Stability of Numerical Algorithms, section 3.5: |computed - exact| <= k * eps * sum |a||b| for any order.
EPS = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}

# Two implementations of an operation of `amdgpu.ops` that round in different places: rounded once from float32, a few units in the last
# place.
ELEMENTWISE = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}
# The same for sums of a thousand values in another order.
SUMMED = {"float32": 2e-5, "float64": 1e-12, "float16": 5e-3, "bfloat16": 4e-2}
# Products relative to the sum of absolute products, by the number format of a kernel: rounding of operands and results, and of sums over a
# few thousand products.
PRODUCT_KERNEL = {name: row.product_error for name, row in FORMATS.items() if row.product_error is not None}
# The same by the precision of `matrix_multiply`, whose sums of float32 follow another order on each side.
PRODUCT_CALL = {name: row.call_error for name, row in PRECISIONS.items()}

# float32 forward pass of layers up to 1,000 wide, values of order 1: two implementations that sum in different orders.
NETWORK_FORWARD = 1e-4
# Gradients of one batch relative to their largest value: sums over a batch and over layers up to 1,000 wide, in another order.
TRAINING_GRADIENT = 2e-5
# Weights and losses after some 30 steps of an optimizer, which carries such differences on; Adam divides by roots of small squares.
TRAINING_WEIGHTS = 5e-4
# Rows of a float32 softmax over up to 1,000 columns.
SOFTMAX_ROW_SUM = 1e-5
# Activations computed in float32 against float64: a few units in the last place.
ACTIVATION = 2e-6
# States and weights of spiking networks, relative to the largest: float32 has 6e-8, and 400 steps of traces and sums add some hundred
# roundings.
SPIKING_STATE = 2e-5
# In volts: the float32 state of a neuron near -50 mV has steps of 4e-9 V; 1000 steps of a contraction keep errors near ten of them.
MEMBRANE_VOLTAGE = 2e-7


def matmul_bound(a, b, dtype):
    """Elementwise bound for a @ b computed in `dtype`."""
    k = a.shape[1]
    return (
        k * EPS[np.dtype(dtype)] * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)) + np.finfo(dtype).tiny
    )
