"""Balance and ledger: what is paid, and for what."""

from atpar.report.material import Material
from atpar.report.sections.blocks import Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import (
    DASH,
    VERDICTS,
    Mark,
    each_seconds,
    flag,
    money,
    number,
    plain,
)


def _amount(title: str, key: str, reason: str, **more: str) -> Column:
    return Column(title, key, money, numeric=True, reason=reason, unit="currency", **more)


def _hourly(row: Row) -> str | None:
    return "billed by the hour: there is no package" if row.get("billing") == "hourly" else None


ADMISSIBLE: dict[str, Mark] = {"yes": "good", "no": "bad"}

BALANCE = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Admissible", "admissible", marks=ADMISSIBLE, otherwise="nothing was decided yet"),
    Column("Quality", "quality_verdict", marks=VERDICTS, reason="unmeasured"),
    Column("Accepted", "accepted", numeric=True),
    _amount("Engaged", "engaged_amount", "engaged_reason", remark="engaged_reason"),
    _amount("Per deliverable", "cost_per_deliverable", "cost_per_deliverable_reason"),
    _amount(
        "Per million entries",
        "cost_per_million_entries",
        lambda row: (
            row.get("cost_per_million_entries_reason") or row.get("cost_per_deliverable_reason")
        ),
    ),
    Column("Durations, s", "durations_s", each_seconds, wide=True, reason="unmeasured"),
    Column("Window, h", "window_h", number, numeric=True),
    Column("Package, h", "package_h", number, numeric=True, reason=_hourly),
    Column("Unused, h", "unused_h", number, numeric=True, reason=_hourly),
    Column("Covers the window", "covers_window", flag, marks={"true": "good", "false": "bad"}),
    Column("Billing", "billing"),
    Column("Same rental as", "shared_with", wide=True, empty="none"),
)

LEDGER = (
    Column("Offer", "offer"),
    Column("Variant", "variant", empty="shared by all"),
    Column("Item", "item"),
    Column("Quantity", "quantity", number, numeric=True, unit="unit", reason="amount_reason"),
    Column(
        "Unit price",
        "unit_price",
        money,
        numeric=True,
        reason="amount_reason",
        unit="unit_price_currency",
        otherwise="the amount isn't a quantity times one price; see the grounds",
    ),
    _amount("Amount", "amount", "amount_reason"),
    Column("Grounds", "grounds", wide=True, empty=""),
    Column("Source", "source", wide=True, empty=""),
)

DELIVERABLES = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Deliverable", "deliverable"),
    Column("Accepted", "accepted", flag, marks={"true": "good", "false": "bad"}),
    Column("Delivered by", "attempt_id", reason="reason"),
    Column("Reason", "reason", wide=True, empty=""),
)


def balance_section(material: Material) -> Section:
    """Return the balance of [P35]: what each option costs for what was accepted."""
    return Section(
        "balance",
        "Balance",
        "What was engaged for each option and how many deliverables it gave. Repetitions of a "
        "corpus are one deliverable. The whole package is engaged, used or not.",
        [
            table(
                "balance",
                "Cost per deliverable = engaged amount / accepted deliverables. Without an "
                "accepted deliverable it is undefined, and the spending stays.",
                BALANCE,
                _with_measurements(material),
                row_headers=2,
                empty=material.emptiness("balance", "No option is in the balance yet."),
            ),
            table(
                "deliverables",
                "Expected deliverables were defined before; each accepted one counts once, however "
                "often it was repeated.",
                DELIVERABLES,
                material.rows("deliverables"),
                row_headers=3,
                empty=material.emptiness("deliverables", "No deliverable is expected."),
            ),
        ],
    )


def _with_measurements(material: Material) -> list[Row]:
    """Return the balance with each option's verdict and durations, which [P35] asks for."""
    measured = {(row.get("offer"), row.get("variant")): row for row in material.rows("summary")}
    judged = {
        (one.get("offer"), one.get("variant")): plain(one.get("admissible"))
        for one in material.document("decision").get("options", [])
    }
    rows = []
    for row in material.rows("balance"):
        own = measured.get((row.get("offer"), row.get("variant")), {})
        expected = row.get("deliverables_expected") or DASH
        rows.append(
            {
                **row,
                "admissible": judged.get((row.get("offer"), row.get("variant")), ""),
                "accepted": f"{row.get('deliverables_accepted') or DASH} of {expected}",
                "quality_verdict": own.get("quality_verdict", ""),
                "durations_s": own.get("durations_s", ""),
                "unmeasured": "no pass of this option was evaluated",
            }
        )
    return rows


def ledger_section(material: Material) -> Section:
    """Return every expense with its grounds; a gap is shown as one."""
    return Section(
        "ledger",
        "Ledger",
        "Each expense with its grounds and source. An amount that isn't known is a gap, not zero.",
        [
            table(
                "ledger",
                "Expenses by offer; a rental that several variants share is engaged once.",
                LEDGER,
                material.rows("ledger"),
                row_headers=3,
                empty=material.emptiness("ledger", "No expense is recorded."),
            )
        ],
    )
