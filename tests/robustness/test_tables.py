"""Tables as people have them: labels, numbers and columns of all kinds."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sk_anyloss.compare import compare

FAST = (
    "--methods",
    "logistic_balanced",
    "--folds",
    "2",
    "--jobs",
    "1",
    "--quiet",
    "--no-explain",
)
N = 60


def signal(n=N):
    """A feature, and a quarter of positive samples that it predicts."""
    x = np.random.default_rng(0).normal(size=n)
    return x, (x > np.quantile(x, 0.75)).astype(int)


def write(path, *columns, header, sep=","):
    lines = (sep.join(map(str, cells)) for cells in zip(*columns, strict=True))
    path.write_text("\n".join([sep.join(header), *lines, ""]), encoding="utf-8")
    return path


def run(X, y, **options):
    return compare(X, y, methods=["logistic_balanced"], folds=2, **options)


def works(found):
    return not found.failures() and found.table["mean"].notna().all()


def notes(found):
    return " ".join(found.tables[0].notes)


@pytest.mark.parametrize("word", ["None", "NA", "null", "nan", "N/A", "NULL"])
def test_words_for_missing_values_are_labels_in_the_target(command, tmp_path, word):
    x, y = signal()
    labels = np.where(y, "high", word)
    path = write(tmp_path / "a.csv", x, labels, header="xy")
    ended = command("compare", path, "--target", "y", *FAST, "--output", tmp_path / "o")
    assert ended.code == 0, ended.err
    assert f"a: {N} samples, 1 column, 15 (25.0 %) are high" in ended.out
    assert f"{word!r} 45 times, taken as a label" in ended.out


def test_words_for_missing_values_name_groups(command, tmp_path):
    x, y = signal()
    groups = np.where(np.arange(N) % 4, np.arange(N) % 5, "NA")
    path = write(tmp_path / "a.csv", x, groups, y, header="xgy")
    words = ["compare", path, "--target", "y", "--groups", "g", *FAST]
    ended = command(*words, "--output", tmp_path / "o")
    assert ended.code == 0, ended.err
    groups[3] = ""
    write(path, x, groups, y, header="xgy")
    assert command(*words, "--output", tmp_path / "p").says("'g'", "1 of 60 samples")


def test_missing_labels_are_few_or_allowed(command, tmp_path):
    x, y = signal()
    labels = np.where(np.arange(N) % 20 == 0, "", y)
    path = write(tmp_path / "a.csv", x, labels, header="xy")
    words = ["compare", path, "--target", "y", *FAST, "--output", tmp_path / "o"]
    assert command(*words).says(
        "3 of 60 labels (5.0 %)", "empty", "--allow-missing-labels"
    )
    ended = command(*words, "--allow-missing-labels", "--positive", "1")
    assert ended.code == 0, ended.err
    assert "57 samples" in ended.out
    assert "are 1\n" in ended.out
    with pytest.raises(ValueError, match="allow_missing_labels=True"):
        run(x[:, None], np.where(labels == "", None, y))
    assert works(
        run(x[:, None], np.where(labels == "", None, y), allow_missing_labels=True)
    )


@pytest.mark.parametrize(
    ("labels", "asked", "positive"),
    [
        ((0, 1), "1.0", 1),
        ((0, 1), 1.0, 1),
        ((0.0, 1.0), "1", 1),
        ((False, True), "true", True),
        ((False, True), "1", True),
        (("no", " yes"), "yes", " yes"),
        (("1.0", "1"), "1", "1"),
        (("01", "1"), "1.0", None),
        ((0, 11), "1", None),
        ((1, 2), "True", None),
    ],
)
def test_the_positive_label_is_found_by_its_meaning(labels, asked, positive):
    x, y = signal()
    values = np.array(labels, dtype=object)[y]
    if positive is None:
        with pytest.raises(ValueError, match=r"not in the target|can mean several"):
            run(x[:, None], values, positive=asked)
        return
    (table,) = run(x[:, None], values, positive=asked).tables
    assert table.positive == positive
    assert type(table.positive) is type(positive)
    assert (table.y == y).all()


@pytest.mark.parametrize("missing", ["", "NA"])
def test_decimal_commas_are_numbers(command, tmp_path, missing):
    rng = np.random.default_rng(0)
    x = rng.normal(1000, 900, N)
    y = (x > np.quantile(x, 0.75)).astype(int)
    # 1.234,50 and the like; a comma is the decimal separator.
    texts = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in x]
    texts[5] = missing
    for sep in ";\t":
        path = write(tmp_path / "a.csv", texts, rng.choice(list("uv"), N), y,
                     header="xwy", sep=sep)  # fmt: skip
        output = tmp_path / f"o{ord(sep)}"
        ended = command("compare", path, "--target", "y", *FAST, "--output", output)
        assert ended.code == 0, ended.err
        assert "decimal comma in 'x'" in ended.out
        assert "decimal comma in 'x'" in (output / "report.html").read_text(
            encoding="utf-8"
        ).replace("&#x27;", "'")
        table = pd.read_csv(output / "results.csv")
        assert table[table["metric"] == "f1"]["score"].mean() > 0.8


@pytest.mark.parametrize(
    ("cells", "sep", "note"),
    [
        (["1,250,000", "7", "12,500"], ";", "separator of thousands"),
        (['"1,250"', '"2,500"', "7"], ",", "separator of thousands"),
        (["1,250", "2,500", "7"], ";", "decimal comma"),
        (["1,2,3", "4,5", "6"], ";", None),
        (["1,5", "2.5", "7"], ";", None),
    ],
)
def test_commas_in_numbers_are_read_where_all_cells_agree(
    command, tmp_path, cells, sep, note
):
    _, y = signal()
    path = write(tmp_path / "a.csv", cells * 20, y, header="xy", sep=sep)
    ended = command("compare", path, "--target", "y", *FAST, "--output", tmp_path / "o")
    assert ended.code == 0, ended.err
    assert ("The comma is read as" in ended.out) == (note is not None)
    assert note is None or f"a {note} in 'x'" in ended.out


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("as_frame", [True, False])
def test_infinite_values_count_as_missing(value, as_frame):
    x, y = signal()
    X = pd.DataFrame({"x": x, "big": np.where(np.arange(N) == 3, value, x)})
    found = run(X if as_frame else X.to_numpy(), y)
    assert works(found)
    assert f"count as missing: {'big' if as_frame else 'x1'!r} (1)" in notes(found)


@pytest.mark.filterwarnings("ignore:The column")  # Some have as many values as samples.
def test_columns_of_many_kinds_can_be_learnt_from():
    x, y = signal()
    hours = np.arange(N) % 7
    kinds = {
        "Decimal": [decimal.Decimal(int(h)) / 3 for h in hours],
        "whole numbers beyond floats": [10**400 if h else 1 for h in hours],
        "sparse": pd.arrays.SparseArray(hours * 1.0),
        "bytes of text": [b"a" if h % 2 else None for h in hours],
        "categories": pd.Categorical(hours),
        "Int64": pd.array([None if h == 1 else int(h) for h in hours], dtype="Int64"),
        "boolean": pd.array([None if h == 1 else h > 3 for h in hours], "boolean"),
        "time differences": pd.to_timedelta(hours, unit="h"),
        "time zone": pd.date_range("2024-01-01", periods=N, tz="Europe/Paris"),
        "time zones": [
            pd.Timestamp("2024-01-01", tz="UTC" if h % 2 else "Asia/Tokyo")
            for h in hours
        ],
        "times": [datetime.time(h) for h in hours],
        "numbers and words": ["a" if h == 1 else int(h) for h in hours],
        "words with NUL": ["a\0b" if h % 2 else "a\0" for h in hours],
        "periods": pd.period_range("2024-01", periods=N, freq="M"),
    }
    found = run(pd.DataFrame({"x": x, **kinds}), y)
    assert works(found)
    # One value is left where the others are beyond all floats.
    assert set(found.tables[0].X.columns) == {"x", *kinds}


@pytest.mark.parametrize(
    ("value", "other", "message"),
    [
        ([1], [2], "type list"),
        ({"a": 1}, {}, "type dict"),
        ({1}, {2}, "type set"),
        ((1, 2), (3,), "type tuple"),
        (np.zeros(2), np.ones(2), "type ndarray"),
        (b"\xff\xfe", b"\xff", "bytes that are not UTF-8"),
        (1j, 2 + 1j, "complex numbers"),
        (1j, "word", "complex numbers"),
    ],
    ids=str,
)
def test_columns_that_cannot_be_used_are_named(value, other, message):
    x, y = signal()
    column = pd.Series([value, other] * (N // 2), dtype=object)
    X = pd.DataFrame({"x": x, "bad": column})
    with pytest.raises(ValueError, match=rf"'bad' holds .*{message}.*--drop bad"):
        run(X, y)
    assert works(run(X, y, drop=["bad"]))


def test_lists_in_a_parquet_file(command, tmp_path):
    x, y = signal()
    pd.DataFrame({"x": x, "tags": [[1, 2]] * N, "y": y}).to_parquet(
        tmp_path / "a.parquet"
    )
    words = ["compare", tmp_path / "a.parquet", "--target", "y", *FAST]
    words += ["--output", tmp_path / "o"]
    assert command(*words).says("'tags'", "--drop tags")
    assert command(*words, "--drop", "tags").code == 0


def test_the_target_may_be_the_index_of_a_parquet_file(command, tmp_path):
    x, y = signal()
    frame = pd.DataFrame({"x": x, 3: x, "y": y, "id": np.arange(N)}).rename(columns=str)
    frame.set_index(["y", "id"]).to_parquet(tmp_path / "a.parquet")
    ended = command(
        "compare", tmp_path / "a.parquet", "--target", "y", *FAST,
        "--output", tmp_path / "o",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "The index is not used as a column: 'id'" in ended.out


def test_names_of_columns_that_are_no_text():
    x, y = signal()
    X = pd.DataFrame({0: x, 1: -x})
    assert list(run(X, y).tables[0].X.columns) == ["0", "1"]
    X.columns = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert works(run(X, y))
    X.columns = [1, "1"]
    with pytest.raises(ValueError, match="Column names come twice: '1'"):
        run(X, y)


def test_samples_in_another_order_than_their_labels():
    x, y = signal()
    X, labels = pd.DataFrame({"x": x}), pd.Series(y)
    with pytest.raises(ValueError, match=r"another order.*y\.loc\[X\.index\]"):
        run(X, labels[::-1])
    with pytest.raises(ValueError, match=r"groups\.loc\[X\.index\]"):
        run(X, labels, groups=labels[::-1])
    assert works(run(X[::-1], labels[::-1]))


def test_sparse_samples():
    x, y = signal()
    X = np.column_stack([x, np.arange(N) % 3])
    found = run(sparse.csr_matrix(X), y)
    assert found.table["mean"].equals(run(X, y).table["mean"])
    assert "made dense" in notes(found)


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        (np.zeros((N, 2)), None, "'label 0' holds 0 only"),
        ([{"a": 1}, {}] * (N // 2), None, r"such as \{'a': 1\}, which are no labels"),
        (np.arange(N) % 2, [{}] * N, "name no groups"),
        (np.arange(N) % 2, ["a", 1, None] * (N // 3), "no value in 20 of 60 samples"),
        (np.arange(N) % 2, np.zeros(3), "60 samples, but 3 groups"),
    ],
)
def test_labels_and_groups_that_cannot_be_used(y, groups, message):
    with pytest.raises(ValueError, match=message):
        run(signal()[0][:, None], y, groups=groups)


def test_groups_of_numbers_and_words():
    x, y = signal()
    groups = np.array([1, "a", 2.5, True, "b", 7] * (N // 6), dtype=object)
    assert works(run(x[:, None], y, groups=groups))


def test_dropped_columns_are_not_needed_by_the_stored_model(command, tmp_path):
    x, y = signal()
    frame = pd.DataFrame({"customer": np.arange(N), "x": x, "a, b": 2 * x, "y": y})
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    words = ["compare", path, "--target", "y", *FAST, "--output"]
    ended = command(*words, tmp_path / "ids")
    assert ended.code == 0, ended.err
    assert "--keep customer" in ended.out
    page = (tmp_path / "ids" / "report.html").read_text(encoding="utf-8")
    assert "--keep customer" in page
    drop = ["--drop", "customer", "--drop", "a, b", "--save", "model"]
    ended = command(*words, tmp_path / "o", *drop)
    assert ended.code == 0, ended.err
    assert "'customer', 'a, b'" in ended.out
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "as asked for: &#x27;customer&#x27;" in page
    labelled = []
    for left_out in ([], ["customer", "a, b", "y"]):
        frame.drop(columns=left_out).to_csv(tmp_path / "new.csv", index=False)
        ended = command("predict", tmp_path / "o" / "model.skops", tmp_path / "new.csv")
        assert ended.code == 0, ended.err
        labelled.append(ended.out)
    assert labelled[0] == labelled[1]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("custmer", "no column 'custmer' to drop (did you mean 'Customer'?)"),
        ("Customer,z", "no column 'z' to drop"),
        ("y", "'y', which is the target"),
        ("g", "'g', which is the group column"),
        ("Customer,x", "no column left"),
    ],
)
def test_columns_that_cannot_be_dropped(command, tmp_path, asked, message):
    x, y = signal()
    path = write(
        tmp_path / "a.csv", np.arange(N), x, np.arange(N) % 9, y,
        header=["Customer", "x", "g", "y"],
    )  # fmt: skip
    ended = command(
        "compare", path, "--target", "y", "--groups", "g", *FAST, "--drop", asked,
        "--output", tmp_path / "o",
    )  # fmt: skip
    assert ended.says(message)
    assert not (tmp_path / "o").exists()


def test_labels_that_differ_in_spaces_only_are_one(command, tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.3, "yes", "no").astype(object)
    spaced = [f"{label} " if i % 2 else label for i, label in enumerate(y)]
    path = tmp_path / "spaces.csv"
    pd.DataFrame({"a": rng.normal(size=80), "t": spaced}).to_csv(path, index=False)
    ended = command(
        "compare", path, "--target", "t", "--positive", "yes", "--folds", 2,
        "--methods", "logistic_balanced", "--jobs", 1, "--quiet", "--no-explain",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert f"{(y == 'yes').sum()} " in ended.out
    assert "are yes" in ended.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--groups", "t"], "--groups names 't', which is the target"),
        (["--time", "t"], "--time names 't', which is the target"),
    ],
)
def test_the_target_cannot_be_another_column_too(words, says, command, tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("a,t\n" + "1.5,yes\n2.5,no\n" * 10, encoding="utf-8")
    ended = command("compare", path, "--target", "t", *words)
    assert ended.says(says)


def test_a_header_without_samples(command, tmp_path):
    path = tmp_path / "header.csv"
    path.write_text("a,t\n", encoding="utf-8")
    assert command("compare", path, "--target", "t").says("no samples")
