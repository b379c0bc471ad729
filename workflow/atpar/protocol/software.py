"""Versions of the packages that a stage computes with."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from atpar.canonical import digest


@cache
def package_version(name: str) -> str | None:
    """Return the installed version of a distribution, None if it isn't installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return each package's installed version."""
    return {name: package_version(name) for name in sorted(set(packages))}


def software_digest(packages: Iterable[str]) -> str:
    """Return a digest of the packages' versions; no module is imported for it."""
    return digest(versions(packages))[:16]
