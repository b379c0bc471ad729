"""Run `snakemake --lint`, leaving out the two findings that don't apply.

The workflow runs in the environment that the user installed from the lock (pip or conda), the same
for all rules, so a conda environment or container per rule isn't wanted. And a function that only
one file of rules uses stands beside those rules: one common file for all of them would be longer
than the rules that it explains.
"""

import re
import subprocess
import sys

ACCEPTED = (
    "Specify a conda environment or container for each rule.",
    "Mixed rules and functions in same snakefile.",
)


def findings(output: str) -> list[str]:
    """Return the findings in the linter's output that aren't accepted, each with its place."""
    found = []
    for place in re.split(r"\n(?=Lints for )", output):
        head, *items = re.split(r"\n    \* ", place)
        found += [
            f"{head.strip()}\n    * {item.strip()}"
            for item in items
            if not item.startswith(ACCEPTED)
        ]
    return found


def main() -> int:
    """Print what is to change; the exit status tells whether anything is."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    found = findings(output)
    if found:
        print("\n\n".join(found))
        return 1
    # Without any accepted finding the output's form must have changed and nothing was read.
    if not any(one in output for one in ACCEPTED):
        print(output)
        return 1
    print("snakemake --lint: nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
