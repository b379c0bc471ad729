"""Is this machine the offer it is said to be? Told from the GPUs' names and number [P8].

A tariff writes `rtx-4090`, the driver `NVIDIA GeForce RTX 4090`: every word of the tariff must be
in the driver's name, and no word that makes another card of it. Where that isn't enough, the
offers table gives the driver's spelling (`device_name`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atpar.engine.gpus import nvidia_devices, rocm_devices
from atpar.errors import AtparError

OTHER_CARD = frozenset({"ti", "super", "d", "laptop", "mobile", "max", "q", "ada", "mig"})
"""Words in a driver's name that make another card of it unless the tariff has them too."""
ANY = "*"
"""`device_name` of an offer that is whatever the machine has, such as the demo's."""


@dataclass(frozen=True)
class Card:
    """What an offer says of its GPUs."""

    offer: str
    gpu: str
    """As the tariff spells it."""
    device_name: str | None = None
    """As the driver spells it; None: told from `gpu`."""
    gpus_per_lot: int | None = None
    lots: int = 1


def visible_gpus() -> list[dict[str, Any]]:
    """Return the GPUs that this process may use, as their drivers tell of them."""
    return nvidia_devices()[0] or rocm_devices()[0]


def is_card(card: Card, name: str | None) -> bool:
    """Tell whether a GPU that its driver calls `name` is the offer's."""
    if name is None:
        return False
    if card.device_name is not None:
        return _words(card.device_name) == _words(name)
    wanted, found = set(_words(card.gpu)), set(_words(name))
    return wanted <= found and not (found - wanted) & OTHER_CARD


def fault(card: Card, devices: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why these GPUs aren't the offer's, None if they are.

    A machine holds whole lots, and no more of them than the offer rents: two lots of one card may
    be two machines.
    """
    if card.device_name == ANY:
        return None
    names = sorted({str(one["name"]) for one in devices if not is_card(card, one["name"])})
    if names:
        wanted = card.device_name or card.gpu
        return (
            f"offer {card.offer!r} is {wanted}, but this machine has {', '.join(names)}; set "
            "`here` to the offer that it is, or `device_name` in the offers table to the driver's "
            "spelling"
        )
    count, lot = len(devices), card.gpus_per_lot
    if lot is not None and (count % lot or count > lot * card.lots):
        return (
            f"offer {card.offer!r} rents {card.lots} lots of {lot} GPUs, but {count} are visible "
            "here; a machine holds whole lots (see CUDA_VISIBLE_DEVICES, and `lots` in the offers "
            "table)"
        )
    return None


def check_card(card: Card, device: Mapping[str, Any]) -> None:
    """Raise AtparError if an inspected device (environment.json) isn't the offer's.

    A CPU has no name that a tariff could spell: there is nothing to check.
    """
    found = fault(card, device["devices"]) if device["devices"] else None
    if found:
        raise AtparError(found)


def offer_here(cards: Sequence[Card], devices: Sequence[Mapping[str, Any]]) -> str:
    """Return the one offer that this machine is, for `here: auto`.

    AtparError when none fits, or several do: which one is paid for isn't guessed.
    """
    if not devices:
        raise AtparError(
            "here is 'auto', but no GPU is visible here; name the offer (--config here=NAME), or "
            "`none` on a machine that only evaluates"
        )
    faults = {card.offer: fault(card, devices) for card in cards}
    fitting = [offer for offer, found in faults.items() if found is None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise AtparError(
            f"here is 'auto', and this machine could be {', '.join(fitting)}; name the one that "
            "it is: --config here=NAME"
        )
    names = ", ".join(f"{len(devices)} x {one}" for one in sorted({d["name"] for d in devices}))
    said = "\n  ".join(str(found) for found in faults.values())
    raise AtparError(f"here is 'auto', but no offer is this machine ({names}):\n  {said}")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]+", text.lower())
