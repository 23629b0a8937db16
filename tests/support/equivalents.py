# ruff: noqa: E501  # changes are written exactly as the check prints them
"""Mutants that compute the same values, or differ by less than a float64 can represent, each with the reason."""

from __future__ import annotations

_BY_REASON: dict[tuple[str, str], tuple[str, ...]] = {
    ("areas", "fractions say what digits say, and take longer"): (
        "_precisions: exact & (np.diff(starts) <= _FEW) -> exact",
    ),
    ("areas", "only the type is read"): ("_precisions: steps.pos -> steps.neg",),
    ("areas", "up to a rate of 1 both ways give all of the area"): (
        "roc_auc: 1 -> 2",
        "roc_auc: spec.parameter('max_fpr') < 1 -> spec.parameter('max_fpr') <= 1",
    ),
    ("curves", "of points with the same value a metric does not say which it is"): (
        "best_point: np.append(0, some + 1) -> np.append(some + 1, 0)",
    ),
    ("curves", "every fraction reaches 0, and what is below"): ("reaches: 0.0 -> -1.0",),
    ("curves", "a point where both rates are equal is the end of a stretch as well"): ("equal_error_rate: 0 -> 1",),
    ("decisions", "a numerator over 0, or the denominator of 0, of any size"): (
        "_where_zero: 1 -> 2",
        "alpha_evaluation: 0 -> -1",
        "alpha_evaluation: 0 -> 1",
    ),
    ("decisions", "it decides how many digits a power has, of which a float64 shows 17"): (
        "_power: 0 -> -1 (2)",
        "_power: 0 -> 1 (2)",
        "_power: 60 + len(str(den)) + max(0, Decimal(exponent).adjusted()) -> 60 + len(str(den))",
        "_power: 60 + len(str(den)) + max(0, Decimal(exponent).adjusted()) -> 60 + len(str(den)) - max(0, Decimal(exponent).adjusted())",
        "_power: 60 + len(str(den)) -> 60",
        "_power: 60 + len(str(den)) -> 60 - len(str(den))",
        "_power: 60 -> 59",
        "_power: 60 -> 61",
        "_power: 999999 -> 1000000",
        "_power: 999999 -> 1000000 (2)",
        "_power: 999999 -> 999998",
        "_power: 999999 -> 999998 (2)",
        "_power: max -> min",
    ),
    ("decisions", "it decides how wide integers are, which tells only where they overflow"): (
        "fbeta: 1024 -> 1023",
        "fbeta: 1024 -> 1025",
        "fbeta: missed + wrong -> missed",
        "fbeta: missed + wrong -> wrong",
        "fbeta: missed + wrong > 1024 -> missed + wrong >= 1024",
    ),
    ("decisions", "only the shape of the array is read"): (
        "label_cardinality: c.tp -> c.fp (2)",
        "predicted_cardinality: c.tp -> c.fp (2)",
    ),
    ("decisions", "the greatest count of no label"): ("imbalance_ratio: 0 -> -1",),
    ("decisions", "the greatest count of no label, or of labels that are never true: over 0"): (
        "imbalance_ratio: 0 -> 1",
    ),
    ("decisions", "the power of 0 or infinity is the same limit"): (
        "_power: 0.0 -> -1.0",
        "_power: 0.0 -> 1.0",
    ),
    ("decisions", "what is below the least float64 is 0"): (
        "_power: 0 -> -1 (3)",
        "_power: 0 -> 1 (3)",
        "_power: 1 -> 0 (3)",
        "_power: 1 -> 2 (3)",
        "_power: value > _TINY -> value >= _TINY",
        "_power: value.as_integer_ratio() if value > _TINY else (0, 1) -> value.as_integer_ratio()",
    ),
    ("pairs", "the last label is in no pair with a later one"): (
        "dependent_pairs: 1 -> 0 (2)",
        "dependent_pairs: size - 1 -> size",
    ),
    ("rankings_at", "a group behind the first k gains 0"): ("_weighted: a < k -> a <= k",),
    ("rankings_at", "a group behind the first m adds 0"): ("r_precision: groups.a < groups.m -> groups.a <= groups.m",),
    ("label_sets", "it decides how many digits the means have, of which 17 and those that cancel are read"): (
        "_scumble_of: 40 -> 41",
        "_scumble_of: 40 -> 39",
        "_scumble_of: 2 -> 3 (2)",
        "_scumble_of: len(str(max(counts))) -> len(str(max(counts))) + 1",
        "_scumble_of: len(str(max(counts))) -> len(str(max(counts))) - 1",
    ),
    ("label_sets", "where the least count has fewer digits than the greatest, the means differ in the first ones"): (
        "_scumble_of: max -> min",
    ),
    ("rankings", 'it becomes l, which is read only with divisor="ranked", and that refuses unranked="last"'): (
        "all_groups: rows.l -> rows.m",
    ),
    ("calibration", "one unit of squared magnitudes is far below the last digit of their mean"): (
        "brier_score: 0 -> 1",
        "brier_score: 0 -> -1",
        "brier_score: 0 -> 1 (2)",
        "brier_score: 0 -> -1 (2)",
    ),
    ("calibration", "a half is as far from 0 as from 1, and its bin holds nothing else"): (
        "_Bins: bins >= _HALF -> bins > _HALF",
    ),
    ("calibration", "so many scores a bin have room as well, heads being below 4096"): (
        "_each: counts >= _MANY -> counts > _MANY",
    ),
    ("calibration", "units of opposite sign are apart, whichever is negative"): (
        "_Bins: np.where(self.upper, -self._exponent, self._exponent) -> np.where(self.upper, self._exponent, -self._exponent)",
    ),
    ("calibration", "a unit that is finer than the scores need says the same"): (
        "_Bins: 1022 -> 1023",
        "_Bins: 1022 -> 1021",
    ),
    ("calibration", "no logarithm of a fraction is a float64, so none is exactly the cap"): (
        "log_loss: greatest > limit -> greatest >= limit",
        "log_loss: fewest >= limit * _ABOVE -> fewest > limit * _ABOVE",
    ),
    ("calibration", "the residual of scores that differ is replaced by the edge of their bin"): (
        "_buckets: 0 -> -1 (4)",
    ),
    ("calibration", "it is read where those of both classes are the same"): (
        "_buckets: 0 -> 1 (2)",
        "_buckets: 0 -> -1 (2)",
    ),
    ("calibration", "what has no weight has no quantiles, and one unit of weight is all in the first"): (
        "_quantiles: 1 -> 2 (2)",
        "_quantiles: 1 -> 0 (2)",
    ),
    ("calibration", "the parameter of a metric is checked before"): ("_buckets: 1 -> 0",),
    ("areas", "of equal weights any do"): ("averaged: 1 -> 2",),
    ("areas", "it moves a bound by some 2**-256, which no float64 shows"): (
        "averaged: side == 2 -> side != 2",
        "averaged: 2 -> 1",
        "averaged: 2 -> 3",
    ),
    ("areas", "what no label owns is not read"): ("_precisions: len(support) -> len(support) + 1 (2)",),
    ("decisions", "it decides how many digits a power has; a float64 shows 17 of some 60"): (
        "_power: len(str(den)) -> len(str(den)) + 1",
        "_power: len(str(den)) -> len(str(den)) - 1",
    ),
    ("rankings_at", "what ranks behind k would count is not read"): ("psp_at: 1 -> 2",),
    ("rankings_at", "a group of one label is summed like any other"): ("average_precision_of: 1 -> 0",),
    ("rankings_at", "only the shape of the array is read"): ("_by_hits: groups.l -> groups.m (2)",),
    ("pairs", "where no row has weight every label is 0/0, weighted or not"): ("confusion_score: True -> False",),
    ("pairs", "of no cell, or of one, scores read only whether it has weight"): (
        "confusion_matrix: weights.astype(object) * nums * (common // dens.astype(object)) if len(keys) else weights -> weights.astype(object) * nums * (common // dens.astype(object))",
        "confusion_matrix: len(keys) -> len(keys) + 1 (2)",
        "confusion_matrix: len(keys) -> len(keys) - 1 (2)",
    ),
    ("pairs", "the unit of a matrix cancels in every score"): (
        "confusion_matrix: common << (pairs.scale or 0) -> common >> (pairs.scale or 0)",
        "confusion_matrix: 0 -> 1 (2)",
    ),
}

EQUIVALENT = {(module, change): reason for (module, reason), changes in _BY_REASON.items() for change in changes}
"""The reason by module and change; a change names the function, the edit, and which of equal edits it is."""
