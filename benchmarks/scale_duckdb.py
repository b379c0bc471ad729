"""What checks and quality find of a pass, asked of DuckDB: the yardstick of scale.py."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import duckdb

ROWS = """
CREATE TEMP TABLE kinds AS
SELECT label, other, own, count(*) AS entries, sum((label = own)::INT) AS hits,
       count(*) FILTER (misplaced) AS misplaced, count(*) FILTER (NOT finite) AS not_finite,
       count(*) FILTER (not_largest) AS not_largest, max(gap) AS gap
FROM (
    SELECT r.label, q.predicted AS other, p.predicted AS own,
           p.id IS DISTINCT FROM r.id OR q.id IS DISTINCT FROM r.id AS misplaced,
           isfinite({sum}) AS finite,
           p.scores[list_position({labels}, p.predicted)] < greatest({own}) AS not_largest,
           greatest({gaps}) AS gap
    FROM read_parquet('{answers}') r
    POSITIONAL JOIN read_parquet('{predictions}') p
    POSITIONAL JOIN read_parquet('{reference}') q
) GROUP BY ALL
"""
"""One pass over the three files; the rest is asked of a table of at most classes^3 rows.

Scores are named one by one: DuckDB's list functions over them take several times as long.
"""

WHOLE = """
SELECT sum(entries), sum(misplaced) + sum(not_finite) + sum(not_largest)
           + sum(entries) FILTER (NOT list_contains({labels}, own)),
       sum(hits) / sum(entries), sum(entries) FILTER (own = other) / sum(entries),
       sum(entries) FILTER (own <> other), max(gap)
FROM kinds
"""
MACRO_F1 = """
SELECT avg(coalesce(2 * hits / (answers + coalesce(predictions, 0)), 0))
FROM (SELECT label, sum(entries) AS answers, sum(hits) AS hits FROM kinds GROUP BY label)
LEFT JOIN (SELECT own AS label, sum(entries) AS predictions FROM kinds GROUP BY own) USING (label)
"""
GROUPS = "SELECT label, sum(hits) / sum(entries) FROM kinds GROUP BY label ORDER BY label"
CHANGED = """
SELECT r.id
FROM (SELECT file_row_number AS row, id FROM read_parquet('{answers}', file_row_number=true)) r
POSITIONAL JOIN read_parquet('{predictions}') p
POSITIONAL JOIN read_parquet('{reference}') q
WHERE p.predicted <> q.predicted ORDER BY row LIMIT 20
"""


def ask(folder: Path) -> Callable:
    """Return a function that gives the same answers as checks and quality."""
    labels = json.loads((folder / "model.json").read_text())["labels"]
    numbers = range(1, len(labels) + 1)
    predictions = folder / "predictions/other.parquet"
    named = {
        "labels": str(labels),
        "sum": " + ".join(f"p.scores[{n}]" for n in numbers),
        "own": ", ".join(f"p.scores[{n}]" for n in numbers),
        "gaps": ", ".join(f"abs(p.scores[{n}] - q.scores[{n}])" for n in numbers),
        "answers": folder / "reference.parquet",
        "predictions": predictions,
        "reference": folder / "predictions/reference.parquet",
    }

    def answer() -> dict:
        with predictions.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        record = json.loads((folder / "passes/other.json").read_text())
        database = duckdb.connect()
        database.execute(ROWS.format(**named))
        whole = database.execute(WHOLE.format(**named)).fetchone()
        rows, wrong, accuracy, agreement, changed, gap = whole
        (macro_f1,) = database.execute(MACRO_F1).fetchone()
        groups = database.execute(GROUPS).fetchall()
        ids = database.execute(CHANGED.format(**named)).fetchall()
        return {
            "passed": not wrong and digest == record["predictions_digest"],
            "rows": int(rows),
            "metrics": {"accuracy": accuracy, "macro_f1": macro_f1, "agreement": agreement},
            "groups": dict(groups),
            "changed_labels": int(changed),
            "changed_ids": [one for (one,) in ids],
            "largest_score_difference": gap,
        }

    return answer
