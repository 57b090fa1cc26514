"""The demo: table, stars, picture."""

import subprocess
import sys

from sk_anyloss.demo import METRICS, Cell, format_table, main


def test_prints_a_table_of_both_sets_and_saves_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sk_anyloss.demo.methods", few_methods)
    main(["--folds", "2", "--jobs", "1", "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    for word in (
        "Breast cancer, 10:1",
        "Generated, 9:1",
        "BCE",
        "±",
        "*",
        *METRICS.values(),
    ):
        assert word in printed
    picture = (tmp_path / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


def few_methods(seed):
    from sk_anyloss.baselines import get_baseline

    return {"BCE": get_baseline("bce", max_epochs=3, random_state=seed)}


def test_the_best_of_a_column_is_marked_and_ties_are_shared():
    def row(*means):
        return {m: Cell(mean, 0.1) for m, mean in zip(METRICS, means, strict=True)}

    table = {"set": {"one": row(0.9, 0.8, 0.7), "two": row(0.8, 0.9, 0.7001)}}
    _, one, two = format_table(table).splitlines()
    assert one.count("*") == 2
    assert two.count("*") == 2
    assert one.index("*") < one.index("0.800")


def test_help_is_there():
    command = [sys.executable, "-m", "sk_anyloss", "--help"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "--folds" in out
