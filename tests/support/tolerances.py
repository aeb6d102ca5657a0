"""Tolerances by operation and dtype, with their reasons."""

import numpy as np

# Higham, Accuracy and Stability of Numerical Algorithms, section 3.5: |computed - exact| <= k * eps * sum |a||b| for any order.
EPS = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}

# float32 forward pass of layers up to 1,000 wide, values of order 1: two implementations that sum in different orders.
NETWORK_FORWARD = 1e-4
# Rows of a float32 softmax over up to 1,000 columns.
SOFTMAX_ROW_SUM = 1e-5
# Activations computed in float32 against float64: a few units in the last place.
ACTIVATION = 2e-6


def matmul_bound(a, b, dtype):
    """Elementwise bound for a @ b computed in `dtype`."""
    k = a.shape[1]
    return (
        k * EPS[np.dtype(dtype)] * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)) + np.finfo(dtype).tiny
    )
