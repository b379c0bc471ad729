#!/usr/bin/env python3
"""Price GPU rentals from a dated tariff file.

    python price.py --gpu rtx-4090 --days 7 --lots 2
    python price.py --gpu b200 --days 7 --accepted-results 1
    python price.py --gpu rtx-4090 --lots 2 --from 2026-12-07T09:00 --to 2026-12-11T09:00 \\
        --zone Europe/Paris

This file works alone: Python 3.10 or newer, its standard library, and a tariff CSV beside it.
The workflow imports the same file, so there is one implementation of every price.

Amounts are exact (`Decimal` and `Fraction`) until they are rounded once, half up, to two decimals.
A package is engaged whole: price of one lot x lots. A lot can hold several cards, and they are
never multiplied again. An empty cell in a tariff file means unknown; it never means zero.
"""

import argparse
import csv
import datetime as dt
import json
import re
import sys
import zoneinfo
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

UTC = dt.timezone.utc  # noqa: UP017 - datetime.UTC needs Python 3.11
HOUR = dt.timedelta(hours=1)
MICROSECOND = dt.timedelta(microseconds=1)
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
DECIMALS = {"point": ".", "comma": ","}
DIALECT = "#tariff separator=comma decimal=point"
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class PriceError(Exception):
    """Something a person can put right, said in one message."""


@dataclass(frozen=True)
class Tariff:
    """One price: a row of a tariff file. None is unknown, and said so wherever it matters."""

    provider: str
    gpu: str
    gpus_per_lot: int
    """Cards in one lot, or in one instance where a provider rents instances."""
    billing: str
    """`package`: a lot for `term_days`; `hourly`: as long as it runs."""
    price: Decimal
    price_per: str
    """What `price` buys: a `lot`, an `instance` (a lot of one instance), or one `gpu`."""
    currency: str
    priced_on: dt.date
    source: str
    term_days: "Decimal | None" = None
    step_s: "int | None" = None
    """Hourly: running time is rounded up to this many seconds."""
    minimum_s: "int | None" = None
    """Hourly: the least that is billed."""
    billed_from: "str | None" = None
    """Hourly: what starts billing (order, boot, ready)."""
    billed_until: "str | None" = None
    """Hourly: what ends billing (shutdown, stop, release)."""
    stopped_per_hour: "Decimal | None" = None
    """Hourly: price of one stopped lot for an hour, disk apart."""
    setup_h: "Decimal | None" = None
    """Hours at the start of a package that can't be used."""
    end_margin_h: "Decimal | None" = None
    """Hours before the end of a package when machines are taken back."""
    lead_time_h: "Decimal | None" = None
    min_lots: "int | None" = None
    max_lots: "int | None" = None
    disk_included_gb: "Decimal | None" = None
    """Disk in the price of the whole rental, however many lots it has."""
    storage_per_gb_month: "Decimal | None" = None
    """A month is 730 hours."""
    egress_included_gb: "Decimal | None" = None
    """Transfer out in the price of the whole rental, however many lots it has."""
    egress_per_gb: "Decimal | None" = None
    tax_included: "str | None" = None
    """`yes` or `no`."""
    after_expiry: "str | None" = None
    """What happens when the package ends."""
    region: "str | None" = None
    sku: "str | None" = None
    notes: "str | None" = None
    file: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.file}, line {self.line}"

    @property
    def key(self) -> tuple:
        """What a price is for; two rows with one key and one date are duplicates."""
        names = (self.provider, self.gpu, self.sku or "", self.region or "")
        return (*(spelling(name) for name in names), self.billing, self.price_per, self.term_days)

    @property
    def lot_price(self) -> Decimal:
        """Price of one lot: for the term, or for one running hour."""
        return self.price * self.gpus_per_lot if self.price_per == "gpu" else self.price

    @property
    def usable(self) -> "dt.timedelta | None":
        """The part of a package that work can use; None for hourly billing."""
        if self.billing != "package":
            return None
        lost = (self.setup_h or 0) + (self.end_margin_h or 0)
        return hours(self.term_days * 24 - lost)

    def amount(self, lots: int, running: dt.timedelta = HOUR, stopped=dt.timedelta()) -> Decimal:
        """Return what `lots` cost: the whole package, or the billed and the stopped hours.

        `running` and `stopped` only matter to hourly billing. PriceError: more or fewer lots than
        are offered, or a stopped time whose price isn't known.
        """
        self.check_lots(lots)
        if self.billing == "package":
            return to_cents(self.lot_price * lots)
        total = Fraction(self.lot_price) * lots * in_hours(self.billed(running))
        if stopped:
            if self.stopped_per_hour is None:
                raise PriceError(f"{self.where}: what a stopped {self.gpu} costs isn't known")
            total += Fraction(self.stopped_per_hour) * lots * in_hours(stopped)
        return to_cents(total)

    def billed(self, running: dt.timedelta) -> dt.timedelta:
        """Return the time that hourly billing charges for: the minimum, then whole steps."""
        step = dt.timedelta(seconds=self.step_s) if self.step_s else None
        return billed_time(running, step, dt.timedelta(seconds=self.minimum_s or 0))

    def is_offered(self, lots: int) -> bool:
        """Return whether so many lots can be rented."""
        return lots >= (self.min_lots or 1) and (self.max_lots is None or lots <= self.max_lots)

    def check_lots(self, lots: int) -> None:
        """Refuse a number of lots that isn't offered."""
        if not self.is_offered(lots):
            bounds = f"from {self.min_lots or 1}"
            bounds += f" to {self.max_lots}" if self.max_lots is not None else ""
            raise PriceError(f"{self.where}: {lots} lots of {self.gpu}; it is offered {bounds}")

    def age_days(self, day: dt.date) -> int:
        """Return how many days old the price is on `day`."""
        return (day - self.priced_on).days


def billed_time(running, step=None, minimum=dt.timedelta()) -> dt.timedelta:
    """Return the time charged for a running time: at least the minimum, then whole steps."""
    if running < dt.timedelta():
        raise PriceError("a running time can't be negative")
    charged = max(running, minimum)
    # timedelta is a whole number of microseconds, so 3600.0000001 s from a sum of floats is 3600 s
    # and one hour, not two.
    return -(-charged // step) * step if step else charged


def to_cents(amount) -> Decimal:
    """Round an exact amount (Decimal, Fraction, int) once, half away from zero, to 0.01."""
    amount = Fraction(amount)
    cents = (abs(amount) * 200 + 1) // 2
    # From text, because arithmetic on Decimal would round to the context's 28 digits.
    return Decimal(f"{cents if amount >= 0 else -cents}E-2")


def hours(count) -> dt.timedelta:
    """Return so many hours (Decimal, Fraction, int), to the nearest microsecond."""
    return round(Fraction(count) * 3_600_000_000) * MICROSECOND


def in_hours(duration: dt.timedelta) -> Fraction:
    """Return a duration as an exact number of hours."""
    return Fraction(duration // MICROSECOND, 3_600_000_000)


def show_hours(duration: dt.timedelta) -> str:
    """Return a duration in hours, at most two decimals: `96 h`, `0.25 h`."""
    text = f"{to_cents(in_hours(duration)):f}"
    return text.rstrip("0").rstrip(".") + " h"


def parse_duration(text: str) -> dt.timedelta:
    """Read `96h`, `4d`, `90min`, `45s` or a chain such as `1d 12h`. PriceError on anything else."""
    units = {"d": 24, "h": 1, "min": Fraction(1, 60), "s": Fraction(1, 3600)}
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(d|h|min|s)(?![a-z])", text.strip())
    if not parts or re.sub(r"\s+", "", text) != "".join(map("".join, parts)):
        raise PriceError(f"{text!r} is no duration; write it as 96h, 4d, 90min, 45s or 1d 12h")
    try:
        return hours(sum(Fraction(number) * units[unit] for number, unit in parts))
    except OverflowError:
        raise PriceError(f"{text!r} is too long; write a duration of less than 10^9 days") from None


def find_zone(name: str) -> zoneinfo.ZoneInfo:
    """Return the time zone of that name, or say what a name looks like."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise PriceError(
            f"{name!r} is no time zone; write a name such as Europe/Paris or UTC"
        ) from None


def to_utc(text: str, zone: str) -> dt.datetime:
    """Read a local date and time of `zone` as an instant in UTC.

    A time that a clock change skips doesn't exist; one that it repeats needs its offset
    (`2026-10-25T02:30+01:00`). Both are refused rather than guessed.
    """
    try:
        local = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise PriceError(f"{text!r} is no date and time; write it as 2026-12-07T09:00") from None
    if not 1970 <= local.year <= 9000:  # beyond, a zone's offset leaves what can be computed with
        raise PriceError(f"{text!r} is in no year to rent in; write it as 2026-12-07T09:00")
    if local.tzinfo is not None:
        return local.astimezone(UTC)
    first, second = (local.replace(tzinfo=find_zone(zone), fold=fold) for fold in (0, 1))
    instants = [one.astimezone(UTC) for one in (first, second)]
    if instants[0] == instants[1]:
        return instants[0]
    # Two readings that lead back to the same wall clock: repeated. Otherwise: skipped.
    if instants[0].astimezone(first.tzinfo).replace(tzinfo=None) == local:
        offsets = " or ".join(one.isoformat()[-6:] for one in (first, second))
        raise PriceError(f"{text} happens twice in {zone}; add the offset that is meant: {offsets}")
    raise PriceError(f"{text} doesn't exist in {zone}: the clocks skip it")


def spelling(name: str) -> str:
    """Return a name as it is compared: `RTX 4090`, `rtx_4090` and `RTX-4090` are one."""
    return re.sub(r"[\s_-]+", "-", name.strip().lower())


def read_tariffs(path) -> list:
    """Read a tariff file. PriceError names the line, what was expected and what to do.

    UTF-8. The first line declares the dialect, so that nothing is guessed:
    `#tariff separator=comma|semicolon|tab decimal=point|comma`. Further lines that start with `#`
    are comments.
    """
    path = Path(path)
    try:
        # Only a line feed ends a row: a cell may hold what else str.splitlines takes for one.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise PriceError(f"{path}: no such tariff file") from None
    except UnicodeDecodeError as error:
        raise PriceError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    separator, mark = _dialect(path, lines)
    numbered = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip(" " + separator) and not line.startswith("#")
    ]
    if len(numbered) < 2:
        raise PriceError(f"{path}: no prices below the header row")
    header = _header(path, *numbered[0], separator)
    tariffs = [
        _tariff(path, number, line, header, separator, mark) for number, line in numbered[1:]
    ]
    seen = {}
    for tariff in tariffs:
        first = seen.setdefault((tariff.key, tariff.priced_on), tariff)
        if first is not tariff:
            raise PriceError(
                f"{tariff.where}: the same price as line {first.line} (provider, gpu, sku, region, "
                "billing, term and date); keep one"
            )
    return tariffs


def _dialect(path, lines) -> tuple:
    # Spreadsheets add separators and quotes to a line of one cell when they save it.
    words = lines[0].strip(',;\t"').split() if lines else []
    said = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    separator = SEPARATORS.get(said.get("separator", ""))
    mark = DECIMALS.get(said.get("decimal", ""))
    if not words or words[0] != "#tariff" or separator is None or mark is None:
        raise PriceError(
            f"{path}, line 1: declare how the file is written, for example {DIALECT!r} "
            f"(separator: {', '.join(SEPARATORS)}; decimal: {', '.join(DECIMALS)})"
        )
    if separator == mark:
        raise PriceError(f"{path}, line 1: the separator and the decimal mark are both a comma")
    return separator, mark


def _columns() -> list:
    return [field.name for field in fields(Tariff) if field.name not in ("file", "line")]


def _header(path, number, line, separator) -> list:
    header = [cell.strip() for cell in _cells(path, number, line, separator)]
    needed = ["provider", "gpu", "gpus_per_lot", "billing", "price", "price_per", "currency"]
    for name in header:
        if name not in _columns() or header.count(name) > 1:
            raise PriceError(
                f"{path}, line {number}: column {name!r} is unknown or named twice, or the "
                f"separator isn't the declared one; known: {', '.join(_columns())}"
            )
    for name in [*needed, "priced_on", "source"]:
        if name not in header:
            raise PriceError(f"{path}, line {number}: the column {name!r} is missing")
    return header


def _cells(path, number, line, separator) -> list:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error as error:
        raise PriceError(
            f"{path}, line {number}: {error}; a cell that holds quotes or separators stands in "
            "quotes, with quotes inside it doubled, on one line"
        ) from None


def _tariff(path, number, line, header, separator, mark) -> Tariff:
    where = f"{path}, line {number}"
    cells = _cells(path, number, line, separator)
    if len(cells) != len(header):
        raise PriceError(f"{where}: {len(cells)} cells under {len(header)} columns")
    values = {}
    for field in fields(Tariff):
        cell = cells[header.index(field.name)].strip() if field.name in header else ""
        if cell:
            values[field.name] = _typed(cell, field, mark, where)
        elif field.name in header and "None" not in str(field.type):
            raise PriceError(f"{where}: {field.name} is empty; every price states it")
    tariff = Tariff(**values, file=str(path), line=number)
    _check(tariff)
    return tariff


def _typed(cell, field, mark, where):
    kind = str(getattr(field.type, "__name__", field.type))
    if "Decimal" in kind or "int" in kind:
        pattern = r"-?\d+" if "int" in kind else rf"-?\d+(?:{re.escape(mark)}\d+)?"
        if not re.fullmatch(pattern, cell):
            raise PriceError(
                f"{where}: {field.name} is {cell!r}; expected a number without thousands "
                f"separators, with {mark!r} before the decimals as line 1 declares"
            )
        number = int(cell) if "int" in kind else Decimal(cell.replace(mark, "."))
        if number < 0:
            raise PriceError(f"{where}: {field.name} is {cell}; it can't be negative")
        return number
    if "date" in kind:
        try:
            return dt.date.fromisoformat(cell)
        except ValueError:
            raise PriceError(f"{where}: {field.name} is {cell!r}; write 2026-09-24") from None
    return cell


def _check(tariff) -> None:
    allowed = {
        "billing": ("package", "hourly"),
        "price_per": ("lot", "instance", "gpu"),
        "tax_included": (None, "yes", "no"),
        "billed_from": (None, "order", "boot", "ready"),
        "billed_until": (None, "shutdown", "stop", "release"),
    }
    for name, values in allowed.items():
        if getattr(tariff, name) not in values:
            known = ", ".join(value for value in values if value)
            raise PriceError(f"{tariff.where}: {name} is {getattr(tariff, name)!r}; known: {known}")
    if not re.fullmatch("[A-Z]{3}", tariff.currency):
        raise PriceError(f"{tariff.where}: currency is {tariff.currency!r}; write USD, EUR, ...")
    if tariff.gpus_per_lot < 1:
        raise PriceError(f"{tariff.where}: a lot holds at least one GPU (or one CPU)")
    if (tariff.billing == "package") != bool(tariff.term_days):
        raise PriceError(f"{tariff.where}: a package states its term_days, an hourly price doesn't")
    try:
        nothing_left = tariff.billing == "package" and tariff.usable <= dt.timedelta()
    except (OverflowError, ArithmeticError):
        raise PriceError(f"{tariff.where}: a term of {tariff.term_days} days is none") from None
    if nothing_left:
        raise PriceError(f"{tariff.where}: setup and end margin leave nothing of the package")


def newest(tariffs) -> list:
    """Keep the newest price of each thing; PriceError if two files differ on one day."""
    kept = {}
    for tariff in tariffs:
        other = kept.get(tariff.key)
        if other and other.priced_on == tariff.priced_on:
            raise PriceError(f"{tariff.where}: {other.where} has a price of the same day; keep one")
        if other is None or tariff.priced_on > other.priced_on:
            kept[tariff.key] = tariff
    return list(kept.values())


@dataclass(frozen=True)
class Candidate:
    """One way of renting for a window."""

    tariff: Tariff
    lots: int
    amount: Decimal
    unused: dt.timedelta
    """Paid time outside the window: the tail of a package, or what rounding up added."""

    def describe(self) -> str:
        """Return the candidate as one line."""
        tariff = self.tariff
        kind = f"{tariff.term_days:f}-day package" if tariff.billing == "package" else "hourly"
        cost = f"{self.amount} {tariff.currency}"
        return f"{tariff.provider} {tariff.gpu}, {kind}: {cost}, {show_hours(self.unused)} unused"


def candidates(tariffs, lots: int, window: dt.timedelta, stopped=dt.timedelta()) -> list:
    """Return what covers `window`, cheapest first: every package that fits, and hourly billing.

    Amounts of several currencies aren't compared: each currency has its own stretch of the list.
    `stopped` is the part of the window in which an hourly rental is stopped.
    """
    found = []
    for tariff in tariffs:
        try:
            if tariff.billing == "hourly":
                running = window - stopped
                amount = tariff.amount(lots, running, stopped)
                found.append(Candidate(tariff, lots, amount, tariff.billed(running) - running))
            elif tariff.usable >= window:
                amount = tariff.amount(lots)
                found.append(Candidate(tariff, lots, amount, hours(tariff.term_days * 24) - window))
        except PriceError:
            continue  # not offered in so many lots, or a stopped time whose price isn't known
    return sorted(found, key=lambda one: (one.tariff.currency, one.amount, one.unused))


def alternatives(tariffs, lots: int, window: dt.timedelta) -> list:
    """Say what else there is where what is meant doesn't cover; nothing is extended by itself.

    Returns lines, of packages that are offered in so many lots: those that cover the window, for
    each of the others several periods priced one by one, and, if none covers, what would have to
    be cut for the longest one.
    """
    packages = [one for one in tariffs if one.billing == "package" and one.is_offered(lots)]
    packages.sort(key=lambda tariff: tariff.usable)
    lines = []
    for tariff in packages:
        periods = -(-window // tariff.usable)
        price = tariff.amount(lots)
        days = f"{tariff.term_days:f}"
        if periods <= 1:
            lines.append(
                f"the {days}-day package of {tariff.provider} {tariff.gpu} covers it: "
                f"{price} {tariff.currency}"
            )
        else:
            lines.append(
                f"{periods} periods of {days} days of {tariff.provider} {tariff.gpu}, "
                f"priced one by one: {periods} x {price} = {periods * price} {tariff.currency}"
            )
    if packages and packages[-1].usable < window:
        longest = packages[-1]
        cut = window - longest.usable
        lines.append(
            f"cut {show_hours(cut)} from the calendar, so that it fits the "
            f"{longest.term_days:f}-day package: {longest.amount(lots)} {longest.currency}"
        )
    return lines


def matching(tariffs, gpu: str, provider: "str | None" = None) -> list:
    """Return the prices of that GPU (and provider), or name the known ones."""
    found = [
        tariff
        for tariff in tariffs
        if spelling(tariff.gpu) == spelling(gpu)
        and (provider is None or spelling(tariff.provider) == spelling(provider))
    ]
    if found:
        return found
    known = sorted({f"{tariff.gpu} ({tariff.provider})" for tariff in tariffs})
    wanted = gpu if provider is None else f"{gpu} of {provider}"
    raise PriceError(f"no price for {wanted}; known: {', '.join(known)}")


def count_gpus(number: int) -> str:
    """Return `one GPU`, `two GPUs`, `16 GPUs`."""
    word = WORDS[number] if number < len(WORDS) else str(number)
    return f"{word} GPU" + ("s" if number != 1 else "")


def price_package(tariffs, days, lots: int, accepted: "int | None") -> dict:
    """Price `lots` of the package of `days` days; the answer as plain values."""
    packages = [tariff for tariff in tariffs if tariff.billing == "package"]
    found = [tariff for tariff in packages if tariff.term_days == days]
    if not found:
        known = ", ".join(f"{one.term_days:f}" for one in packages) or "none, only hourly prices"
        raise PriceError(f"no package of {days} days for {tariffs[0].gpu}; known days: {known}")
    if len(found) > 1:
        ways = "; ".join(f"{one.provider} {one.sku or ''} ({one.where})" for one in found)
        raise PriceError(f"several prices for it, so name one with --provider or --sku: {ways}")
    tariff = found[0]
    amount = tariff.amount(lots)
    answer = {
        "amount": str(amount),
        "currency": tariff.currency,
        "gpus": lots * tariff.gpus_per_lot,
        "gpu": tariff.gpu,
        "days": str(days),
        "lots": lots,
        "price_of_a_lot": str(to_cents(tariff.lot_price)),
        "gpus_per_lot": tariff.gpus_per_lot,
        "provider": tariff.provider,
        "priced_on": tariff.priced_on.isoformat(),
        "source": tariff.source,
    }
    if accepted is not None:
        answer["accepted_results"] = accepted
        answer["cost_per_accepted_result"] = (
            str(to_cents(Fraction(amount) / accepted)) if accepted else None
        )
    return answer


def read_days(text: "str | None") -> "Decimal | None":
    """Read the number of days that a flag states; None without it."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise PriceError(f"--days is {text!r}; write a number of days as 7 or 1.5")
    return Decimal(text)


def find_window(arguments) -> "dt.timedelta | None":
    """Return the window that the flags state, from instants in UTC; None without any."""
    ends = [arguments.begin, arguments.end]
    if arguments.window and any(ends):
        raise PriceError("give --window, or --from and --to, not both")
    if arguments.window:
        window = parse_duration(arguments.window)
    elif all(ends):
        window = to_utc(arguments.end, arguments.zone) - to_utc(arguments.begin, arguments.zone)
    elif any(ends):
        raise PriceError("a window needs both --from and --to")
    else:
        return None
    if window <= dt.timedelta():
        raise PriceError("the window ends before it starts, or is empty")
    return window


def answer_window(tariffs, lots: int, window: dt.timedelta) -> dict:
    """List the candidates for a window, or the alternatives if there is no package that covers."""
    found = candidates(tariffs, lots, window)
    covered = any(one.tariff.billing == "package" for one in found)
    return {
        "window_h": str(to_cents(in_hours(window))),
        "candidates": [
            {
                "provider": one.tariff.provider,
                "gpu": one.tariff.gpu,
                "billing": one.tariff.billing,
                "days": None if one.tariff.term_days is None else f"{one.tariff.term_days:f}",
                "lots": lots,
                "amount": str(one.amount),
                "currency": one.tariff.currency,
                "unused_h": str(to_cents(in_hours(one.unused))),
                "text": one.describe(),
            }
            for one in found
        ],
        "alternatives": [] if covered else alternatives(tariffs, lots, window),
    }


def show(answer: dict) -> str:
    """Return the answer as text for a person."""
    lines = []
    if "amount" in answer:
        gpus, lots = count_gpus(answer["gpus"]), answer["lots"]
        cards = count_gpus(answer["gpus_per_lot"])
        lines += [
            f"{answer['amount']} {answer['currency']} for {gpus}",
            f"  {answer['gpu']}, {answer['days']} days, {lots} lot{'s' * (lots != 1)} of {cards}: "
            f"{lots} x {answer['price_of_a_lot']} {answer['currency']}",
            f"  {answer['provider']}, priced on {answer['priced_on']}; {answer['source']}",
        ]
    if "accepted_results" in answer:
        cost = answer["cost_per_accepted_result"]
        said = "undefined: no result was accepted, and the spending stays"
        said = said if cost is None else f"{cost} {answer['currency']}"
        lines.append(f"  cost per accepted result ({answer['accepted_results']}): {said}")
    if "window_h" in answer:
        lines.append(f"window: {answer['window_h']} h")
        lines += [f"  candidate: {one['text']}" for one in answer["candidates"]]
        if not answer["candidates"] and not answer["alternatives"]:
            lines.append("  nothing is offered in so many lots")
        if answer["alternatives"]:
            lines.append("  no package covers this window; nothing is extended by itself:")
            lines += [f"  - {line}" for line in answer["alternatives"]]
    return "\n".join(lines)


def find_tariff_files(given) -> list:
    """Return the files named, else the tariff files beside this file or in resources/tariffs."""
    if given:
        return [Path(name) for name in given]
    for folder in (Path("resources/tariffs"), Path(__file__).parent, Path()):
        found = [path for path in sorted(folder.glob("*.csv")) if _is_tariff_file(path)]
        if found:
            return found
    raise PriceError("no tariff file found; name one with --tariff FILE.csv")


def _is_tariff_file(path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        return stream.readline().lstrip('"').startswith("#tariff")


def add_arguments(parser) -> None:
    """Declare the flags."""
    parser.add_argument("--gpu", required=True, help="GPU name, as in the tariff file")
    parser.add_argument("--days", help="the package's days")
    parser.add_argument(
        "--lots", type=int, default=1, help="lots rented (a lot may hold several GPUs)"
    )
    parser.add_argument("--accepted-results", type=int, help="adds the cost per accepted result")
    parser.add_argument("--window", help="list what covers a window: 96h, 4d, 1d 12h")
    parser.add_argument("--from", dest="begin", help="window from: 2026-12-07T09:00")
    parser.add_argument("--to", dest="end", help="window to")
    parser.add_argument("--zone", default="UTC", help="time zone of --from and --to (default UTC)")
    parser.add_argument("--provider", help="only this provider's prices")
    parser.add_argument("--sku", help="only this article's prices")
    parser.add_argument("--tariff", action="append", metavar="FILE", help="tariff file; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments) -> str:
    """Return what to print. PriceError on anything a person can put right."""
    if arguments.lots < 1:
        raise PriceError("--lots must be at least 1")
    if arguments.accepted_results is not None and arguments.accepted_results < 0:
        raise PriceError("--accepted-results can't be negative")
    if arguments.accepted_results is not None and arguments.days is None:
        raise PriceError("--accepted-results needs --days: a cost per result needs one price")
    days = read_days(arguments.days)
    files = find_tariff_files(arguments.tariff)
    tariffs = newest([tariff for path in files for tariff in read_tariffs(path)])
    tariffs = matching(tariffs, arguments.gpu, arguments.provider)
    if arguments.sku:
        tariffs = [one for one in tariffs if spelling(one.sku or "") == spelling(arguments.sku)]
        if not tariffs:
            raise PriceError(f"no price of the article {arguments.sku!r} for {arguments.gpu}")
    window = find_window(arguments)
    if days is None and window is None:
        known = sorted({one.term_days for one in tariffs if one.term_days})
        known = ", ".join(f"{term:f}" for term in known) or "none, only hourly prices"
        raise PriceError(f"give --days (known for {arguments.gpu}: {known}) or a window")
    answer = {}
    if days is not None:
        answer |= price_package(tariffs, days, arguments.lots, arguments.accepted_results)
    if window is not None:
        answer |= answer_window(tariffs, arguments.lots, window)
    return json.dumps(answer, indent=2) if arguments.json else show(answer)


def main(argv=None) -> int:
    """Run the command; exit status 2 and one message on bad input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_arguments(parser)
    try:
        print(run(parser.parse_args(argv)))
    except PriceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
