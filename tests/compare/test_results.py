"""Ranking, verdicts and their presentation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.compare import Comparison, compare, compare_tables, make_table
from sk_anyloss.compare.run.store import Fold
from sk_anyloss.compare.verdict import Verdict, judge, judge_many
from tests.compare.samples import FAST, X, Y


def comparison(scores, **settings):
    """A comparison with given numbers of true positives out of ten."""
    table = make_table(X, Y)
    folds = [
        Fold("data", method, k, 0.1, [10, 0, 10 - tp, tp])
        for method, hits in scores.items()
        for k, tp in enumerate(hits)
    ]
    return Comparison([table], folds, list(scores), "recall", settings=settings)


def test_the_table_has_means_and_ranks_over_the_folds():
    found = comparison({"anyloss": [9, 8, 7], "bce": [5, 9, 4], "logistic": [1, 1, 1]})
    table = found.table
    assert list(table.index) == ["anyloss", "bce", "logistic"]
    np.testing.assert_allclose(table["mean"], [0.8, 0.6, 0.1])
    stds = [np.std([9, 8, 7], ddof=1) / 10, np.std([5, 9, 4], ddof=1) / 10, 0]
    np.testing.assert_allclose(table["std"], stds, atol=1e-12)
    np.testing.assert_allclose(table["rank"], [4 / 3, 5 / 3, 3])
    assert table.loc["bce", ["tn", "fp", "fn", "tp"]].tolist() == [30, 0, 12, 18]
    assert found.winner == "anyloss"
    assert len(found.results) == 3 * 3 * len(found.metrics)


def test_the_verdict_is_against_the_strongest_other_method():
    scores = {"anyloss": [9, 8, 9, 8], "bce": [5, 5, 4, 5], "logistic": [1, 2, 1, 1]}
    assert comparison(scores).verdict() == (
        "AnyLoss beats BCE on recall with probability 0.99 (mean difference +0.375)."
    )
    swapped = {"anyloss": scores["bce"], "bce": scores["anyloss"]}
    assert comparison(swapped).verdict() == (
        "AnyLoss loses to BCE on recall with probability 0.99 (mean difference -0.375)."
    )
    equal = {"anyloss": [5, 5, 5, 5], "bce": [5, 5, 5, 5]}
    assert comparison(equal).verdict() == (
        "AnyLoss and BCE are practically equivalent on recall, within 0.01, with "
        "probability 1.00 (mean difference +0.000)."
    )
    single = comparison({"anyloss": [5], "bce": [4]})
    assert "too few finished folds" in single.verdict()


@pytest.mark.parametrize("likely", [0.4, 0.79])
def test_a_verdict_without_a_probable_outcome_is_inconclusive(likely):
    rest = (1 - likely) / 2
    for outcomes in ((likely, rest, rest), (rest, likely, rest), (rest, rest, likely)):
        text = str(Verdict("A", "B", "F1", *outcomes, 0.01, 0.01))
        better, equivalent, worse = (f"{p:.2f}" for p in outcomes)
        assert text == (
            f"A against B, on F1: inconclusive (better {better}, practically "
            f"equivalent {equivalent}, worse {worse}; mean difference +0.010)."
        )
    shown = Verdict("A", "B", "F1", 0.1, 0.8, 0.1, 0.001, 0.01)
    assert "are practically equivalent" in str(shown)


scores = st.lists(st.integers(0, 20), min_size=3, max_size=12)


@given(scores, st.randoms(use_true_random=False))
def test_swapping_the_methods_swaps_better_and_worse(counts, random):
    one = np.array(counts) / 20
    other = np.array([random.randint(0, 20) for _ in counts]) / 20
    better, equivalent, worse = judge(one, other)
    assert min(better, equivalent, worse) >= 0
    assert better + equivalent + worse == pytest.approx(1)
    assert judge(other, one) == pytest.approx((worse, equivalent, better))
    if (one - other).min() > 0.05:
        assert better > 0.5
    without = judge(one, other, rope=0)
    assert sum(without) == pytest.approx(1)
    assert (without[1] == 0) == bool((one != other).any())


def test_folds_forward_in_time_make_the_test_more_conservative():
    one, other = np.array([0.6, 0.7, 0.65, 0.72]), np.array([0.58, 0.6, 0.63, 0.6])
    shuffled, forward = judge(one, other), judge(one, other, forward=True)
    assert 0.5 < forward[0] < shuffled[0]
    assert sum(forward) == pytest.approx(1)


def test_the_posterior_is_that_of_baycomp_on_complete_runs():
    import baycomp

    rng = np.random.default_rng(0)
    one, other = rng.random(15), rng.random(15)
    expected = baycomp.two_on_single(other, one, rope=0.01, runs=3)[::-1]
    assert judge(one, other, folds=5) == pytest.approx(expected, abs=1e-12)
    expected = baycomp.two_on_single(other, one, rope=0.01)[::-1]
    assert judge(one, other) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("finished", [2, 3, 4, 7, 14])
def test_runs_that_were_stopped_have_verdicts(finished):
    hits = {"anyloss": [9, 8, 9, 8, 7] * 3, "bce": [5, 7, 4, 5, 6] * 3}
    hits = {name: own[:finished] for name, own in hits.items()}
    found = comparison(hits, folds=5, repeats=3)
    (verdict,) = found.verdicts().values()
    assert 0.5 < verdict.better < 1
    assert "The run is partial" in str(found.recommendation())


def test_a_missing_fit_hardly_moves_a_posterior():
    rng = np.random.default_rng(0)
    hits = {name: rng.integers(5, 10, 80) for name in ("bce", "anyloss")}
    hits["anyloss"][:30] += 1
    complete = comparison(hits, folds=10, repeats=8).verdict_of("anyloss", "bce")
    hits["bce"] = hits["bce"][:-1]
    partial = comparison(hits, folds=10, repeats=8).verdict_of("anyloss", "bce")
    assert 0.6 < complete.better < 0.95
    assert partial.better == pytest.approx(complete.better, abs=0.02)


def test_several_data_sets_are_compared_by_the_sign_test():
    tables = [make_table(X + i, Y, name=f"set {i}") for i in range(3)]
    found = compare_tables(tables, methods=FAST, folds=2)
    assert set(found.results["data"]) == {"set 0", "set 1", "set 2"}
    means = found.scores().groupby(level="data").mean()
    expected = judge_many(means["anyloss"], means["logistic_balanced"])
    (verdict,) = found.verdicts().values()
    assert (verdict.better, verdict.equivalent, verdict.worse) == expected
    assert "All 3 data sets" in found.text()


def test_a_report_has_a_section_for_each_data_set(tmp_path):
    tables = [make_table(X + i, Y, name=f"set {i}") for i in range(2)]
    found = compare_tables(tables, methods=FAST, folds=2, output=tmp_path)
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert page.count("<picture>") == 12
    assert page.count('<table class="sortable"') == 3
    assert len(list((tmp_path / "pictures").glob("set_1-*.scores.png"))) == 1
    assert found._repr_html_().count('<table class="sortable"') == 2


def test_results_are_shown_in_a_terminal_and_in_a_notebook():
    found = compare(X, Y, methods=FAST, folds=3)
    text = repr(found)
    assert "AnyLoss " in text
    assert found.verdict() in " ".join(text.split())
    assert "G-mean" in text
    html = found._repr_html_()
    assert html.count('<tr class="dummy"') == 3
    assert html.count("± ") == len(FAST) + 3
    assert "AnyLoss" in html
    assert len(found.plot("data").axes) == 1
