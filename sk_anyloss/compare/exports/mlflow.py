"""A comparison as runs of MLflow: one for it, and one in it for each method."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from sk_anyloss.compare.tables.reading.files import one_line
from sk_anyloss.metrics import metric_name

if TYPE_CHECKING:
    from sk_anyloss.compare.comparison import Comparison

__all__ = ["find_experiment", "log_to_mlflow"]

#: Characters of the value of a parameter and of a tag.
MAX_LENGTH = 500


def log_to_mlflow(
    comparison: Comparison,
    experiment: str = "sk_anyloss",
    run_name: str | None = None,
    tracking_uri: str | None = None,
) -> str:
    """Log a comparison to MLflow.

    Parameters
    ----------
    comparison : Comparison
        The results.
    experiment : str, default='sk_anyloss'
        Name of the experiment, which is created if needed.
    run_name : str, default=None
        Name of the run; by default the names of the data sets.
    tracking_uri : str, default=None
        Where to log; by default what MLflow is configured for.

    Returns
    -------
    run_id : str
        The run of the comparison. It has the settings as parameters, the recommendation
        as a tag, the scores of the recommended method as metrics, and the report and
        results as artifacts. In it each method has a run with its scores on each data
        set.
    """
    client, found = find_experiment(experiment, tracking_uri)
    place = (
        client.create_experiment(experiment) if found is None else found.experiment_id
    )
    names = [table.name for table in comparison.tables]
    recommended = comparison.recommendation()
    tags = {"recommendation": comparison.advice()}
    if recommended is not None:
        tags["recommended"] = recommended.method
    parent = _start(client, place, run_name or ", ".join(names), tags)
    _log_settings(client, parent, comparison.settings)
    if recommended is not None:
        _log_scores(
            client, parent, comparison, comparison.table.loc[recommended.method]
        )
    for name in names:
        ranking = comparison.ranking(name)
        for method, row in ranking.iterrows():
            own = {"mlflow.parentRunId": parent, "data": name, "method": str(method)}
            child = _start(client, place, str(row["title"]), own)
            client.log_param(child, "data", name)
            client.log_param(child, "method", str(method))
            _log_scores(client, child, comparison, row)
            client.set_terminated(child)
    with TemporaryDirectory() as folder:
        comparison.report(folder)
        client.log_artifacts(parent, folder)
    client.set_terminated(parent)
    return parent


def find_experiment(name: str, tracking_uri: str | None = None) -> tuple[Any, Any]:
    """A client of MLflow, and an experiment or None if it is new.

    Parameters
    ----------
    name : str
        Name of the experiment.
    tracking_uri : str, default=None
        Where it is; by default what MLflow is configured for.

    Returns
    -------
    client : MlflowClient
        The client.
    experiment : Experiment or None
        The experiment.
    """
    client = _client_class()
    try:
        opened = client(tracking_uri=tracking_uri)
        return opened, opened.get_experiment_by_name(name)
    except Exception as error:
        raise ValueError(
            f"MLflow cannot open the experiment {name!r}: {one_line(error)}"
        ) from error


def _client_class() -> Any:
    """The class of MLflow's clients, or an error that says how to install it."""
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise ImportError(
            "Logging to MLflow needs mlflow-skinny: pip install mlflow-skinny"
        ) from error
    return MlflowClient


def _start(client: Any, experiment: str, name: str, tags: Mapping[str, str]) -> str:
    cut = {key: value[:MAX_LENGTH] for key, value in tags.items()}
    return str(client.create_run(experiment, run_name=name, tags=cut).info.run_id)


def _log_settings(client: Any, run: str, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        client.log_param(run, _as_key(key), str(value)[:MAX_LENGTH])


def _log_scores(client: Any, run: str, comparison: Comparison, row: pd.Series) -> None:
    """Mean and standard deviation of the metric, the other means, time and failures."""
    own = _as_key(metric_name(comparison.metric))
    numbers = {own: row["mean"], f"{own}_std": row["std"]}
    numbers |= {_as_key(name): row[name] for name in comparison.other_metrics}
    numbers |= {name: row[name] for name in ("rank", "seconds", "failed")}
    for key, value in numbers.items():
        if math.isfinite(value):
            client.log_metric(run, key, float(value))


def _as_key(name: str) -> str:
    """A name with the characters that MLflow allows."""
    return re.sub(r"[^\w\-./ ]+", "_", name)
