"""Storing a method that is fitted on all samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sk_anyloss._files import check_replaceable
from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.metrics import text_of_metric
from sk_anyloss.compare.model_file import Facts, ModelFileError, dumps
from sk_anyloss.compare.model_file.card import model_card
from sk_anyloss.compare.model_file.outputs import calibration_of, decision_threshold
from sk_anyloss.compare.model_file.parts import strip_training_parts
from sk_anyloss.compare.onnx_file.export import to_onnx, verify_onnx
from sk_anyloss.compare.run.files import make_folder, write
from sk_anyloss.compare.run.models import fit_method
from sk_anyloss.compare.tables.table import as_frame, needs_encoder, to_numbers
from sk_anyloss.plain import replace_parts, to_plain

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["check_model_path", "save"]


def check_model_path(
    path: str | Path, others: Iterable[str] = (), inputs: Iterable[str | Path] = ()
) -> Path:
    """The path of a model file with its suffix; refused if it cannot be replaced.

    Parameters
    ----------
    path : path
        The model file, with or without its suffix.
    others : iterable of str, default=()
        Suffixes of the files beside it.
    inputs : iterable of path, default=()
        What is read, and must not be replaced.

    Returns
    -------
    path : Path
        It ends in ``.skops``.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.saved import check_model_path
    >>> check_model_path("model").name
    'model.skops'
    """
    path = Path(path)
    path = path if path.suffix == ".skops" else path.with_name(path.name + ".skops")
    for suffix in (".skops", *others):
        check_replaceable(path.with_suffix(suffix), inputs)
    return path


def save(
    comparison: Results,
    path: str | Path,
    method: str | None = None,
    *,
    calibrate: bool = False,
    onnx: bool = False,
) -> Path:
    """Fit a method on all samples and store it with its preprocessing and a model card.

    Parameters
    ----------
    comparison : Results
        Results on one data set.
    path : path
        The model file; ``.skops`` is appended if it is missing.
    method : str, default=None
        Name of a compared method; the recommended one by default.
    calibrate : bool, default=False
        Whether predictions also have a probability, calibrated on the held-out scores
        of the comparison.
    onnx : bool, default=False
        Whether the model is also written as ONNX, verified in onnxruntime.

    Returns
    -------
    path : Path
        The model file; the model card is beside it, with the suffix ``.md``, and the
        model as ONNX with the suffix ``.onnx``.
    """
    if len(comparison.tables) != 1:
        raise ValueError(
            "A model is fitted on one data set; compare on one to save it."
        )
    (table,) = comparison.tables
    if table.has_labels:
        raise TableError(
            "A model of several labels has no model file; fit it in Python by "
            "best_estimator() and store it with joblib."
        )
    path = check_model_path(path, (".md", ".onnx") if onnx else (".md",))
    method = comparison.chosen_method(method)
    seed = int(comparison.settings.get("seed", 0))
    calibration = calibration_of(comparison, method) if calibrate else {}
    model = fit_method(table, method, comparison.metric, seed)
    frame = as_frame(table.X)
    plain = replace_parts(to_plain(model), strip_training_parts)
    X = table.X if needs_encoder(table.X) else to_numbers(table.X)
    facts = Facts(
        method=method,
        columns=[str(name) for name in frame.columns],
        numbers=[str(n) for n in frame.select_dtypes("number").columns],
        classes=[str(label) for label in table.classes],
        data={
            "name": table.name,
            "samples": str(len(table.y)),
            "fingerprint": table.fingerprint(),
            "metric": comparison.metric_title,
            "selected_by": text_of_metric(comparison.metric),
        },
        threshold=decision_threshold(plain, X) if table.n_classes == 2 else None,
        calibration=calibration,
    )
    try:
        content = dumps(facts, plain)
    except ModelFileError as error:
        raise TableError(
            f"The model of {method!r} cannot be stored: {error}; save another method, "
            "or fit this one in Python and store it with joblib."
        ) from error
    others = {".md": model_card(comparison, method, facts, path.name).encode()}
    if onnx:
        converted = to_onnx(plain, facts.columns, facts.classes)
        verify_onnx(converted, plain, X, facts.classes)
        others[".onnx"] = converted.SerializeToString()
    make_folder(path.parent)
    write(path, content)
    for suffix, text in others.items():
        write(path.with_suffix(suffix), text)
    return path
