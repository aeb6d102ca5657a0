"""The kernel corpus: every kernel of tests/kernels with inputs, a NumPy oracle and tolerances, by family.

`CORPUS` is the one list. A kernel is added as tests/kernels/FAMILY/NAME.hip with a function NAME in tests/corpus/FAMILY.py.
"""

import importlib

from corpus.case import CORPUS, KERNELS, Entry, Launch, difference

FAMILIES = (
    "basics",
    "stencils",
    "reductions",
    "scans",
    "matrices",
    "sparse",
    "graphs",
    "monte_carlo",
    "images",
    "transforms",
    "bits",
    "dynamic",
    "physics",
    "learning",
    "transformers",
    "waves",
    "types",
    "language",
)
for family in FAMILIES:
    importlib.import_module(f"corpus.{family}")

__all__ = ["CORPUS", "FAMILIES", "KERNELS", "Entry", "Launch", "difference"]
