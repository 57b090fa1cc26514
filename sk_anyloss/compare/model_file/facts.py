"""What a model file says about its model, and the versions it was stored with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import sk_anyloss
from sk_anyloss.compare.model_file.archive import ModelFileError

__all__ = ["FORMAT", "Facts", "installed_versions"]

#: Changes whenever files of before cannot be read any more.
FORMAT = 2
#: Whose versions are stored.
PACKAGES = ("numpy", "scipy", "scikit-learn", "skrub", "imbalanced-learn", "skops")
#: Whose objects a model is made of: with another version it may predict otherwise.
#: Arrays (numpy), the archive (skops) and our own part keep to a format.
OF_OBJECTS = ("scikit-learn", "skrub", "imbalanced-learn")


def installed_versions() -> dict[str, str]:
    """Versions of this package and of those that a stored model depends on."""
    found = {"sk_anyloss": sk_anyloss.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


@dataclass
class Facts:
    """What is stored beside a model.

    Parameters
    ----------
    method : str
        Name of the method.
    columns : list of str
        The columns that the model was fitted on, in their order.
    numbers : list of str
        Those of them that held numbers.
    positive, negative : str
        The labels.
    versions : dict of str to str
        Of the packages that the model was stored with.
    format : int
        Of the file.
    """

    method: str
    columns: list[str]
    numbers: list[str]
    positive: str
    negative: str
    versions: dict[str, str] = field(default_factory=installed_versions)
    format: int = FORMAT

    def to_json(self) -> bytes:
        """As it is stored."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Facts:
        """Of what was stored, if it is of a known format and of the right types."""
        again = "store the model again with compare --save"
        if stored.get("format") != FORMAT or isinstance(stored["format"], bool):
            raise ModelFileError(
                f"its format is {stored.get('format')!r}, and this version of "
                f"sk_anyloss reads format {FORMAT}; {again}"
            )
        for name, kind in cls.__annotations__.items():
            value = stored.get(name)
            right = {
                "str": isinstance(value, str),
                "int": isinstance(value, int),
                "list[str]": isinstance(value, list)
                and all(isinstance(part, str) for part in value)
                and len(set(value)) == len(value),
                "dict[str, str]": isinstance(value, dict)
                and all(isinstance(part, str) for part in value.values()),
            }[kind]
            if not right:
                raise ModelFileError(
                    f"{name!r} in its facts.json is not of type {kind}"
                )
        facts = cls(**{name: stored[name] for name in cls.__annotations__})
        if not set(facts.numbers) <= set(facts.columns):
            raise ModelFileError(
                "'numbers' in its facts.json has names that are no columns"
            )
        major = _major(facts.versions.get("scikit-learn", "none"))
        if major != _major(installed_versions()["scikit-learn"]):
            raise ModelFileError(
                f"{facts.differences() or 'it names no versions'}; {again}"
            )
        return facts

    def differences(self) -> str:
        """A clause on the versions that are not those installed, or nothing."""
        now = installed_versions()
        other = [
            f"{name} {self.versions.get(name, 'of unknown version')} ({now[name]} here)"
            for name in OF_OBJECTS
            if self.versions.get(name) != now[name]
        ]
        return f"it was stored with {', '.join(other)}" if other else ""


def _major(number: str) -> str:
    return number.partition(".")[0]
