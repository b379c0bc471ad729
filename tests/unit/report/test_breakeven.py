"""Which ways of doing the work are drawn against the load, and with which figures."""

import json

from atpar.report.breakeven import DRAWN_WAYS, breakeven_chart, drawn, points


def row(variant, entries, amount, billing="hourly", **cells):
    return {
        "offer": "card", "variant": variant, "billing": billing, "entries": str(entries),
        "amount": f"{amount}", "amount_low": f"{amount * 0.9}", "amount_high": f"{amount * 1.2}",
        **cells,
    }  # fmt: skip


def ways(*names):
    return [f"card · {name}" for name in names]


def test_the_cheapest_ways_come_first_then_the_cheap_ones():
    rows = [
        row("b1", 1000, 30), row("b1", 10**6, 300), row("b1", 10**9, 3000),
        row("b8", 1000, 20), row("b8", 10**6, 200), row("b8", 10**9, 2000),
        row("b8", 1000, 100, "package"), row("b8", 10**6, 100, "package"),
        row("b8", 10**9, 100, "package"),
    ]  # fmt: skip
    names = drawn(points(rows))
    assert names == ways("b8 · package", "b8 · hourly", "b1 · hourly")


def test_no_more_are_drawn_than_have_a_sign_of_their_own():
    rows = [row(f"v{number}", 1000, 10 + number) for number in range(9)]
    names = drawn(points(rows))
    assert names == ways(*(f"v{number} · hourly" for number in range(DRAWN_WAYS)))
    chart = json.loads(breakeven_chart(points(rows), "USD", 300).to_json())
    shown = {one["way"] for layer in chart["layer"] for one in layer["data"]["values"]}
    assert shown == set(names)


def test_the_band_runs_from_least_to_most_and_what_has_no_logarithm_is_left_out():
    rows = [row("b1", 1000, 10), row("b1", 2000, 0), row("b1", 3000, 5, amount_low="")]
    [one] = points(rows)
    assert (one.entries, one.amount, one.low, one.high) == (1000, 10, 9, 12)


def test_an_amount_below_one_is_written_as_it_is():
    chart = json.loads(breakeven_chart(points([row("b1", 1000, 10)]), "USD", 300).to_json())
    axes = {layer["encoding"]["y"]["axis"]["format"] for layer in chart["layer"]}
    # SI prefixes would make `10m` of 0.01.
    assert axes == {",~f"}
