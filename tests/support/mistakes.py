"""Common mistakes, and words of the error messages that they cause."""

from __future__ import annotations

import collections
import datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import streameval as se

ROWS = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]])
SCORES = np.array([[0.94, 0.1, 0.6, 0.2], [0.3, 0.8, 0.1, 0.4], [0.7, 0.6, 0.2, 0.9]])
NAMES = [["cat", "dog"], ["cat"], []]


class Mistake(NamedTuple):
    """The code of a call that is refused, and words of the message."""

    name: str
    code: str
    words: tuple[str, ...]

    def call(self) -> Any:
        """Make the call."""
        names = {"se": se, "np": np, "pd": pd, "collections": collections, "datetime": datetime}
        names |= {"Y": ROWS, "S": SCORES, "names": NAMES}
        return eval(self.code, names)  # noqa: S307  # code from the table below

    def message(self) -> str:
        """The message of the error; empty if the call is not refused."""
        try:
            self.call()
        except se.StreamevalError as error:
            return str(error)
        return ""


MISTAKES = [
    Mistake(
        "A Counter with more than one of a label",
        'se.Evaluator().update(collections.Counter("aab"), {"a"})',
        ("Counter", "set(counter)"),
    ),
    Mistake("A range as one example", "se.Evaluator().update(range(3), {0})", ("must be a set, list", "list(y_true)")),
    Mistake(
        "A label that was not declared",
        'se.score([["cta"]], [["cat"]], labels=["cat", "dog"])',
        ("label 'cta' is not among the 2 declared", "did you mean 'cat'?"),
    ),
    Mistake(
        "A list that may be labels or indicators",
        "se.score([[1, 0, 1]], [[0, 1, 1]])",
        ("y_true[0] is [1, 0, 1]", "rows='indicator'"),
    ),
    Mistake(
        "Two columns of one name", 'se.score(pd.DataFrame(Y, columns=list("abca")), Y)', ("two columns named 'a'",)
    ),
    Mistake(
        "Truths of -1 and 1",
        "se.score(2 * Y - 1, Y)",
        ("y_true[0] is -1 for label 1", "give y > 0", "masked give numpy.where"),
    ),
    Mistake(
        "Predictions of -1 and 1",
        "se.score(Y, 2 * Y - 1)",
        ("y_pred[0] is -1", "threshold=0.5: for -1 and 1 give y > 0"),
    ),
    Mistake(
        "Integers in an array that are labels",
        "se.Evaluator().update(np.array([3, 7]), {3})",
        ("y_true is 3 for label 0", ".tolist()"),
    ),
    Mistake(
        "Different numbers of examples",
        "se.score(Y, Y[:2])",
        ("y_true has 3 and y_pred has 2", "give one of each per example"),
    ),
    Mistake(
        "A list of arrays, as `predict_proba` gives it",
        "se.score(Y, [np.stack([1 - s, s], 1) for s in S.T], threshold=0.5)",
        ("a list of 4 arrays of shape (3, 2)", "np.stack([p[:, 1] for p in y_pred], axis=1)"),
    ),
    Mistake(
        "Different numbers of columns",
        "se.score(Y, Y[:, :3])",
        ("y_true has 4 columns and y_pred has 3", "one column per label"),
    ),
    Mistake(
        "Rows of different lengths",
        "se.score([np.array([1, 0]), np.array([1, 0, 1])], [[0], [1]])",
        ("y_true has rows of 2 columns and of 3", "one row of indicators"),
    ),
    Mistake(
        "More columns than labels",
        'se.score(Y, Y, labels=["a", "b", "c"])',
        ("y_true has 4 columns for 3 declared labels",),
    ),
    Mistake("Arguments swapped", "se.score(S, Y)", ("y_true[0] is 0.94", "are y_true and y_pred swapped?")),
    Mistake(
        "Arrays of one dimension",
        "se.score(Y[0], Y[0])",
        ("y_true has shape (4,)", "y_true[:, None]", "[[c] for c in y_true]"),
    ),
    Mistake(
        "One class name an example",
        'se.score(["cat", "dog"], ["cat", "cat"])',
        ("y_true[0] is the string 'cat'", "[[label] for label in y_true]"),
    ),
    Mistake("Names joined by commas", 'se.Evaluator().update("cat,dog", {"cat"})', ("'cat,dog'", ".split(',')")),
    Mistake("Lists that became strings", """se.score(["['cat', 'dog']"], ["cat"])""", ("ast.literal_eval(string)",)),
    Mistake("Names joined by spaces", 'se.score(["cat dog"], ["cat"])', ("'cat dog'", ".split(' ')")),
    Mistake("Probabilities without a threshold", "se.score(Y, S)", ("y_pred[0] is 0.94", "threshold=0.5")),
    Mistake("A threshold that is a string", 'se.Evaluator(threshold="0.5")', ("threshold must be a number", "'0.5'")),
    Mistake(
        "Names declared, ids passed",
        'se.score([[0], [1]], [[0], [1]], labels=["cat", "dog"])',
        ("label 0 is an integer", "labels are declared as strings", "give names"),
    ),
    Mistake(
        "Nameless arrays with names",
        "se.score(names, Y)",
        ("y_pred holds rows of 4 values without label names", "labels=[...]"),
    ),
    Mistake(
        "None as a label", "se.score([[1], [2], [None]], [[1], [2], [3]])", ("y_true[2]", "not None", "leave it out")
    ),
    Mistake(
        "A missing example",
        "se.score(pd.Series([[1], [2], np.nan]), [[1], [2], [3]])",
        ("y_true[2] is missing (nan)", "give [] if there is no label, drop the row, or give null='empty'"),
    ),
    Mistake(
        "A score that is NaN",
        "se.score(Y, np.where(S == 0.1, np.nan, S), threshold=0.5)",
        ("y_pred[0] is nan for label 1", 'nan="missing"'),
    ),
    Mistake("A negative weight", "se.score(Y, Y, weights=[1, 1, -1])", ("weights[2]", "not negative", "-1")),
    Mistake(
        "Weights of two dimensions",
        "se.score(Y, Y, weights=np.ones((3, 1)))",
        ("weights has shape (3, 1)", "np.ravel(weights)"),
    ),
    Mistake(
        "One weight for all", "se.score(Y, Y, weights=2.0)", ("shape ()", "one per example (not per cell); write [")
    ),
    Mistake(
        "Weights by example, in a dictionary",
        "se.score(Y, Y, weights={0: 1, 1: 2, 2: 3})",
        ("weights has shape ()", "write list(weights.values())"),
    ),
    Mistake(
        "Weights that are strings",
        'se.score(Y, Y, weights=np.array(["1", "2", "3"]))',
        ("type <U1", "write [*map(float, weights)]"),
    ),
    Mistake("A class in place of a list of metrics", "se.Evaluator(se.F1)", ("must be a list", "write [F1()]")),
    Mistake(
        "Lists of labels that are declared",
        "se.Evaluator(labels=names)",
        ("labels: a label must be", "(['cat', 'dog']); give one list of labels"),
    ),
    Mistake(
        "A combination of slices that is not in a list",
        'se.Sliced(se.Evaluator(), by=["a", "b"], cross=["a", "b"])',
        ("cross combines two or more", "write cross=[('a', 'b')]"),
    ),
    Mistake(
        "A window over a time that counts examples",
        "se.Rolling(se.F1(), datetime.timedelta(1))",
        ("size must be an integer", "for a time use TimeRolling"),
    ),
    Mistake(
        "Metrics in a list where one object counts",
        "se.Trace([se.F1(), se.Recall()])",
        ("an object that counts", "write Evaluator(metrics)"),
    ),
    Mistake(
        "A threshold for what has none",
        'se.Evaluator([], keep=["curves"]).best_threshold("subset_accuracy")',
        ("an objective of streameval.metrics.thresholds, such as Cost()",),
    ),
    Mistake("`average=` of scikit-learn", 'se.Evaluator(average="macro")', ("average", "f1_macro")),
    Mistake(
        "`target_names=` of scikit-learn",
        'se.score(Y, Y, target_names=["a", "b", "c", "d"])',
        ("target_names", "labels="),
    ),
    Mistake(
        "`sample_weight=` that does not fit",
        "se.score(Y, Y, sample_weight=[1, 1])",
        ("y_true has 3", "sample_weight has 2"),
    ),
    Mistake(
        "A list of states to merge",
        "se.Evaluator().merge([se.Evaluator()])",
        ("cannot merge an object of type list", "for part in parts: total.merge(part)"),
    ),
    Mistake(
        "States to merge, in a dictionary",
        'se.Evaluator().merge({"a": se.Evaluator()})',
        ("cannot merge an object of type dict", "for part in parts.values(): total.merge(part)"),
    ),
    Mistake(
        "A slice by its name",
        'se.Sliced(se.Evaluator(), by="region").update({"a"}, {"a"}, region="us")',
        ("no argument region=", "where={'region': ...}"),
    ),
    Mistake(
        "Slices without `where=`",
        'se.Sliced(se.Evaluator(), by="region").update({"a"}, {"a"})',
        ("update is missing where", "write update(y_true, y_pred, where={'region': ...})"),
    ),
    Mistake(
        "A truth without its key",
        'se.Pending(se.Evaluator()).observe({"a"})',
        ("observe is missing y_true", "write observe(key, y_true)"),
    ),
    Mistake("A metric that is not there", 'se.Evaluator(["f1_marco"])', ("there is no metric 'f1_marco'", "f1_macro")),
    Mistake("`mAP`", 'se.Evaluator(["mAP"])', ("average_precision_macro", "map_at")),
    Mistake("`accuracy`", 'se.Evaluator(["accuracy"])', ("subset_accuracy", "accuracy_macro")),
    Mistake("Metrics in one string", 'se.Evaluator("f1_micro,f1_macro")', ("write ['f1_micro', 'f1_macro']",)),
    Mistake(
        "A metric of scores, and lists of labels",
        'se.score(names, names, "roc_auc_macro")',
        ("curves need scores", "{label: score}"),
    ),
    Mistake(
        "Strings in a data frame",
        "se.score(pd.DataFrame(Y).astype(str), pd.DataFrame(Y))",
        ("y_true[0] is '1' for label 0", ".astype(int)"),
    ),
    Mistake(
        "Names of columns on one side only",
        'se.score(pd.DataFrame(Y, columns=list("abcd")), pd.DataFrame(Y))',
        ("are ['a', 'b', 'c', 'd']", "are numbered, [0, 1, 2, 3]; name the columns alike"),
    ),
    Mistake(
        "An array, and a data frame with its columns in another order than `labels=`",
        'se.Evaluator(labels=list("abcd")).update_many(pd.DataFrame(Y, columns=list("dcba")), Y)',
        ("y_pred has no column names", "in different orders; give y_pred as a data frame too"),
    ),
    Mistake(
        "The path of a file",
        'se.score("y.csv", "p.csv")',
        ("y_true must be many examples", "for a file evaluate_table"),
    ),
    Mistake(
        "One class per example",
        "se.score([3, 1, 2], [3, 1, 1])",
        ("y_true[0] must be", "[[label] for label in y_true]"),
    ),
    Mistake(
        "One score an example",
        "se.score(Y[:, :1], S[:, 0].tolist(), threshold=0.5)",
        ("y_pred[0] must be", "one label write numpy.reshape(y_pred, (-1, 1))"),
    ),
    Mistake(
        "Many examples for `update`",
        "se.Evaluator().update(names, names)",
        ("not list (['cat', 'dog'])", "use update_many"),
    ),
    Mistake(
        "The output of a Hugging Face model",
        "se.score(Y, collections.OrderedDict(logits=S), threshold=0)",
        ("not one OrderedDict", "give y_pred['logits']"),
    ),
    Mistake(
        "What a zero-shot pipeline predicts",
        'se.score([["a"]], [{"sequence": "x", "labels": ["a"], "scores": [0.9]}], threshold=0.5)',
        ("y_pred[0] is 'x' for label 'sequence'", "dict(zip(each['labels'], each['scores']))"),
    ),
    Mistake(
        "What a language model writes as JSON",
        'se.score([["a"]], [{"labels": ["a"]}])',
        ("y_pred[0] is ['a'] for label 'labels'", "of each give its 'labels'"),
    ),
    Mistake(
        "A list of labels in a dictionary",
        'se.Evaluator().update({"tags": ["a"]}, {"a"})',
        ("y_true is ['a'] for label 'tags'", "for labels give the list alone"),
    ),
]
