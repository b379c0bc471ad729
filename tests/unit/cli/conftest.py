"""Files that the commands read."""

from pathlib import Path

import pytest


@pytest.fixture
def known_tariff():
    """Return the tariff file with the two known prices."""
    root = Path(__file__).parents[3]
    return root / "resources" / "tariffs" / "iteragpu-2026-09-24.csv"
