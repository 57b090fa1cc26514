"""AnyLossClassifier for three classes or more, and for several labels."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import cohen_kappa_score, f1_score, jaccard_score
from sklearn.model_selection import cross_val_score

from sk_anyloss import AnyLossClassifier, EarlyStopping, fit_stack
from sk_anyloss.losses import CrossEntropy, MulticlassAnyLoss
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import CostMatrix, FBeta, Savings, metric_score
from tests.tolerances import SAME_MODEL

CLASSES = np.array(["fine", "fraud", "late"])


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        400, 6, n_informative=4, n_classes=3, weights=[0.7, 0.1, 0.2], random_state=0
    )
    return X, CLASSES[y]


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(300, 8, n_classes=4, random_state=0)


def small(metric="f1", **params):
    defaults = {"hidden": (8,), "activation": "relu", "L": 10, "random_state": 0}
    return AnyLossClassifier(metric, **{**defaults, "max_epochs": 40, **params})


def test_outputs_of_three_classes(three):
    X, y = three
    model = small().fit(X, y)
    assert model.classes_.tolist() == CLASSES.tolist()
    assert (model.target_type_, model.metric_) == ("multiclass", "f1_macro")
    proba, decision = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == decision.shape == (400, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    for scores in (proba, decision):
        assert (CLASSES[scores.argmax(axis=1)] == model.predict(X)).all()
    expected = f1_score(y, model.predict(X), average="macro")
    assert model.score(X, y) == pytest.approx(expected)
    assert expected > 0.7
    assert cross_val_score(model, X, y, cv=3).mean() > 0.5
    with pytest.raises(AttributeError, match="has no threshold"):
        _ = model.threshold_


def test_the_closed_form_trains_the_network_that_autograd_trains(three):
    X, y = three
    closed = small(loss=MulticlassAnyLoss("f1_macro", Sigmoid(10)), warm_up=0)
    codes = np.searchsorted(CLASSES, y)
    net = closed.fit(X, y).net_
    module = type(net.module_)(
        **{k[8:]: v for k, v in net.get_params(deep=False).items() if "module__" in k}
    )
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01, betas=(0.9, 0.95))
    criterion = MulticlassAnyLoss("f1_macro", Sigmoid(10))
    whole = small(
        loss=MulticlassAnyLoss("f1_macro", Sigmoid(10)),
        warm_up=0,
        batch_size=1.0,
        max_epochs=30,
    ).fit(X, y)
    for _ in range(30):
        optimizer.zero_grad()
        criterion(module(torch.from_numpy(X)), torch.from_numpy(codes)).backward()
        optimizer.step()
    module.eval()
    with torch.no_grad():
        expected = module(torch.from_numpy(X)).softmax(1).numpy()
    np.testing.assert_allclose(whole.predict_proba(X), expected, **SAME_MODEL)


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean"])
def test_two_classes_through_the_code_of_several_are_the_binary_path(three, metric):
    X, y = three
    y = y == "fraud"
    matrix_metric = {"f1": "f1[1]"}.get(metric, metric)
    binary = small(metric, batch_norm=False).fit(X, y)

    class OfTwoClasses(MulticlassAnyLoss):
        """The loss of C classes for one output, the log-odds of the second class."""

        thresholds = (0.5,)

        def for_target(self, target_type, classes=None):
            return self

    loss = OfTwoClasses(matrix_metric, Sigmoid(10))
    through = small(metric, batch_norm=False, loss=loss).fit(X, y)
    np.testing.assert_allclose(
        through.decision_function(X), binary.decision_function(X), rtol=1e-9, atol=1e-9
    )


def own_accuracy(M):
    return M.diagonal(0, -2, -1).sum(-1) / M.sum((-2, -1))


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("kappa_quadratic", "kappa_quadratic"),
        ("precision_weighted", "precision_weighted"),
        ("f1[fraud]", "f1[fraud]"),
        (FBeta(2), None),
        (CostMatrix([[0, 1, 1], [5, 0, 1], [1, 1, 0]]), None),
        (own_accuracy, None),
    ],
    ids=["kappa", "weighted", "one class", "FBeta", "costs", "function"],
)
def test_every_kind_of_metric_is_trained_for(three, metric, name):
    X, y = three
    model = small(metric, warm_up=0).fit(X, y)
    assert name in (None, model.metric_)
    assert model.loss_curve_[-1] < model.loss_curve_[0] - 0.05
    assert model.score(X, y) == pytest.approx(1 - model.loss_curve_[-1], abs=0.2)


def test_ordered_classes_are_scored_in_their_order(three):
    X, y = three
    model = small("kappa_quadratic").fit(X, y)
    codes = [np.searchsorted(CLASSES, labels) for labels in (y, model.predict(X))]
    expected = cohen_kappa_score(*codes, weights="quadratic")
    assert model.score(X, y) == pytest.approx(expected)


def test_a_floor_for_one_class_is_met_on_the_training_samples(three):
    X, y = three
    model = small("f1_macro@recall[fraud]>=0.95", max_epochs=10).fit(X, y)
    assert (model.predict(X)[y == "fraud"] == "fraud").mean() >= 0.95
    proba = model.predict_proba(X)
    assert (CLASSES[proba.argmax(axis=1)] == model.predict(X)).all()


def test_a_warm_up_on_cross_entropy_comes_first(three):
    X, y = three
    default = small(max_epochs=10).fit(X, y)
    first = small(max_epochs=10, loss="cross_entropy").fit(X, y)
    assert default.loss_curve_[:5] == pytest.approx(first.loss_curve_[:5])
    assert len(default.loss_curve_) == default.n_iter_ == 10
    alone = small(max_epochs=10, warm_up=0).fit(X, y)
    assert alone.loss_curve_[0] != pytest.approx(default.loss_curve_[0])
    # Two classes have none unless it is asked for.
    two = small(max_epochs=4).fit(X, y == "fraud")
    same = small(max_epochs=4, warm_up=0.0).fit(X, y == "fraud")
    assert two.loss_curve_ == same.loss_curve_


def test_a_stack_is_single_fits(three):
    X, y = three
    settings = [{"L": 5}, {"L": 20}, {"loss": "cross_entropy"}, {"loss": "focal"}]
    rows = [np.arange(300), np.arange(100, 400)] * 4
    models = [small(**params, max_epochs=6) for params in settings for _ in range(2)]
    fit_stack(models, X, y, rows=rows)
    for i, model in enumerate(models):
        alone = small(**settings[i // 2], max_epochs=6).fit(X[rows[i]], y[rows[i]])
        found = model.predict_proba(X)
        np.testing.assert_allclose(found, alone.predict_proba(X), **SAME_MODEL)


def test_a_batch_in_chunks_is_the_whole_batch(three, monkeypatch):
    X, y = three
    whole = small(batch_size=1.0, max_epochs=5).fit(X, y)
    path = "sk_anyloss.training.data.stacked_batches.CHUNK_SIZE"
    monkeypatch.setattr(path, 1000)
    chunked = small(batch_size=1.0, max_epochs=5).fit(X, y)
    np.testing.assert_allclose(
        chunked.predict_proba(X), whole.predict_proba(X), **SAME_MODEL
    )


def test_weights_sparse_input_and_class_weights(three):
    X, y = three
    times = np.arange(400) % 3
    weighted = small(batch_size=1.0).fit(X, y, sample_weight=times)
    repeated = small(batch_size=1.0).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), **SAME_MODEL
    )
    thin = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    dense, sparse = small().fit(thin.toarray(), y), small().fit(thin, y)
    np.testing.assert_allclose(
        sparse.predict_proba(thin), dense.predict_proba(thin.toarray()), **SAME_MODEL
    )
    balanced = small(loss="cross_entropy", class_weight="balanced").fit(X, y)
    plain = small(loss="cross_entropy").fit(X, y)
    rare = [(model.predict(X) == "fraud").sum() for model in (balanced, plain)]
    assert rare[0] > rare[1]


def test_partial_fit_with_classes_and_warm_start(three):
    X, y = three
    first = y != "late"
    model = small().partial_fit(X[first], y[first], classes=[*CLASSES, "lost"])
    assert model.predict_proba(X).shape == (400, 4)
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot continue with samples of the class"):
        model.partial_fit(X, np.where(first, y, "other"))
    warm = small(warm_start=True, max_epochs=5).fit(X, y).fit(X, y)
    assert warm.n_iter_ == 10
    with pytest.raises(ValueError, match="cannot continue with y of the shape"):
        warm.fit(X, np.zeros((400, 2), dtype=int))


def test_early_stopping_holds_out_each_class_that_has_two_samples(three):
    X, y = three
    y = np.where(np.arange(400) == 7, "single", y)
    stopping = EarlyStopping(patience=3)
    model = small(early_stopping=stopping, max_epochs=60).fit(X, y)
    assert "single" in model.classes_
    assert model.validation_scores_ is not None
    assert max(model.validation_scores_) > 0.4


def test_classes_of_one_sample_and_of_weight_zero_stay_finite(three):
    X, y = three
    y = np.where(np.arange(400) == 7, "single", y)
    assert np.isfinite(small().fit(X, y).predict_proba(X)).all()
    ignored = small(class_weight={"late": 0}).fit(X, y)
    assert np.isfinite(ignored.predict_proba(X)).all()
    absent = small().fit(X, y, sample_weight=(y != "late").astype(float))
    assert "late" not in absent.classes_


def test_many_classes_work_and_very_many_are_refused():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(1100) % 500)
    model = small(max_epochs=2).fit(rng.normal(size=(1100, 3)), y)
    assert model.predict_proba(np.zeros((2, 3))).shape == (2, 500)
    with pytest.raises(ValueError, match=r"6000 classes among 13000.*regressor"):
        small().fit(rng.normal(size=(13000, 2)), np.arange(13000) % 6000)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metric": "roc_auc"}, "Only binary classification is supported by metric"),
        ({"metric": CostMatrix([[0, 1], [1, 0]])}, "2 rows.*3 classes"),
        ({"metric": "recall[missing]"}, "names the class 'missing'"),
        ({"metric": "mcc", "step": "linear"}, "one class against the rest"),
        ({"loss": "surrogate_fbeta"}, "no form for more"),
        ({"pos_label": "fraud"}, r"positive one of two classes.*'f1\[fraud\]'"),
        ({"warm_up": 1}, r"warm_up must be a number in \[0, 1\)"),
        ({"threshold": 0.3}, r"threshold=0\.3 is for two classes.*of 3 classes"),
        ({"metric": f1_score}, "metric=f1_score compares labels"),
        ({"metric": "f1_makro"}, "'makro' is no average.*'f1_macro'"),
        ({"metric": "f1_samples"}, "of several labels only"),
    ],
)
def test_what_has_no_meaning_for_three_classes_is_refused(three, params, message):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(*three)


def test_labels_of_several_types_are_refused(three):
    mixed = np.where(three[1] == "late", 0, three[1].astype(object))
    with pytest.raises(TypeError, match="labels of several types, int and str"):
        small().fit(three[0], mixed)


@pytest.mark.parametrize("step", ["linear", "cosine", "identity", "logit"])
def test_other_steps_train_three_classes(three, step):
    X, y = three
    assert small(step=step, warm_up=0.5, max_epochs=60).fit(X, y).score(X, y) > 0.6


def test_torch_criteria_train_three_classes(three):
    X, y = three
    ours = small(loss=CrossEntropy(), max_epochs=5).fit(X, y)
    torchs = small(loss=torch.nn.CrossEntropyLoss(), max_epochs=5).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_proba(X), torchs.predict_proba(X), **SAME_MODEL
    )


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "samples"])
def test_several_labels_are_trained_for_their_average(labels, average):
    X, Y = labels
    model = small(f"f1_{average}", max_epochs=60).fit(X, Y)
    assert model.target_type_ == "multilabel-indicator"
    assert model.predict_proba(X).shape == model.decision_function(X).shape == Y.shape
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(logs), model.predict_proba(X))
    predicted = model.predict(X)
    assert ((model.predict_proba(X) > 0.5) == predicted).all()
    expected = f1_score(Y, predicted, average=average, zero_division=0)
    assert model.score(X, Y) == pytest.approx(expected)
    assert model.loss_curve_[-1] < model.loss_curve_[0] - 0.2


def test_each_label_alone_is_the_binary_network_without_hidden_layers(labels):
    X, Y = labels
    options = {"hidden": (), "batch_size": 1.0, "max_epochs": 30}
    together = small("jaccard", **options).fit(X, Y)
    assert together.metric_ == "jaccard_macro"
    # The gradient of a mean over four labels is a quarter; Adam does not mind.
    for q in range(4):
        alone = small("jaccard", **options).fit(X, Y[:, q])
        np.testing.assert_allclose(
            together.decision_function(X)[:, q],
            alone.decision_function(X),
            rtol=1e-4,
            atol=1e-4,
        )
    expected = jaccard_score(Y, together.predict(X), average="macro")
    assert together.score(X, Y) == pytest.approx(expected)


def test_labels_with_weights_stacks_and_a_floor(labels):
    X, Y = labels
    times = np.arange(300) % 3
    weighted = small(batch_size=1.0, max_epochs=10).fit(X, Y, sample_weight=times)
    repeated = small(batch_size=1.0, max_epochs=10).fit(
        X.repeat(times, 0), Y.repeat(times, 0)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), **SAME_MODEL
    )
    models = [small(m, max_epochs=5) for m in ("f1_micro", "f1_micro", "f1_samples")]
    models[1].set_params(loss="bce")
    stack = fit_stack([*models, small("f1_micro", max_epochs=5)], X, Y)
    alone = small("f1_micro", max_epochs=5).fit(X, Y)
    for i in (0, 3):
        np.testing.assert_allclose(
            stack[i].predict_proba(X), alone.predict_proba(X), **SAME_MODEL
        )
    floor = small("precision@recall>=0.9", max_epochs=10).fit(X, Y)
    recalls = (floor.predict(X) * Y).sum(0) / Y.sum(0)
    assert (recalls >= 0.9).all()


def test_labels_of_other_values_are_refused(labels):
    X, Y = labels
    with pytest.raises(ValueError, match=r"must be a matrix of 0 and 1"):
        small().fit(X, Y + 1)
    with pytest.raises(ValueError, match="no meaning for several labels"):
        small("kappa_quadratic").fit(X, Y)
    with pytest.raises(ValueError, match="has no average over labels"):
        small("roc_auc").fit(X, Y)


@pytest.mark.parametrize("pos_label", ["fine", "fraud"])
@pytest.mark.parametrize(
    ("metric", "same"),
    [
        ("recall[fraud]", None),
        ("kappa_quadratic", "cohen_kappa"),
        (CostMatrix([[0, 1], [20, 0]]), Savings(fp=1, fn=20)),
        (own_accuracy, "accuracy"),
    ],
    ids=["one class", "kappa", "costs", "function"],
)
def test_metrics_of_a_matrix_train_two_classes(three, metric, same, pos_label):
    X, y = three
    y = np.where(y == "fraud", "fraud", "fine")
    model = small(metric, pos_label=pos_label, max_epochs=20).fit(X, y)
    assert model.metric_ == metric
    codes, decided = y == "fraud", model.predict(X) == "fraud"
    if same is None:
        assert model.score(X, y) == pytest.approx(decided[codes].mean())
        return
    expected = metric_score(codes, decided, metric=same)
    assert model.score(X, y) == pytest.approx(expected)
    if pos_label == "fraud":
        plain = small(same, max_epochs=20).fit(X, codes)
        np.testing.assert_allclose(
            model.predict_proba(X), plain.predict_proba(X), **SAME_MODEL
        )


def test_a_floor_for_one_of_two_classes_is_met(three):
    X, y = three
    y = np.where(y == "fraud", "fraud", "fine")
    model = small("accuracy@recall[fraud]>=0.95", max_epochs=10).fit(X, y)
    assert (model.predict(X)[y == "fraud"] == "fraud").mean() >= 0.95
