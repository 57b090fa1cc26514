import subprocess
import sys

import numpy as np
import pytest

from sk_anyloss.metrics import get_metric, metric_name, metric_names
from sk_anyloss.metrics.multiclass.averages import Average
from sk_anyloss.metrics.multiclass.lookup import matrix_metric, matrix_metric_names
from sk_anyloss.metrics.multiclass.matrix import CostMatrix

M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
CLASSES = ["fine", "fraud", "late"]


@pytest.mark.parametrize("name", ["f1", "precision", "jaccard", "specificity", "f0.5"])
def test_a_binary_name_means_its_macro_average(name):
    assert matrix_metric(name, CLASSES)(M) == matrix_metric(f"{name}_macro", CLASSES)(M)


@pytest.mark.parametrize("name", matrix_metric_names())
def test_with_two_classes_the_generalisation_is_the_binary_metric(name):
    tn, fp, fn, tp = 90.0, 7.0, 4.0, 11.0
    binary = name if name in metric_names() else "cohen_kappa"
    expected = get_metric(binary)(tn, fp, fn, tp)
    found = matrix_metric(name, [0, 1])(np.array([[tn, fp], [fn, tp]]))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("name", ["f1", "recall", "jaccard"])
def test_averages_of_four_counts_are_those_of_the_matrix(name, average):
    metric = Average(name, average)
    for counts in ((90.0, 7.0, 4.0, 11.0), (9.0, 0.0, 0.0, 0.0), (0.0, 0.0, 3.0, 2.0)):
        expected = metric.of_matrix(np.reshape(counts, (2, 2)))
        assert metric(*counts) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("classes", [[0, 1, 2], [0.0, 1.0, 2.0], ["0", "1", "2"]])
def test_a_class_is_named_as_it_is_written_or_by_its_number(classes):
    assert matrix_metric("recall[1]", classes)(M) == 0.5
    with pytest.raises(ValueError, match=r"names the class '1\.5'"):
        matrix_metric("recall[1.5]", classes)


def test_names_are_taken_in_any_case_and_shown_in_one():
    assert get_metric("F1_Macro") == Average("f1", "macro")
    assert metric_name("F1_Macro") == metric_name(Average("f1", "macro")) == "f1_macro"
    assert matrix_metric("MCC", CLASSES) is matrix_metric("mcc", CLASSES)


def test_one_class_against_the_rest_by_its_label():
    assert matrix_metric("recall[fraud]", CLASSES)(M) == 0.5
    assert matrix_metric("precision['late']", CLASSES)(M) == 0.8
    assert matrix_metric("recall[2]", [1, 2, 3])(M) == 0.5


def test_a_floor_under_one_class():
    metric = matrix_metric("accuracy@recall[late]>=0.9", CLASSES)
    assert metric(M) == 0.75
    violated = matrix_metric("accuracy@recall[fraud]>=0.8", CLASSES)
    assert violated(M) == pytest.approx(-0.3, abs=1e-12)


def test_a_function_of_the_matrix_is_taken_as_it_is():
    assert matrix_metric(lambda M: M[0, 0], CLASSES)(M) == 5


def test_savings_are_1_for_the_cheapest_and_0_for_the_most_expensive_decisions():
    savings = CostMatrix([[0, 1, 3], [2, 0, 2], [10, 5, -1]])
    assert savings(np.diag([5.0, 3.0, 2.0])) == 1
    worst = np.array([[0.0, 0.0, 5.0], [3.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    assert savings(worst) == 0
    assert matrix_metric(savings, CLASSES)(worst) == 0
    assert hash(savings) == hash(CostMatrix(np.array(savings.costs)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: matrix_metric("roc_auc", CLASSES), "over thresholds .* 'f1_macro'"),
        (lambda: matrix_metric("roc_auc_macro", CLASSES), "cannot be averaged"),
        (lambda: matrix_metric("f1_macro[late]", CLASSES), "without the average"),
        (lambda: matrix_metric("recall[frod]", CLASSES), "the classes are fine, fraud"),
        (lambda: matrix_metric("f1_makro", CLASSES), "Unknown metric 'f1_makro'"),
        (lambda: matrix_metric("f1@recall[late]>=2", CLASSES)(M), r"lie in \(0, 1\)"),
        (lambda: Average("f1", "samples"), "average must be one of .* 'samples'"),
        (lambda: CostMatrix([[0, 1, 2], [1, 0, 2]]), r"square matrix .* \(2, 3\)"),
        (lambda: CostMatrix([[0, np.inf], [1, 0]]), "finite numbers"),
        (lambda: CostMatrix([[1, 1], [2, 2]]), "whatever is decided"),
        (lambda: CostMatrix([[0, 1], [1, 0]])(M), "2 rows .* 3 classes"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


LONG_NAMES = """
from sk_anyloss import metric_score
from sk_anyloss.metrics import get_metric

texts = [" @ ", "@", ">=", "@ >= ", "a@b>=1", "a >= 1 @ ", " ", "1", "f1", ".", "[a]"]
for text in texts:
    for name in (text * 5000, "f1@recall>=" + text * 5000, "f" + text * 5000 + "x"):
        for find in (get_metric, lambda x: metric_score([0, 1], [0, 1], metric=x)):
            try:
                find(name)
            except ValueError:
                continue
            print("taken:", name[:30])
"""


def test_long_names_are_refused_in_time_that_grows_with_their_length():
    command = [sys.executable, "-c", LONG_NAMES]
    found = subprocess.run(command, timeout=120, check=True, capture_output=True)
    assert found.stdout == b""


@pytest.mark.parametrize("label", ["a@b", ">=50", "a b", "]", "x@y.z"])
def test_a_class_with_signs_in_its_name(label):
    classes = ["fine", label, "late"]
    for name in (f"f1_macro@recall[{label}]>=0.4", f"f1_macro @ recall[{label}] >= .4"):
        assert matrix_metric(name, classes)(M) == matrix_metric("f1", classes)(M)
    assert matrix_metric(f"recall[{label}]", classes)(M) == 0.5
