"""What every `snakemake` call imports, whatever it is asked for: nothing that takes long."""

import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = [
    "altair",
    "icalendar",
    "numpy",
    "pandas",
    "pandera",
    "pyarrow",
    "scipy",
    "sklearn",
    "torch",
]
IMPORTED = re.compile(r"^ *(?:from|import) (atpar[\w.]*)", re.MULTILINE)


def test_the_rules_import_nothing_heavy():
    files = [REPOSITORY / "Snakefile", *(REPOSITORY / "workflow/rules").glob("*.smk")]
    modules = sorted({name for path in files for name in IMPORTED.findall(path.read_text())})
    assert "atpar.decision.extension" in modules
    code = f"import sys, json, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(json.loads(answer.stdout))
