"""Reading tariff files: the declared dialect, and a refusal for each faulty row."""

from decimal import Decimal

import pytest

from atpar.money.calculator import PriceError, newest, read_tariffs

HEADER = "provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,priced_on,source"
ROW = "acme,a100,8,package,7,110.50,lot,USD,2026-09-24,page"


def write(path, *lines, dialect="#tariff separator=comma decimal=point", encoding="utf-8"):
    path.write_bytes("\n".join([dialect, *lines, ""]).encode(encoding))
    return path


def test_the_two_known_prices_and_nothing_invented(known_tariff):
    first, second = read_tariffs(known_tariff)
    assert (first.gpu, first.gpus_per_lot, first.amount(2)) == ("rtx-4090", 1, Decimal("220.00"))
    assert (second.gpu, second.gpus_per_lot, second.amount(1)) == ("b200", 2, Decimal("2071.00"))
    for one in (first, second):
        assert one.priced_on.isoformat() == "2026-09-24"
        assert one.disk_included_gb is one.tax_included is one.lead_time_h is one.setup_h is None


def test_the_illustrative_prices_say_so(known_tariff):
    path = known_tariff.with_name("illustrative.csv")
    assert "ILLUSTRATIVE" in path.read_text(encoding="utf-8").splitlines()[1]
    assert all(one.source.startswith("illustrative") for one in read_tariffs(path))


def test_semicolons_and_decimal_commas_are_read_as_declared(tmp_path):
    path = write(
        tmp_path / "t.csv",
        HEADER.replace(",", ";"),
        "acme;a100;8;package;7;110,50;lot;EUR;2026-09-24;page, printed",
        dialect="#tariff separator=semicolon decimal=comma;;;;;;;;;",
        encoding="utf-8-sig",
    )
    [one] = read_tariffs(path)
    assert (one.price, one.source, one.line) == (Decimal("110.50"), "page, printed", 3)


@pytest.mark.parametrize(
    "dialect",
    [
        "",
        HEADER,
        "#tariff separator=comma",
        "#tariff separator=comma decimal=dot",
        "#tariff separator=comma decimal=comma",
    ],
)
def test_a_dialect_is_never_guessed(tmp_path, dialect):
    with pytest.raises(PriceError, match="line 1"):
        read_tariffs(write(tmp_path / "t.csv", HEADER, ROW, dialect=dialect))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("110.50", "", "price is empty"),
        ("110.50", "-1.00", "can't be negative"),
        ("110.50", "110,50", "11 cells under 10 columns"),
        ("110.50", '"110,50"', "expected a number"),
        ("110.50", "1_000", "expected a number"),
        ("110.50", "1e3", "expected a number"),
        ("110.50", "NaN", "expected a number"),
        ("USD", "$", "currency is"),
        ("USD", "", "currency is empty"),
        ("package,7", "package,", "states its term_days"),
        ("package,7", "hourly,7", "an hourly price doesn't"),
        ("package", "weekly", "billing is 'weekly'; known: package, hourly"),
        ("lot,", "card,", "price_per is 'card'"),
        ("a100,8", "a100,0", "at least one GPU"),
        ("2026-09-24", "24/09/2026", "write 2026-09-24"),
        ("page", "", "source is empty"),
    ],
)
def test_a_faulty_row_is_refused_by_its_line(tmp_path, old, new, message):
    path = write(tmp_path / "t.csv", HEADER, "# a comment", ROW.replace(old, new, 1))
    with pytest.raises(PriceError, match=f"line 4.*{message}"):
        read_tariffs(path)


def test_a_duplicate_is_refused_and_names_both_lines(tmp_path):
    other = ROW.replace("a100", "A 100").replace("110.50", "99.00").replace("acme", "ACME")
    with pytest.raises(PriceError, match=r"line 4.*same price as line 3"):
        read_tariffs(write(tmp_path / "t.csv", HEADER, ROW, other.replace("A 100", "A100")))


def test_unknown_and_missing_columns_are_named(tmp_path):
    with pytest.raises(PriceError, match="'prize' is unknown"):
        read_tariffs(write(tmp_path / "t.csv", HEADER.replace(",price,", ",prize,"), ROW))
    with pytest.raises(PriceError, match="'source' is missing"):
        read_tariffs(write(tmp_path / "t.csv", HEADER[: -len(",source")], ROW))


def test_the_newest_price_holds_and_a_tie_is_refused(tmp_path):
    old = read_tariffs(write(tmp_path / "old.csv", HEADER, ROW))
    new = read_tariffs(
        write(tmp_path / "new.csv", HEADER, ROW.replace("-24", "-30").replace("110.50", "90"))
    )
    assert [one.price for one in newest(new + old)] == [Decimal(90)]
    with pytest.raises(PriceError, match="same day"):
        newest(old + read_tariffs(write(tmp_path / "twin.csv", HEADER, ROW)))
