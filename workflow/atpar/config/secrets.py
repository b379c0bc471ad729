"""Credentials have no place in what a person writes: it is copied into records and reports."""

import re
from typing import Any

_SECRET = re.compile(
    r"://[^/\s@]+@"  # user, password or token before the host
    r"|[?&](?:access_|api_|auth_)?(?:token|password|secret|sig|signature)=[^&\s]"
    r"|[?&](?:access_|api_|auth_)?key=[^&\s]{12}"  # a shorter one names something: key=h100
    r"|[?&]x-(?:amz|goog)-(?:signature|security-token|credential)=[^&\s]"
    r"|\bhf_[a-z0-9]{30,}|\b(?-i:AKIA|ASIA)(?-i:[0-9A-Z]{16})\b",
    re.IGNORECASE,
)


def holds_secret(value: Any) -> bool:
    """Tell whether a text, or one in a list or mapping, looks as if it held a credential."""
    if isinstance(value, str):
        return _SECRET.search(value) is not None
    if isinstance(value, dict):
        return any(map(holds_secret, [*value, *value.values()]))
    return isinstance(value, list | tuple) and any(map(holds_secret, value))
