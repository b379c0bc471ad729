"""Times that can't be are refused while the Snakefile is parsed, before a seal or a pass."""

import pytest

from atpar.calendar.current import check_deadline, offer_calendars
from atpar.config.protocol import Protocol
from atpar.errors import AtparError
from atpar.money.calculator import PriceError, read_tariffs, to_utc


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"deadline": "2026-13-01"}, r"protocol.deadline: '2026-13-01' is no date and time"),
        ({"deadline": "2026-12-04 6pm"}, "protocol.deadline: .* is no date and time"),
        (
            {"deadline": "2026-03-29T02:30", "zone": "Europe/Berlin"},
            "protocol.deadline: 2026-03-29T02:30 doesn't exist in Europe/Berlin",
        ),
        (
            {"deadline": "2026-10-25T02:30", "zone": "Europe/Berlin"},
            "protocol.deadline: .*happens twice",
        ),
        ({"deadline": "0001-01-01T00:00", "zone": "Asia/Tokyo"}, "protocol.deadline: .*no year"),
        ({"deadline": "9999-12-31T23:00-05:00"}, "protocol.deadline: .*no year"),
        ({"zone": "Europe/Pariss"}, "protocol.zone: 'Europe/Pariss' is no time zone"),
        ({"zone": ""}, "protocol.zone: '' is no time zone"),
    ],
)
def test_a_deadline_or_zone_that_is_none_is_refused_by_its_option(stated, said):
    protocol = Protocol(tolerance={"reference": "b1"}, **stated)
    with pytest.raises(AtparError, match=said):
        check_deadline(protocol)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"zone": "Europe/Paris"},
        {"deadline": "2026-12-04T18:00", "zone": "Europe/Paris"},
        {"deadline": "2026-12-04"},
        {"deadline": "2026-10-25T02:30+01:00", "zone": "Europe/Berlin"},
    ],
)
def test_a_deadline_that_is_one_passes(stated):
    check_deadline(Protocol(tolerance={"reference": "b1"}, **stated))


@pytest.mark.parametrize("duration", ["9999999d", "900000000d"])
def test_a_calendar_beyond_the_last_year_is_refused(task, duration):
    tasks = [task("measure", duration, kind="passes")]
    with pytest.raises(AtparError, match="tasks of offer 'a' last beyond the year 9999"):
        offer_calendars(tasks, [("a", "b1", 1)], [], ["a"], "UTC")


@pytest.mark.parametrize("text", ["0001-01-01T00:00", "0001-01-01T00:00+09:00", "9999-12-31T23:59"])
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_no_year_overflows(text, zone):
    with pytest.raises(PriceError, match="in no year to rent in"):
        to_utc(text, zone)


def test_only_a_line_feed_ends_a_price(tmp_path):
    lines = [
        "#tariff separator=comma decimal=point",
        "provider,gpu,gpus_per_lot,billing,price,price_per,currency,priced_on,source",
        "acme,a\u2028b\x85c\x0bd,1,hourly,1.00,lot,USD,2026-09-24,page",
    ]
    path = tmp_path / "t.csv"
    path.write_bytes("\r\n".join([*lines, ""]).encode())
    assert [one.gpu for one in read_tariffs(path)] == ["a\u2028b\x85c\x0bd"]
