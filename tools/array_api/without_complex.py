"""A plugin of pytest: leaves out what the suite tests of complex numbers even where their dtypes are skipped, the special cases."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases of complex numbers have real and imaginary parts in their name."""
    kept = [item for item in items if "real(" not in item.nodeid and "imag(" not in item.nodeid]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
