"""Kinds of answers and of metrics, by their names.

Light: a pass imports it, and nothing of what checks the configuration.
"""

import re

OF_HEAD = {
    "single_label": "single",
    "binary": "single",
    "multi_label": "multiple",
    "regression": "number",
}
"""Head of a model -> what an answer is: one label, several labels, a number; the words of
`corpus.columns.label_kind`."""

CLASS_METRICS = ("f1", "precision", "recall")
"""Metrics of one class, written `f1[class]`."""

CLASS_METRIC = re.compile(rf"({'|'.join(CLASS_METRICS)})\[(.+)\]")
"""Such a name: the metric, and the class."""
