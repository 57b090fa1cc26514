"""The study gives published scores, looks at no test fold, and goes on where it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.utils import Bunch

from benchmarks.study import (
    data,
    honest,
    learning,
    paper,
    published,
    rounding,
    runs,
    steepness,
    tables,
)
from benchmarks.study.__main__ import choose, main, parser, renew
from benchmarks.study.scores import AIMS, METRICS, counts, is_collapsed, score
from sk_anyloss import metric_score

TEN = tuple(range(10))
SOURCES = {source.paper_id: source for source in data.built_in()}
WDBC = {
    "BCE": {"Acc": 0.9807, "F1": 0.9734, "F0.5": 0.9806, "F2": 0.9667, "Gmean": 0.9767,
            "BAcc": 0.9771},
    "L_F1": {"Acc": 0.9789, "F1": 0.9709, "F0.5": 0.9767, "F2": 0.9656,
             "Gmean": 0.9752, "BAcc": 0.9756},
}  # fmt: skip


def mean_scores(source, losses):
    found = published.run(source, TEN, losses=losses)
    return {
        (loss, metric): score([found[k][i]["test"] for k in TEN], metric).mean()
        for i, loss in enumerate(losses)
        for metric in METRICS
    }


def test_published_scores_of_a_set_of_the_102():
    found = mean_scores(SOURCES["33"], ("BCE", "L_F1"))
    for loss, known in WDBC.items():
        for metric, value in known.items():
            assert found[loss, metric] == pytest.approx(value, abs=6e-5)


def test_published_scores_of_an_imbalanced_set():
    losses = ("BCE", "L_F1")
    found = mean_scores(SOURCES["four#3"], losses)
    lines = paper.FOUR_SCORES["SLP"]["four#3"]
    for metric, line in zip(AIMS, lines, strict=True):
        known = dict(zip(paper.FOUR_LOSSES, line, strict=True))
        for loss in losses:
            assert found[loss, metric] == pytest.approx(known[loss], abs=1e-6)


@pytest.fixture
def source(tmp_path):
    return small_set(tmp_path, "small")


def small_set(folder, name, n=120):
    X, y = make_classification(n, 4, weights=[0.8], flip_y=0.1, random_state=len(name))
    path = folder / f"{name}.npz"
    np.savez(path, X=X, y=y)
    return data.Source(name, str(path), "7", "exact", *X.shape)


@pytest.fixture
def few(monkeypatch):
    """One setting instead of many."""
    monkeypatch.setattr(honest, "LRS", (0.05,))
    monkeypatch.setattr(honest, "SHARES", (0.5,))
    monkeypatch.setattr(honest, "EPOCHS", 2)
    monkeypatch.setattr(steepness, "LS", (5, 73))
    monkeypatch.setattr(steepness, "LRS", (0.05,))
    monkeypatch.setattr(steepness, "CURVES", (5, 100))
    monkeypatch.setattr(learning, "ROUNDS", 1)
    monkeypatch.setattr(learning, "ROW_EPOCHS", 1_000)
    monkeypatch.setattr(rounding, "TIMES", 2)
    monkeypatch.setattr(published, "EPOCHS", 6)
    monkeypatch.setattr(learning, "EPOCHS", (2, 4))


@pytest.mark.filterwarnings("ignore:The model predicts")
@pytest.mark.parametrize("structure", ["SLP", "MLP"])
def test_nothing_of_the_test_fold_is_seen(source, few, structure, monkeypatch):
    X, y = source.load()
    test = data.ten_folds(y)[1][1]
    before = honest.run(source, (1,), structure)[1]
    assert {row["method"] for row in before} > {"AnyLoss", "BCE + SMOTE", "SOL"}
    others = y.copy()
    others[test] = 1 - others[test]
    monkeypatch.setattr(data.Source, "load", lambda self: (X, others))
    monkeypatch.setattr(honest, "ten_folds", lambda _: data.ten_folds(y))
    after = honest.run(source, (1,), structure)[1]
    assert {row["method"] for row in honest.run(source, (1,), structure, L=5)[1]} == {
        "AnyLoss, L=5"
    }
    for a, b in zip(before, after, strict=True):
        assert a["inner"] == b["inner"]
        tn, fp, fn, tp = a["test"]
        assert b["test"] == [fn, tp, tn, fp]  # The same decisions, the other labels.


def test_the_inner_rows_are_the_training_rows(source, few):
    X, y = source.load()
    train, _ = data.ten_folds(y)[0]
    bench = honest.Bench(X, y, ())
    for _, _, _, inner, last in honest.plan(bench, train):
        held_out = np.concatenate([rows for rows, _ in inner])
        np.testing.assert_array_equal(np.sort(held_out), train)
        for rows, place in inner:
            assert not set(rows) & set(bench.rows[place])
        own = bench.rows[last]
        assert set(own[own < len(y)]) <= set(train)


def test_resampled_rows(source):
    X, y = source.load()
    bench = honest.Bench(X, y, ())
    rows = np.arange(len(y))
    more, fewer = bench.oversampled(rows, 0.8), bench.undersampled(rows, 0.8)
    labels = np.hstack(bench.y)
    for taken in (more, fewer):
        assert labels[taken].sum() / (labels[taken] == 0).sum() == pytest.approx(
            0.8, 0.05
        )
    new = np.vstack(bench.X)[len(y) :]
    assert np.isfinite(new).all()
    low, high = X[y == 1].min(axis=0), X[y == 1].max(axis=0)
    assert ((new >= low - 1e-9) & (new <= high + 1e-9)).all()


@pytest.mark.parametrize("n", [10, 64, 200, 1_000, 5_000])
def test_as_many_batches_on_parts_and_on_all(n):
    batches = honest.n_batches(n)
    for rows in (n, n + 1, n * 3 // 2):
        size = -(-rows // batches)
        assert -(-rows // size) == batches


def test_scores_are_those_of_the_package():
    rng = np.random.default_rng(0)
    y, decided = rng.integers(0, 2, (2, 50))
    for metric, name in METRICS.items():
        mine = score([counts(y, decided)], metric)
        assert mine[0] == pytest.approx(metric_score(y, decided, metric=name))
    assert is_collapsed([5, 0, 5, 0])
    assert not is_collapsed([5, 1, 5, 0])


def test_the_choice_is_made_inside_and_scored_outside():
    rows = [
        ("BCE", None, [8, 2, 0, 2], [9, 1, 1, 1]),
        ("BCE", None, [8, 2, 2, 0], [10, 0, 0, 2]),
        ("AnyLoss", "F1", [9, 1, 1, 1], [10, 0, 0, 2]),
        ("AnyLoss", "Acc", [10, 0, 0, 2], [0, 10, 2, 0]),
    ]
    table = pd.DataFrame(rows, columns=["method", "aim", "inner", "test"])
    table = table.assign(set="a", fold=0)
    found = tables.chosen(table, "F1")
    assert found.loc["a", "BCE"] == 0.5
    assert found.loc["a", "AnyLoss"] == 1


def test_ties_go_to_anyloss_then_to_bce():
    scores = pd.DataFrame(
        {"MSE": [1.0, 1, 1, 1], "BCE": [1.0, 1, 0, 0], "AnyLoss": [1.0, 0, 0, 2]}
    )
    assert tables.wins(scores) == ([1, 1, 2], 2)


def test_groups_of_imbalance():
    shares = np.array([0.61, 0.7, 0.701, 0.8, 0.9, 0.901])
    assert tables.group_of(shares).tolist() == [0, 0, 1, 1, 2, 3]


def test_what_is_finished_is_not_run_again(source, tmp_path):
    ran = []

    def work(source, folds):
        ran.append(folds)
        return {fold: [{"test": [1, 2, 3, fold]}] for fold in folds}

    tasks = [runs.Task("part", source, (0, 1)), runs.Task("part", source, (2,))]
    first = runs.run(tasks[:1], work, tmp_path, jobs=1)
    both = runs.run(tasks, work, tmp_path, jobs=1)
    assert ran == [(0, 1), (2,)]
    assert first["fold"].tolist() == [0, 1]
    assert both["fold"].tolist() == [0, 1, 2]
    assert both["test"].tolist()[2] == [1, 2, 3, 2]
    assert not list(tmp_path.glob("**/*.part"))


@pytest.mark.filterwarnings("ignore")
def test_the_whole_study_on_small_sets(tmp_path, few, capsys, monkeypatch):
    main_losses = [loss for loss in honest.losses() if loss[0] in tables.TRIO]
    monkeypatch.setattr(honest, "losses", lambda: main_losses)
    folder = tmp_path / "data"
    (folder / "paper").mkdir(parents=True)
    lines = ["name,paper_id,n,d,match"]
    for paper_id, name in (("7", "one"), ("8", "other"), ("four#3", "third")):
        small_set(folder / "paper", name)
        lines.append(f"{name},{paper_id},120,4,{'exact' if len(name) < 6 else 'near'}")
    (folder / "catalog.csv").write_text("\n".join(lines), encoding="utf-8")
    scores = [
        f"{structure},{paper_id},{metric},{loss},0.5"
        for structure in ("SLP", "MLP")
        for paper_id in ("7", "8")
        for metric in METRICS
        for loss in published.RATES
    ]
    header = "structure,paper_id,eval_metric,loss,score"
    (folder / "paper_scores.csv").write_text(
        "\n".join([header, *scores]), encoding="utf-8"
    )
    page = tmp_path / "study.md"
    page.write_text(
        "A\n<!-- begin: table 13 -->\nold\n<!-- end: table 13 -->\nB\n",
        encoding="utf-8",
    )
    words = ["--data", str(folder), "--output", str(tmp_path / "out"), "--jobs", "1"]
    main([*words, "--page", str(page)])
    text = capsys.readouterr().out
    for name in (
        "reproduced",
        "rounding",
        "table 7",
        "table 9",
        "table 17",
        "honest MLP",
    ):
        assert f"## {name}\n" in text
    assert "nan" not in text.lower()
    assert "old" not in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith(
        "A\n<!-- begin: table 13 -->\n| metric |"
    )
    assert len(list(tmp_path.glob("study_*.png"))) == 5
    # All is there: nothing is run, and the pictures need not be drawn again.
    monkeypatch.setattr(runs, "_run_one", None)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    main([*words, "--report"])
    again = capsys.readouterr().out
    assert again == text


def test_a_page_keeps_what_is_not_renewed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- begin: a -->\n1\n<!-- end: a -->\n<!-- begin: b -->\n2\n",
        encoding="utf-8",
    )
    renew(page, {"a": "new", "c": "nowhere"})
    assert page.read_text(encoding="utf-8") == (
        "<!-- begin: a -->\nnew\n<!-- end: a -->\n<!-- begin: b -->\n2\n"
    )


def test_sets_of_openml(monkeypatch):
    frame = pd.DataFrame(
        {"kind": list("aabb") * 10, "size": [1.0, 2.0, None, 4.0] * 10}
    )
    target = pd.Series(["yes", "no", "no", "no"] * 10, name="left")

    def fetch(**_):
        return Bunch(data=frame, target=target, details={"name": "shop"})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    (source,) = data.from_openml([37])
    X, y = source.load()
    assert (source.name, source.cells) == ("openml_37", 80)
    np.testing.assert_array_equal(X[:4], [[0, 1], [0, 2], [1, 2], [1, 4]])
    assert y.sum() == 10


def test_quick_takes_ten_small_sets_and_the_small_imbalanced_ones(monkeypatch):
    many = [data.Source(f"s{k}", "", str(k), "exact", 100 + k, 5) for k in range(47)]
    large = data.Source("large", "", "99", "exact", 9_000, 40)
    found = [*many, large, *data.built_in()[1:]]
    monkeypatch.setattr(data, "built_in", lambda: found)
    names = [source.name for source in choose(parser().parse_args(["--quick"]))]
    assert len(names) == 12
    assert {"s0", "s36", "four1_random", "four3_breast_cancer"} <= set(names)
    assert "large" not in names


def test_labels_must_be_0_and_1(tmp_path):
    np.savez(tmp_path / "bad.npz", X=np.zeros((4, 2)), y=[1, 2, 2, 1])
    with pytest.raises(SystemExit, match="must be 0 and 1"):
        main(["--data", str(tmp_path)])


def test_a_folder_without_sets_is_told(tmp_path):
    with pytest.raises(SystemExit, match=r"neither catalog.csv nor .npz"):
        main(["--data", str(tmp_path)])


def test_learning_curves_are_those_of_the_equations(monkeypatch):
    monkeypatch.setattr(published, "EPOCHS", 100)
    for (_, dtype, L), (ours, theirs) in steepness.curves().items():
        if L <= 10:
            rtol = 1e-6 if dtype == "float64" else 1e-3
            np.testing.assert_allclose(ours, theirs, rtol=rtol)
