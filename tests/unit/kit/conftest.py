"""The kit as it lies in the repository."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def kit():
    """Return the folder of the stand-alone kit."""
    return REPOSITORY / "resources" / "kit"


@pytest.fixture
def known_tariff():
    """Return the tariff file with the two known prices."""
    return REPOSITORY / "resources" / "tariffs" / "iteragpu-2026-09-24.csv"
