"""Credentials have no place in what a person writes: it is copied into records and reports."""

import re
from typing import Any

_SECRET = re.compile(
    r"://[^/\s@]+@"  # user, password or token before the host
    r"|[?&](?:access_|api_|auth_)?(?:token|key|password|secret|sig|signature)=[^&\s]"
    r"|[?&]x-amz-(?:signature|security-token|credential)=[^&\s]"
    r"|\bhf_[a-z0-9]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    re.IGNORECASE,
)


def holds_secret(value: Any) -> bool:
    """Tell whether a text, or one in a list, looks as if it held a credential."""
    if isinstance(value, str):
        return _SECRET.search(value) is not None
    return isinstance(value, list | tuple) and any(map(holds_secret, value))
