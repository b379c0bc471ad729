"""The one exception for what can't be run here and is not tried."""


class Refused(Exception):
    """This combination of model, variant and machine can't be run; nothing was computed."""
