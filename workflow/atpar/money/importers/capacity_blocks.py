"""AWS capacity-block offerings (JSON of `describe-capacity-block-offerings`): flat packages.

An offering is a fixed period for a number of instances at one upfront fee. How many cards an
instance holds isn't in the file, so the user states it. Instances are ended 30 minutes before the
block ends, so its last half hour can't be used
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html).
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from atpar.errors import AtparError
from atpar.money.calculator import Tariff
from atpar.money.importers.common import Imported, Origin, amount, count

END_MARGIN_H = Decimal("0.5")
NEEDED = (
    "capacityBlockOfferingId",
    "instanceType",
    "instanceCount",
    "startDate",
    "endDate",
    "capacityBlockDurationHours",
    "upfrontFee",
    "currencyCode",
)


def import_capacity_blocks(
    path: Path, origin: Origin, cards: Mapping[str, tuple[str, int]], provider: str = "aws"
) -> Imported:
    """Read offerings. `cards` maps an instance type to its GPU's name and count.

    The keys are read in the spelling of the API (`upfrontFee`) and of the command line
    (`UpfrontFee`).
    """
    try:
        answer = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise AtparError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise AtparError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise AtparError(f"{path}, line {error.lineno}: no JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise AtparError(f"{path}: no JSON that can be read ({error})") from None
    if isinstance(answer, Mapping):
        answer = _lower(answer).get("capacityBlockOfferings")
    if not isinstance(answer, list):
        raise AtparError(f"{path}: expected a list, or an object with CapacityBlockOfferings")
    found = Imported()
    for number, offering in enumerate(answer, start=1):
        if not isinstance(offering, Mapping):
            raise AtparError(f"{path}, offering {number}: expected an object, found {offering!r}")
        found.add(_tariff(path, number, _lower(offering), origin, cards, provider))
    return found


def _lower(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key[:1].lower() + key[1:]: one for key, one in value.items()}


def _tariff(path, number, offering, origin, cards, provider) -> Tariff:
    where = f"{path}, offering {number}"
    for key in NEEDED:
        if offering.get(key) in (None, ""):
            raise AtparError(f"{where}: {key} is missing")
    for key in (*NEEDED, "availabilityZone"):
        found = offering.get(key)
        if isinstance(found, list | Mapping | bool):
            raise AtparError(f"{where}: {key} is {found!r}; expected text or a number")
    kind = offering["instanceType"]
    if kind not in cards:
        raise AtparError(
            f"{where}: how many GPUs a {kind} holds isn't in the file; state it, for example "
            f"--cards {kind}=h100:8"
        )
    gpu, each = cards[kind]
    hours = amount(str(offering["capacityBlockDurationHours"]), where, "capacityBlockDurationHours")
    return Tariff(
        provider=provider,
        gpu=gpu,
        gpus_per_lot=each * count(str(offering["instanceCount"]), where, "instanceCount"),
        billing="package",
        price=amount(str(offering["upfrontFee"]), where, "upfrontFee"),
        price_per="lot",
        currency=str(offering["currencyCode"]),
        priced_on=origin.priced_on,
        source=origin.source,
        term_days=hours / 24,
        end_margin_h=END_MARGIN_H,
        min_lots=1,
        max_lots=1,
        after_expiry="instances are ended 30 minutes before the block ends",
        region=str(offering.get("availabilityZone") or "") or None,
        sku=str(offering["capacityBlockOfferingId"]),
        notes=(
            f"{offering['instanceCount']} x {kind}, {offering['startDate']} to "
            f"{offering['endDate']}; can't be changed or cancelled"
        ),
        file=str(path),
        line=number,
    )
