"""Measured ways to compute products and convolutions, forms and variants of kernels: a database for each architecture, and more."""

from amdgpu.tuning.convolutions import Convolution, convolutions_of
from amdgpu.tuning.database import Database, database_of, export_database, import_database
from amdgpu.tuning.entries import Entry, Product, Record
from amdgpu.tuning.fused import Fused, fused_of
from amdgpu.tuning.kernels import TunedKernel, tune_kernel, tuned_kernel
from amdgpu.tuning.reductions import Reduction, reductions_of
from amdgpu.tuning.run import Report, tune
from amdgpu.tuning.shapes import products_of
from amdgpu.tuning.statistics import Stats, clear, stats

__all__ = [
    "Convolution",
    "Database",
    "Entry",
    "Fused",
    "Product",
    "Record",
    "Reduction",
    "Report",
    "Stats",
    "TunedKernel",
    "clear",
    "convolutions_of",
    "database_of",
    "export_database",
    "fused_of",
    "import_database",
    "products_of",
    "reductions_of",
    "stats",
    "tune",
    "tune_kernel",
    "tuned_kernel",
]
