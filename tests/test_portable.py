"""The run of the numeric tests under several instruction sets."""

from pathlib import Path

from tests import portable


def test_every_numeric_test_file_exists():
    root = Path(portable.__file__).parents[1]
    assert all((root / name).exists() for name in portable.NUMERIC)


def test_a_failure_under_one_setting_fails_the_run(tmp_path, monkeypatch, capsys):
    test = tmp_path / "test_rounding.py"
    test.write_text(
        "import os\ndef test_rounding():\n    assert 'MKL_CBWR' not in os.environ\n"
    )
    monkeypatch.delenv("MKL_CBWR", raising=False)
    monkeypatch.setattr(portable, "NUMERIC", [str(test)])
    assert portable.main(["-p", "no:cacheprovider"]) == 1
    summary = capsys.readouterr().out.splitlines()[-4:]
    assert [line.split()[0] for line in summary] == [
        "failed" if "MKL_CBWR" in line else "passed" for line in summary
    ]
    assert sum("MKL_CBWR" in line for line in summary) == 1
