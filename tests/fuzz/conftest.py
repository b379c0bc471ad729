"""How hard the tests of this folder try: a few examples, or FUZZ_EXAMPLES of them."""

import os

from hypothesis import settings

settings.register_profile(
    "fuzz",
    settings.get_profile("ordinary"),
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20")),
    deadline=None,
)
