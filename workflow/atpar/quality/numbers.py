"""Metrics of numbers (regression heads), through scikit-learn and scipy."""

import numpy as np
from scipy import stats
from sklearn import metrics as sk

from atpar.quality.values import Value


def of_numbers(name: str, reference: np.ndarray, predicted: np.ndarray) -> Value:
    """Return the metric of that name over numbers, one an entry.

    neg_mae and neg_rmse are in the unit of the answers, with their sign turned.
    """
    if name == "neg_mae":
        return Value(float(-sk.mean_absolute_error(reference, predicted)))
    if name == "neg_rmse":
        return Value(float(-sk.root_mean_squared_error(reference, predicted)))
    if not np.ptp(reference):
        return Value(None, "the reference answers are all the same number")
    if name == "r2":
        return Value(float(sk.r2_score(reference, predicted)))
    if not np.ptp(predicted):
        return Value(None, "the predicted numbers are all the same")
    function = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[name]
    return Value(float(function(reference, predicted).statistic))


def alike(predicted: np.ndarray, other: np.ndarray, bound: tuple[float, float]) -> np.ndarray:
    """Return for each entry whether its number lies within the bound (absolute, relative)."""
    return np.abs(predicted - other) <= bound[0] + bound[1] * np.abs(other)
