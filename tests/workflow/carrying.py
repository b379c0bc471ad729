"""What tests of several machines share: a campaign of three offers, and checkouts of it."""

import csv
import json
import shutil
from pathlib import Path

OFFERS = """\
offer	provider	gpu	billing	term_days	device	threads	storage_gb	egress_gb
a	this-machine	one-thread	hourly		cpu	1	10	1
b	this-machine	two-threads	hourly		cpu	2	10	1
c	this-machine	one-thread	package	1	cpu	1	10	1
"""
VARIANTS = {
    "b1": "b1	batch-size	fp32	1	corpus",
    "b4": "b4	batch-size	fp32	4	corpus",
}


def three_offers(workspace, *variants: str) -> None:
    """Make the small campaign one of three offers, of these variants, with one repetition."""
    (workspace.folder / "offers.tsv").write_text(OFFERS)
    rows = ["variant	series	precision	batch_size	order", *map(VARIANTS.get, variants)]
    (workspace.folder / "variants.tsv").write_text("\n".join(rows) + "\n")
    workspace.configure(
        here="all",
        # Other campaigns on this machine hold the usual lock.
        lock_folder="locks",
        protocol={"repetitions": 1},
        tables={"offers": "offers.tsv", "variants": "variants.tsv"},
    )


def laptop(workspace, folder: Path):
    """Return a checkout with the configuration alone: no corpus, no model, nothing measured."""
    checkout = workspace.copy(folder)
    for name in ("results", "model", ".snakemake"):
        shutil.rmtree(checkout.folder / name, ignore_errors=True)
    (checkout.folder / "corpus.csv").unlink()
    checkout.configure(here="none")
    return checkout


def hand_in(archive: Path, workspace) -> Path:
    """Place an exported archive in a checkout's incoming folder."""
    target = workspace.results / "incoming" / archive.name
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(archive, target))


def rows(path: Path) -> list[dict[str, str]]:
    """Return a CSV table's rows, sorted: their order isn't part of what is compared."""
    with path.open(newline="", encoding="utf-8") as stream:
        return sorted(csv.DictReader(stream), key=lambda row: sorted(row.items()))


def balance(workspace) -> dict:
    """Return what a campaign says in the end: decision, and the tables below it."""
    tables = ("attempts", "summary", "separation", "deliverables", "ledger", "balance")
    return {
        "decision": json.loads((workspace.results / "decision.json").read_text()),
        "note": (workspace.results / "decision.md").read_text(),
        **{name: rows(workspace.results / f"{name}.csv") for name in tables},
    }
