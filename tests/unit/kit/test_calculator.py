"""The calculator's prices, windows and messages."""

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.money import calculator
from atpar.money.calculator import PriceError, Tariff, candidates, hours, to_cents, to_utc

HOUR = dt.timedelta(hours=1)


def tariff(**changes):
    """Return an hourly price of one dollar, or what `changes` make of it."""
    values = {
        "provider": "acme",
        "gpu": "a100",
        "gpus_per_lot": 1,
        "billing": "hourly",
        "price": Decimal("1.00"),
        "price_per": "lot",
        "currency": "USD",
        "priced_on": dt.date(2026, 9, 24),
        "source": "test",
    }
    return Tariff(**values | changes)


def package(days, price="100.00", **changes):
    return tariff(billing="package", term_days=Decimal(days), price=Decimal(price), **changes)


@pytest.mark.parametrize(
    ("amount", "cents"),
    [
        ("0", "0.00"),
        ("0.005", "0.01"),
        ("0.0049999999999999999999999", "0.00"),
        ("2.675", "2.68"),
        ("-2.675", "-2.68"),
        ("110", "110.00"),
        ("123456789012345678901234567890.125", "123456789012345678901234567890.13"),
    ],
)
def test_an_amount_is_rounded_once_half_away_from_zero(amount, cents):
    assert to_cents(Fraction(amount)) == Decimal(cents)
    assert f"{to_cents(Decimal(amount)):f}" == cents


@pytest.mark.parametrize(
    ("price", "gpus_per_lot", "lots", "amount"),
    [
        ("110.00", 1, 2, "220.00"),  # [P29]
        ("2071.00", 2, 1, "2071.00"),  # [P29] a lot holds two cards: not multiplied again
        ("2071.00", 2, 0, None),
        ("0.01", 8, 1_000_000_000, "10000000.00"),
        ("0.00", 1, 3, "0.00"),
    ],
)
def test_a_package_costs_the_price_of_a_lot_times_the_lots(price, gpus_per_lot, lots, amount):
    one = package(7, price, gpus_per_lot=gpus_per_lot)
    if amount is None:
        with pytest.raises(PriceError, match="0 lots"):
            one.amount(lots)
    else:
        assert one.amount(lots) == Decimal(amount)


@pytest.mark.parametrize(
    ("per", "amount"), [("gpu", "16.00"), ("lot", "2.00"), ("instance", "2.00")]
)
def test_an_hourly_price_says_what_it_buys(per, amount):
    one = tariff(price=Decimal("1.00"), price_per=per, gpus_per_lot=8)
    assert one.amount(2, HOUR) == Decimal(amount)


@pytest.mark.parametrize(
    ("running_s", "step_s", "minimum_s", "billed_s"),
    [
        (20 * 60, 3600, None, 3600),  # K03
        (3600.0000001, 3600, None, 3600),  # K03: a sum of floats isn't a second hour
        (3600.001, 3600, None, 7200),
        ((12 + 50) * 60, 3600, None, 7200),  # K04: boot and job are one billed span
        (61, 60, None, 120),
        (1, 1, 600, 600),
        (0, 3600, None, 0),
        (0, 3600, 3600, 3600),
        (601, None, 600, 601),
    ],
)
def test_running_time_is_rounded_up_exactly(running_s, step_s, minimum_s, billed_s):
    one = tariff(step_s=step_s, minimum_s=minimum_s)
    assert one.billed(dt.timedelta(seconds=running_s)) == dt.timedelta(seconds=billed_s)


def test_stopped_time_is_priced_apart_and_never_guessed():
    known = tariff(stopped_per_hour=Decimal("0.05"))
    assert known.amount(1, 10 * HOUR, 48 * HOUR) == Decimal("12.40")
    with pytest.raises(PriceError, match="stopped"):
        tariff().amount(1, 10 * HOUR, 48 * HOUR)


@pytest.mark.parametrize(
    ("begin", "end", "zone", "expected_h"),
    [
        ("2026-12-07T09:00", "2026-12-11T09:00", "Europe/Paris", 96),  # [P27]
        ("2026-03-27T09:00", "2026-03-30T09:00", "Europe/Berlin", 71),  # K01
        ("2026-03-23T09:00", "2026-03-27T09:00", "Europe/Berlin", 96),
        ("2026-03-27T09:00", "2026-03-31T09:00", "Europe/Berlin", 95),
        ("2026-10-23T09:00", "2026-10-27T09:00", "Europe/Berlin", 97),
        ("2026-10-30T09:00", "2026-11-03T09:00", "America/New_York", 97),
        ("2028-02-28T00:00", "2028-03-02T00:00", "UTC", 72),  # K12
        ("2026-12-31T12:00", "2027-01-01T12:00", "Asia/Kolkata", 24),
        ("2026-12-07T09:00+01:00", "2026-12-07T09:00-05:00", "UTC", 6),
    ],
)
def test_a_window_is_measured_between_instants(begin, end, zone, expected_h):
    assert to_utc(end, zone) - to_utc(begin, zone) == expected_h * HOUR


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("2026-03-29T02:30", "Europe/Berlin", "doesn't exist"),
        ("2026-10-25T02:30", "Europe/Berlin", r"twice.*\+02:00 or \+01:00"),
        ("2026-02-30T09:00", "UTC", "no date and time"),
        ("Monday", "UTC", "no date and time"),
        ("2026-12-07T09:00", "Europe/Atlantis", "no time zone"),
    ],
)
def test_a_local_time_that_is_no_instant_is_refused(text, zone, message):
    with pytest.raises(PriceError, match=message):
        to_utc(text, zone)


def test_a_repeated_time_with_its_offset_is_one_instant():
    first = to_utc("2026-10-25T02:30+02:00", "Europe/Berlin")
    assert to_utc("2026-10-25T02:30+01:00", "Europe/Berlin") - first == HOUR


@pytest.mark.parametrize(
    ("text", "expected_h"), [("96h", 96), ("4d", 96), ("1d 12h", 36), ("90min", 1.5), ("0.5h", 0.5)]
)
def test_durations_name_their_unit(text, expected_h):
    assert calculator.parse_duration(text) == expected_h * HOUR


@pytest.mark.parametrize("text", ["", "96", "h", "4 days", "-1h", "1h30", "1,5h", "1h h", "five h"])
def test_a_duration_without_a_plain_unit_is_refused(text):
    with pytest.raises(PriceError, match="no duration"):
        calculator.parse_duration(text)


@pytest.mark.parametrize(
    ("window_h", "terms"),
    [
        (72, ["3", "7"]),  # exactly at the boundary: it fits
        (Fraction(72) + Fraction(1, 3600), ["7"]),
        (96, ["7"]),  # [P27]: more than 72 h, within 168
        (168, ["7"]),
        (Fraction(168) + Fraction(1, 3600), []),
    ],
)
def test_a_package_is_a_candidate_if_it_covers_the_window(window_h, terms):
    found = candidates([package(7), package(3, "60.00")], 1, hours(window_h))
    assert [f"{one.tariff.term_days}" for one in found] == terms


def test_what_setup_and_margin_take_is_not_usable():
    block = package(3, setup_h=Decimal(1), end_margin_h=Decimal("0.5"))  # K11
    assert candidates([block], 1, hours(70)) and candidates([block], 1, hours("70.5"))
    assert not candidates([block], 1, hours(71))


def test_nothing_is_extended_by_itself():
    lines = calculator.alternatives([package(7, "110.00"), package(3, "60.00")], 2, hours(200))
    assert lines == [
        "3 periods of 3 days of acme a100, priced one by one: 3 x 120.00 = 360.00 USD",
        "2 periods of 7 days of acme a100, priced one by one: 2 x 220.00 = 440.00 USD",
        "cut 32 h from the calendar, so that it fits the 7-day package: 220.00 USD",
    ]


def test_a_package_that_covers_is_said_to_and_nothing_is_cut():
    lines = calculator.alternatives([package(7, "110.00"), package(3, "60.00")], 1, hours(96))
    assert lines == [
        "2 periods of 3 days of acme a100, priced one by one: 2 x 60.00 = 120.00 USD",
        "the 7-day package of acme a100 covers it: 110.00 USD",
    ]


@pytest.mark.parametrize("bounds", [{"min_lots": 2}, {"max_lots": 1}])
def test_what_is_not_offered_in_so_many_lots_is_no_alternative(bounds):
    offered = [tariff(), package(3, "60.00"), package(7, "110.00", **bounds)]
    lots = 1 if "min_lots" in bounds else 2
    periods, cut = calculator.alternatives(offered, lots, hours(96))
    assert periods.startswith("2 periods of 3 days")
    assert cut.startswith("cut 24 h") and "3-day" in cut
    assert calculator.alternatives([package(7, **bounds)], lots, hours(96)) == []


def test_a_window_that_nothing_is_offered_for_says_so(capsys, tmp_path):
    path = tmp_path / "tariff.csv"
    path.write_text(
        "#tariff separator=comma decimal=point\n"
        "provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,min_lots,priced_on,"
        "source\nacme,a100,1,package,7,110.00,lot,USD,2,2026-09-24,list\n"
        "acme,a100,1,hourly,,2.00,lot,USD,2,2026-09-24,list\n",
        encoding="utf-8",
    )
    words = ["--gpu", "a100", "--window", "96h", "--tariff", str(path)]
    assert calculator.main(words) == 0
    assert "nothing is offered in so many lots" in capsys.readouterr().out
    assert calculator.main([*words, "--lots", "2"]) == 0
    assert "nothing is offered" not in capsys.readouterr().out


prices = st.decimals("0", "1000", places=4)


@given(
    price=prices,
    step=st.sampled_from([None, 1, 60, 3600, 86400]),
    minimum=st.sampled_from([None, 0, 600, 7200]),
    seconds=st.lists(st.integers(0, 10**6), min_size=2, max_size=2).map(sorted),
    lots=st.integers(1, 50),
)
def test_hourly_cost_never_falls_when_the_window_grows(price, step, minimum, seconds, lots):
    one = tariff(price=price, step_s=step, minimum_s=minimum)
    short, long = (one.amount(lots, dt.timedelta(seconds=second)) for second in seconds)
    assert short <= long


@given(
    terms=st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True),
    amounts=st.lists(prices, min_size=6, max_size=6),
    windows=st.lists(st.integers(1, 60 * 24), min_size=2, max_size=2).map(sorted),
)
def test_the_cheapest_cover_never_gets_cheaper_when_the_window_grows(terms, amounts, windows):
    offered = [package(term, amount) for term, amount in zip(terms, amounts, strict=False)]
    found = [candidates(offered, 1, hours(window)) for window in windows]
    if found[1]:
        assert found[0][0].amount <= found[1][0].amount
    assert {one.tariff.key for one in found[1]} <= {one.tariff.key for one in found[0]}


@given(cards=st.integers(1, 16), lots=st.integers(1, 20), price=prices)
def test_a_lot_costs_the_same_whatever_the_cards_it_holds(cards, lots, price):
    one, many = package(7, price), package(7, price, gpus_per_lot=cards)
    assert one.amount(lots) == many.amount(lots)


def test_prices_as_json_are_text(capsys, known_tariff):
    arguments = ["--gpu", "RTX 4090", "--days", "7", "--lots", "2", "--accepted-results", "2"]
    assert calculator.main([*arguments, "--tariff", str(known_tariff), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["amount"], answer["gpus"]) == ("220.00", 2)
    assert answer["cost_per_accepted_result"] == "110.00"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--gpu rtx-4090 --days 7 --lots 2", "220.00 USD for two GPUs"),
        ("--gpu B200 --days 7", "2071.00 USD for two GPUs"),
        ("--gpu B200 --days 7 --lots 8", "16568.00 USD for 16 GPUs"),
        ("--gpu b200 --days 7 --accepted-results 3", "690.33 USD"),
        ("--gpu b200 --days 7 --accepted-results 0", "undefined"),
        ("--gpu b200 --window 96h", "7-day package: 2071.00 USD, 72 h unused"),
        (
            "--gpu rtx-4090 --lots 2 --from 2026-12-07T09:00 --to 2026-12-11T09:00 "
            "--zone Europe/Paris",
            "220.00 USD, 72 h unused",
        ),
        ("--gpu rtx-4090 --window 8d", "2 x 110.00 = 220.00 USD"),
    ],
)
def test_the_command_prints_prices(capsys, known_tariff, arguments, expected):
    assert calculator.main([*arguments.split(), "--tariff", str(known_tariff)]) == 0
    assert expected in capsys.readouterr().out


def test_no_cost_per_result_is_invented(capsys, known_tariff):
    arguments = ["--gpu", "b200", "--days", "7", "--tariff", str(known_tariff)]
    assert calculator.main(arguments) == 0
    assert "per accepted result" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--gpu h100 --days 7", "known: b200 (iteragpu), rtx-4090 (iteragpu)"),
        ("--gpu b200 --days 3", "known days: 7"),
        ("--gpu b200", "known for b200: 7"),
        ("--gpu b200 --days seven", "--days is 'seven'; write a number of days as 7"),
        ("--gpu b200 --days nan", "--days is 'nan'"),
        ("--gpu b200 --days 1e9999999", "--days is '1e9999999'"),
        ("--gpu b200 --window 99999999999d", "is too long"),
        ("--gpu b200 --days 7 --lots 0", "--lots must be at least 1"),
        ("--gpu b200 --days 7 --accepted-results -1", "can't be negative"),
        ("--gpu b200 --window 96h --accepted-results 1", "needs --days"),
        ("--gpu b200 --from 2026-12-07T09:00", "both --from and --to"),
        ("--gpu b200 --from 2026-12-07T09:00 --to 2026-12-07T08:00", "ends before it starts"),
        ("--gpu b200 --window 4d --from 2026-12-07T09:00", "not both"),
        ("--gpu b200 --days 7 --provider acme", "known: b200 (iteragpu)"),
    ],
)
def test_a_bad_question_gets_one_message_and_status_2(capsys, known_tariff, arguments, message):
    assert calculator.main([*arguments.split(), "--tariff", str(known_tariff)]) == 2
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out
