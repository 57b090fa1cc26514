"""Metadata of a stored model: features, labels and versions."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version

import sk_anyloss
from sk_anyloss.compare.model_file.archive import JSONObject, ModelFileError
from sk_anyloss.compare.tables.labels import MAX_CLASSES

__all__ = ["FORMAT", "Facts", "installed_versions"]

#: Number of the file format, increased whenever older files cannot be read any more.
FORMAT = 3
#: An older format that is read: it has two classes, ``negative`` and ``positive``.
TWO_CLASSES = 2
#: Packages whose versions are stored.
PACKAGES = ("numpy", "scipy", "scikit-learn", "skrub", "imbalanced-learn", "skops")
#: Packages whose objects a model consists of: with another version its predictions may
#: differ. Arrays (numpy), the archive (skops) and sk_anyloss have stable formats.
OBJECT_PACKAGES = ("scikit-learn", "skrub", "imbalanced-learn")


def installed_versions() -> dict[str, str]:
    """Versions of this package and of those that a stored model depends on.

    Returns
    -------
    versions : dict of str to str
        By the name of the package; ``'none'`` if it is not installed.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.facts import installed_versions
    >>> "scikit-learn" in installed_versions()
    True
    """
    installed = {"sk_anyloss": sk_anyloss.__version__}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "none"
    return installed


@dataclass
class Facts:
    """Metadata that is stored with a model.

    Parameters
    ----------
    method : str
        Name of the method.
    columns : list of str
        Names of the features that the model was fitted on, in their order.
    numbers : list of str
        Names of the numeric ones.
    classes : list of str
        Labels of the classes in the order of their codes: the negative and the positive
        one, or more than two.
    versions : dict of str to str
        Versions of the packages that the model was stored with.
    data : dict of str to str
        Name, number of samples and fingerprint of the data that it was fitted on; the
        ``metric`` that it was chosen by, as it is printed, and ``selected_by``, the
        same by name or costs, from which it is scored again.
    threshold : float or None
        Score from which on the positive one of two classes is predicted, if it is
        known.
    calibration : dict of str to list of float
        Ascending ``scores`` and their calibrated ``probabilities``, if that was asked
        for.
    format : int
        Number of the file format.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file import Facts
    >>> Facts("logistic", ["x0"], ["x0"], ["0", "1"]).differences()
    ''
    """

    method: str
    columns: list[str]
    numbers: list[str]
    classes: list[str]
    versions: dict[str, str] = field(default_factory=installed_versions)
    data: dict[str, str] = field(default_factory=dict)
    threshold: float | None = None
    calibration: dict[str, list[float]] = field(default_factory=dict)
    format: int = FORMAT

    def to_json(self) -> bytes:
        """The content of ``facts.json``."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_json(cls, stored: JSONObject) -> Facts:
        """Metadata from ``facts.json``, if its format and types are valid.

        Parameters
        ----------
        stored : dict
            The parsed JSON.

        Returns
        -------
        facts : Facts
            The metadata.
        """
        remedy = "store the model again with compare --save"
        if stored.get("format") == TWO_CLASSES:
            classes = [stored.get("negative"), stored.get("positive")]
            stored = {**stored, "classes": classes, "format": FORMAT}
        if stored.get("format") != FORMAT or isinstance(stored["format"], bool):
            raise ModelFileError(
                f"its format is {stored.get('format')!r}, and this version of "
                f"sk_anyloss reads format {FORMAT}; {remedy}"
            )
        # Files of earlier versions lack these.
        stored = {"data": {}, "threshold": None, "calibration": {}, **stored}
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
                "float | None": value is None or _is_number(value),
                "dict[str, list[float]]": _is_calibration(value),
            }[kind]
            if not right:
                raise ModelFileError(
                    f"{name!r} in its facts.json is not of type {kind}"
                )
        facts = cls(**{name: stored[name] for name in cls.__annotations__})
        if not set(facts.numbers) <= set(facts.columns):
            raise ModelFileError(
                "'numbers' in its facts.json has names that are not in 'columns'"
            )
        if not 2 <= len(facts.classes) <= MAX_CLASSES:
            raise ModelFileError(
                f"'classes' in its facts.json has {len(facts.classes)} labels, and 2 "
                f"to {MAX_CLASSES} are allowed"
            )
        major = _major(facts.versions.get("scikit-learn", "none"))
        if major != _major(installed_versions()["scikit-learn"]):
            raise ModelFileError(
                f"{facts.differences() or 'it has no versions'}; {remedy}"
            )
        return facts

    def differences(self) -> str:
        """A clause on versions that are not the installed ones, or an empty string."""
        now = installed_versions()
        other = [
            f"{name} {self.versions.get(name, 'of unknown version')} ({now[name]} here)"
            for name in OBJECT_PACKAGES
            if self.versions.get(name) != now[name]
        ]
        return f"it was stored with {', '.join(other)}" if other else ""


def _major(number: str) -> str:
    return number.partition(".")[0]


def _is_number(value: object) -> bool:
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and math.isfinite(value)  # type: ignore[arg-type]


def _is_calibration(value: object) -> bool:
    """Whether nothing, or ascending scores with as many probabilities."""
    if value == {}:
        return True
    if not isinstance(value, dict) or set(value) != {"scores", "probabilities"}:
        return False
    scores, probabilities = value["scores"], value["probabilities"]
    if not isinstance(scores, list) or not isinstance(probabilities, list):
        return False
    return (
        0 < len(scores) == len(probabilities)
        and all(map(_is_number, [*scores, *probabilities]))
        and scores == sorted(scores)
        and all(0 <= part <= 1 for part in probabilities)
    )
