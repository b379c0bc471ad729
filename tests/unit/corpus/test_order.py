"""Rows put in order of passage piece by piece are the rows put in order at once."""

import numpy as np
import pyarrow as pa
import pytest

from atpar.corpus.order import in_order


def tables(places):
    """Yield tables of uneven size with these places."""
    for part in np.split(np.asarray(places), [3, 3, 50]):
        ids = pa.array([f"e{place}" for place in part], pa.large_string())
        yield pa.table({"id": ids, "order": pa.array(part, pa.int64())})


@pytest.mark.parametrize("pieces", [1, 2, 7, 120, 500])
def test_any_number_of_pieces_gives_the_same_rows(pieces, tmp_path):
    places = np.random.default_rng(1).permutation(120)
    parts = list(in_order(tables(places), len(places), pieces, tmp_path))
    got = pa.concat_tables(parts)
    assert got["order"].to_pylist() == list(range(120))
    assert got["id"].to_pylist() == [f"e{place}" for place in range(120)]
    assert not list(tmp_path.iterdir()), "the temporary files are gone"
