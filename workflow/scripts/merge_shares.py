"""Take in the shares that other nodes exported."""

import sys
from pathlib import Path

from atpar.carry.merge import merge_shares
from atpar.carry.plan import Expected
from atpar.stage import stage

with stage(snakemake) as settings:
    lines = merge_shares(
        [Path(path) for path in snakemake.input.archives],
        Path(snakemake.output.receipts[0]).parents[1],
        Expected(**settings["expected"]),
    )
    print(*lines, sep="\n", file=sys.stderr)
