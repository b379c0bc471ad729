"""Offers: what can be rented and compared."""

from typing import Literal

from pydantic import Field, field_validator

from atpar.config.base import HERE_WORDS, Model, Name


class Offer(Model):
    """One row of the offers table; `provider`, `gpu` and `billing` find its price."""

    offer: Name
    """Its name."""
    provider: str
    """Provider, as written in the tariff files."""
    gpu: str
    """GPU name, as written in the tariff files (a tariff of this machine's CPU is one too)."""
    billing: Literal["package", "hourly"] = "package"
    """A whole package, or running hours."""
    lots: int = Field(1, ge=1)
    """Lots rented; how many cards a lot holds is in the tariff and never multiplied twice."""
    term_days: int | None = Field(None, ge=1)
    """The package's length; null: the cheapest that covers the window."""
    further_terms_days: str | None = Field(None, pattern=r"^\d+(,\d+)*$")
    """Packages engaged after the first, stated by hand: `3` or `7,3`. Never extended by itself."""
    sku: str | None = None
    """The article in the tariff file, where provider, GPU and billing fit several."""
    region: str | None = None
    """The region in the tariff file, where prices differ between regions."""
    storage_gb: str | None = Field(None, pattern=r"^\d+(\.\d+)?$")
    """Disk kept during the window, in GB; null: not stated, so a gap in the ledger."""
    egress_gb: str | None = Field(None, pattern=r"^\d+(\.\d+)?$")
    """Data fetched from the rental, in GB; null: not stated, so a gap in the ledger."""
    device_name: str | None = None
    """The card as its driver spells it (`NVIDIA H100 PCIe`); null: told from `gpu`; `*`: whatever
    this machine has, its CPU too."""
    network: str | None = None
    """Its network as you know it (`10 Gbit/s, shared`); stated, never measured."""
    partition: str | None = Field(None, pattern=r"^[\w.,-]+$")
    """Slurm: the partition that has it."""
    gres: str | None = Field(None, pattern=r"^\w+(:[\w.]+)?(:\d+[TGM]?)?$")
    """Slurm: its generic resource, such as `gpu:b200:2`."""
    constraint: str | None = None
    """Slurm: node features it needs."""
    node: str | None = Field(None, pattern=r"^[\w.-]+$")
    """Slurm: the one node on which all of its passes run; null: any that fits."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: a GPU if there is one (ROCm answers as cuda in torch), else the CPU."""
    threads: int | None = Field(None, ge=1)
    """Threads for computing on the CPU; null: every core this process may use."""

    @field_validator("offer")
    @classmethod
    def _can_be_named_by_here(cls, name: str) -> str:
        if name.lower() in HERE_WORDS:
            raise ValueError(
                f"{name!r} can't be an offer's name: `here: {name.lower()}` has a meaning of its "
                "own; take another name"
            )
        return name
