"""Do model, corpus and protocol mean the same kind of answers, as far as they state it?

What the model itself says (its head, its labels) is known once it was loaded: see
`atpar.model.fits`.
"""

from atpar.config.campaign import Campaign
from atpar.config.kinds import OF_HEAD
from atpar.config.protocol import METRICS, metric_answers, metric_class
from atpar.errors import AtparError, did_you_mean


def check_answers(campaign: Campaign) -> None:
    """Refuse a head, metrics or class names that don't go with the answers of the corpus."""
    model, columns, protocol = campaign.model, campaign.corpus.columns, campaign.protocol
    kind = columns.label_kind
    if columns.label is not None and model.head is not None and OF_HEAD[model.head] != kind:
        raise AtparError(
            f"model.head is {model.head!r}, but corpus.columns.label_kind is {kind!r}; such a head "
            f"needs answers of the kind {OF_HEAD[model.head]!r}"
        )
    names = [("protocol.metric", protocol.metric)]
    names += [("protocol.metrics", name) for name in protocol.metrics]
    for place, name in names:
        if columns.label is not None and kind not in metric_answers(name):
            fitting = [one for one in METRICS if kind in metric_answers(one)]
            raise AtparError(
                f"{place} names {name}, which isn't defined for answers of the kind {kind!r} "
                f"(corpus.columns.label_kind); take {', '.join(fitting)}, or one of your own"
            )
        label = metric_class(name)
        if label is not None and model.labels is not None and label not in model.labels:
            raise AtparError(
                f"{place} names {name}, but model.labels has no {label!r}; "
                + did_you_mean(label, model.labels)
            )
