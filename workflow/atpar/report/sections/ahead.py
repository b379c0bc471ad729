"""What would change the answer: margins, break-even, the real load, and what deciding costs."""

from typing import Any

from atpar.report.breakeven import breakeven_chart, drawn, points
from atpar.report.charts import NARROW, WIDE, Figure, to_svg
from atpar.report.material import Material
from atpar.report.sections.blocks import Listing, Section
from atpar.report.sections.paid import ADMISSIBLE
from atpar.report.tables import Column, Table, table
from atpar.report.values import flag, money, number, plain


def _amount(title: str, key: str) -> Column:
    return Column(title, key, money, numeric=True, unit="currency", reason="reason")


STRETCHES = (
    Column("From, entries", "from_entries", number, numeric=True),
    Column("To, entries", "to_entries", number, numeric=True),
    Column("Cheapest option", "option"),
    Column("Billing", "billing"),
    Column("Cost at its start", "amount_at_from", money, numeric=True, unit="currency"),
    Column("Certain", "certain", flag, marks={"true": "good", "false": "caution"}),
)

FORECAST = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Admissible", "admissible", marks=ADMISSIBLE, otherwise="nothing was decided yet"),
    Column("Work, h", "work_h", number, numeric=True),
    Column("Work from, h", "work_h_low", number, numeric=True),
    Column("Work to, h", "work_h_high", number, numeric=True),
    Column("Rental, h", "rental_h", number, numeric=True),
    Column("Rented as", "rented_as", reason="reason"),
    _amount("Cost", "amount"),
    _amount("Cost from", "amount_low"),
    _amount("Cost to", "amount_high"),
    _amount("Per million entries", "cost_per_million_entries"),
    Column("Fitted against", "method", wide=True),
    Column("Beyond what was measured", "extrapolates", flag),
)


def ahead_section(material: Material) -> Section:
    """Return how firm the choice is, and what it would be at other loads."""
    outlook = material.document("outlook")
    decision = material.document("decision")
    currency = (outlook.get("deciding") or {}).get("currency", "")
    blocks: list[Any] = []
    margins = [one["sentence"] for one in decision.get("margins") or []]
    if margins:
        blocks.append(Listing(margins, "How far things may move before the choice changes"))
    if figure := _curves(material, currency):
        blocks.append(figure)
    blocks.append(_cheapest(outlook, currency))
    if outlook.get("left_out"):
        blocks.append(Listing(outlook["left_out"], "Prices left out of the comparison"))
    if outlook.get("load"):
        blocks.append(_forecast(material, outlook["load"]))
    deciding = _deciding(decision, outlook)
    if deciding:
        blocks.append(Listing(deciding, "What deciding costs"))
    return Section(
        "ahead",
        "What would change the answer",
        "Costs of other loads are forecast from the measured passes: never a result, and no part "
        "of the balance.",
        blocks,
    )


def _curves(material: Material, currency: str) -> Figure | None:
    found = points(material.rows("breakeven"))
    if not found:
        return None
    names, every = drawn(found), len({one.way for one in found})
    more = "" if len(names) == every else f" Drawn are {len(names)} of the {every} in the table."
    return Figure(
        "breakeven",
        "Break-even: forecast cost of a load",
        f"Cost in {currency} of {min(one.entries for one in found):,} to "
        f"{max(one.entries for one in found):,} entries, for {', '.join(names)}. The table below "
        "holds the loads at which the cheapest one changes.",
        "Both axes are logarithmic. The band is the range that all measured passes agree with. A "
        f"load that no package covers is priced as several periods, one by one.{more}",
        to_svg(breakeven_chart(found, currency, WIDE - 90), "Break-even"),
        to_svg(breakeven_chart(found, currency, NARROW - 90), "Break-even"),
    )


def _cheapest(outlook: dict[str, Any], currency: str) -> Table:
    rows = [
        {
            **{name: str(one[name]) for name in one},
            "option": f"{one['variant']} on {one['offer']}",
            "certain": str(one["certain"]).lower(),
            "currency": currency,
        }
        for one in outlook.get("cheapest_by_load") or []
    ]
    absent = "outlook.json isn't there." if not outlook else "No option is admissible and priced."
    return table(
        "stretches",
        "What is cheapest at which load (forecast). Certain: it stays so at both ends of the "
        "stretch, at its own most and the others' least.",
        STRETCHES,
        rows,
        row_headers=2,
        empty=absent,
    )


def _forecast(material: Material, load: dict[str, Any]) -> Table:
    judged = {
        (one["offer"], one["variant"]): plain(one["admissible"])
        for one in material.document("decision").get("options", [])
    }
    rows = [
        {**row, "admissible": judged.get((row.get("offer"), row.get("variant")), "")}
        for row in material.rows("forecast")
    ]
    return table(
        "forecast",
        f"The real load, forecast: {plain(load['entries'])} entries of {plain(load['mean_tokens'])}"
        f" tokens on average, {plain(load['longest_tokens'])} at most.",
        FORECAST,
        rows,
        row_headers=2,
        empty=material.emptiness("forecast", "No option has a pass to forecast from."),
    )


def _deciding(decision: dict[str, Any], outlook: dict[str, Any]) -> list[str]:
    """Return what the campaign engages, and the loads that repay it."""
    said = outlook.get("deciding") or {}
    engaged = (decision.get("deciding") or {}).get("sentence") or said.get("text")
    repaid = [one["text"] for one in said.get("repaid") or []]
    return ([engaged] if engaged else []) + repaid
