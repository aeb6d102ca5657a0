"""Measured choices among ways to compute a product: a database for each architecture, and the tuner that fills it."""

from amdgpu.tuning.database import Database, database_of, export_database, import_database
from amdgpu.tuning.entries import Entry, Product
from amdgpu.tuning.run import Report, tune
from amdgpu.tuning.shapes import products_of

__all__ = [
    "Database",
    "Entry",
    "Product",
    "Report",
    "database_of",
    "export_database",
    "import_database",
    "products_of",
    "tune",
]
