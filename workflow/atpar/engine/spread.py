"""A model spread over several GPUs, because it is too large for one card [P25].

accelerate decides which layers go where and moves what they hand on; the pass speaks to all of the
cards as to one device.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from atpar.engine.devices import CudaDevice, Device, Reasoned
from atpar.engine.refused import Refused


def spread_note(model: Any) -> str:
    """Return which cards hold how many parts of the model.

    Raises Refused where a part was left to the host's memory or disk: the pass would compute on
    the CPU while a GPU's price is paid.
    """
    places = Counter(str(place) for place in model.hf_device_map.values())
    outside = sorted(places.keys() & {"cpu", "disk", "meta"})
    if outside:
        left = sum(places[one] for one in outside)
        raise Refused(
            f"device_map: the model doesn't fit into the GPUs, {left} of {places.total()} parts of "
            f"it went to {', '.join(outside)}; rent more cards, or declare a smaller precision"
        )
    each = (f"{place} ({count})" for place, count in sorted(places.items()))
    return f"the model is spread over GPUs: {', '.join(each)} parts"


class SpreadDevice:
    """Several GPUs that one process computes on; the first one takes inputs and gives results.

    What isn't told here is the first one's own: its queue ends with the last layer's results, which
    accelerate hands back to it.
    """

    def __init__(self, cards: Sequence[Device]) -> None:
        self._first, self._cards = cards[0], list(cards)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)

    @property
    def name(self) -> str:
        """The cards' names, each once."""
        return ", ".join(dict.fromkeys(card.name for card in self._cards))

    @property
    def uuid(self) -> str | None:
        """The first card's UUID; the others' are in environment.json."""
        return self._first.uuid

    def synchronise(self) -> None:
        """Wait until all cards are done."""
        for card in self._cards:
            card.synchronise()

    def trim(self) -> None:
        """Give back what no tensor of any card uses."""
        for card in self._cards:
            card.trim()

    def reset_peaks(self) -> None:
        """Set the peaks of all cards back."""
        for card in self._cards:
            card.reset_peaks()

    def peaks(self, scope: str) -> Reasoned:
        """Return each card's own peaks, the further ones as `peak_device<n>_...`; never added."""
        values, reasons = self._first.peaks(scope)
        values, reasons = dict(values), dict(reasons)
        for number, card in enumerate(self._cards[1:], start=1):
            more, why = card.peaks(scope)
            values |= {_of_card(name, number): value for name, value in more.items()}
            reasons |= {_of_card(name, number): reason for name, reason in why.items()}
        return values, reasons

    def used_by_process(self) -> Reasoned:
        """Return the driver's count of each card."""
        values, reasons = {}, {}
        for number, card in enumerate(self._cards):
            more, why = card.used_by_process()
            values |= {_of_card(name, number): value for name, value in more.items()}
            reasons |= {_of_card(name, number): reason for name, reason in why.items()}
        return values, reasons


def spread_over(cards: int) -> SpreadDevice:
    """Return the first so many GPUs as one device."""
    # The card made last is torch's current one: that is to be the first, which takes the inputs.
    made = [CudaDevice(number) for number in reversed(range(cards))]
    return SpreadDevice(made[::-1])


def _of_card(name: str, number: int) -> str:
    return name.replace("device", f"device{number}", 1) if number else name
