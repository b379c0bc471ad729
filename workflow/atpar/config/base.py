"""What all models of the configuration share."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from atpar.config.secrets import holds_secret

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]*"
RESERVED = frozenset(
    [
        "CON",
        "PRN",
        "AUX",
        "NUL",
        *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10)),
    ]
)
"""Names of devices under Windows, where results may be copied to (case doesn't matter)."""
HERE_WORDS = ("all", "none", "auto")
"""What `here` says in place of offers' names."""
LONGEST_NAME = 100
"""Characters; offer and variant stand in one path, and file systems end a part at 255 bytes."""


def _safe_name(name: str) -> str:
    if not re.fullmatch(NAME_PATTERN, name) or name.endswith("."):
        raise ValueError(
            f"{name!r} can't be a name: it becomes a folder, so use letters, digits, '-', '_' "
            "and '.', starting with a letter or digit, not ending in '.'"
        )
    if name.partition(".")[0].upper() in RESERVED:
        raise ValueError(
            f"{name!r} can't be a name: it becomes a folder, and Windows keeps that name, with any "
            f"ending, for a device; write {name[:3]}-{name[3:] or '1'}, for example"
        )
    if len(name) > LONGEST_NAME:
        raise ValueError(
            f"{name!r} can't be a name: it becomes a folder, so use at most {LONGEST_NAME} "
            f"characters instead of {len(name)}"
        )
    return name


Name = Annotated[str, AfterValidator(_safe_name)]
"""A name that is safe as part of a path and of a Snakemake wildcard."""


class Model(BaseModel):
    """Strict types (a YAML `no` is no text, a `22:30` no time), no unknown keys, no changes.

    Nor infinity or NaN, which have no place in JSON, and so in no seal.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _no_secrets(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if holds_secret(value):
                raise ValueError(  # The value itself isn't shown: messages are kept in logs.
                    f"{name} holds a password, key or token, and would be copied into records, "
                    "reports and bags; leave it out and give it in the environment (HF_TOKEN, "
                    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ...)"
                )
        return values
