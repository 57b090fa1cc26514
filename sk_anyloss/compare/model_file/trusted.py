"""The types and functions that a model file may contain: an exact list of names.

skops rebuilds a model from the nodes of ``schema.json``. Each names a loader of skops
and a class or function that this loader imports, instantiates or calls. skops trusts
many of them by default, among them every estimator of scikit-learn and every ufunc, so
the nodes are checked here before skops reads them.
"""

from __future__ import annotations

from sk_anyloss.compare.model_file.archive import JSONObject, ModelFileError

__all__ = ["TRUSTED", "check_schema", "trusted_names"]

#: Deepest nesting of a schema, about twice that of the models of this package.
MAX_DEPTH = 200

#: Trusted names for each loader, those that stored models need. None of the functions
#: and types reads or writes a file or calls its arguments.
TRUSTED: dict[str, tuple[str, ...]] = {
    "ConstructorFromReduceNode": (
        "datetime.timedelta",
        "datetime.timezone",
        "zoneinfo.ZoneInfo",
    ),
    "DTypeNode": ("numpy.dtype",),
    "DictNode": ("builtins.dict",),
    "FunctionNode": (
        "skrub._dataframe._common.is_any_date",
        "skrub._dataframe._common.is_categorical",
        "skrub._dataframe._common.is_numeric",
        "skrub._table_vectorizer._created_by_predicate",
        "skrub.selectors._selectors._cardinality_below",
    ),
    "JsonNode": ("builtins.str",),
    "ListNode": ("builtins.list",),
    "LossNode": (
        "sklearn._loss._loss.CyHalfBinomialLoss",
        "sklearn._loss._loss.CyHalfMultinomialLoss",
    ),
    "NdArrayNode": (
        "numpy.float32",
        "numpy.float64",
        "numpy.int64",
        "numpy.ndarray",
        "numpy.uint64",
    ),
    "ObjectNode": (
        "imblearn.ensemble._easy_ensemble.EasyEnsembleClassifier",
        "imblearn.ensemble._forest.BalancedRandomForestClassifier",
        "imblearn.ensemble._weight_boosting.RUSBoostClassifier",
        "imblearn.pipeline.Pipeline",
        "pandas.DatetimeTZDtype",
        "sk_anyloss.plain.classifier.PlainClassifier",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.ensemble._weight_boosting.AdaBoostClassifier",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.model_selection._classification_threshold.FixedThresholdClassifier",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
        "sklearn.preprocessing._label.LabelEncoder",
        "sklearn.tree._classes.DecisionTreeClassifier",
        "skrub._apply_to_each_col.ApplyToEachCol",
        "skrub._check_input.CheckInputDataFrame",
        "skrub._clean_categories.CleanCategories",
        "skrub._clean_null_strings.CleanNullStrings",
        "skrub._datetime_encoder.DatetimeEncoder",
        "skrub._drop_uninformative.DropUninformative",
        "skrub._duration_to_float.DurationToFloat",
        "skrub._string_encoder.StringEncoder",
        "skrub._table_vectorizer.PassThrough",
        "skrub._table_vectorizer.ShortReprDict",
        "skrub._table_vectorizer.TableVectorizer",
        "skrub._to_datetime.ToDatetime",
        "skrub._to_float.ToFloat",
        "skrub._to_str.ToStr",
        "skrub.selectors._base.All",
        "skrub.selectors._base.And",
        "skrub.selectors._base.Cols",
        "skrub.selectors._base.Filter",
        "skrub.selectors._base.Sub",
    ),
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "TupleNode": ("builtins.tuple",),
    "TypeNode": (
        "builtins.str",
        "numpy.float64",
    ),
}


def trusted_names() -> list[str]:
    """Names of all classes and functions that a model file may contain.

    Returns
    -------
    names : list of str
        In the form that :func:`skops.io.load` takes as ``trusted``.

    Examples
    --------
    >>> from sk_anyloss.compare import trusted_names
    >>> "sklearn.linear_model._logistic.LogisticRegression" in trusted_names()
    True
    >>> "numpy.memmap" in trusted_names()
    False
    """
    return sorted({name for names in TRUSTED.values() for name in names})


def check_schema(schema: JSONObject, shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse a schema with a node that is not trusted.

    Parameters
    ----------
    schema : dict
        The parsed ``schema.json``.
    shapes : dict of str to tuple
        Shapes of the arrays in the file, by name.
    """
    nodes: dict[int, JSONObject] = {}
    owners: dict[str, int] = {}
    # skops treats an object with these entries as a node, wherever it is.
    marks = {"__loader__", "__module__", "__class__"}

    def visit(value: object, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ModelFileError("its schema.json is nested too deeply")
        if isinstance(value, dict):
            if not marks.isdisjoint(value):
                check_node(value)
            for part in value.values():
                visit(part, depth + 1)
        elif isinstance(value, list):
            for part in value:
                visit(part, depth + 1)

    def check_node(node: JSONObject) -> None:
        loader, name = node.get("__loader__"), _name(node)
        if not isinstance(loader, str) or name not in TRUSTED.get(loader, ()):
            raise ModelFileError(
                f"it holds {name[:200]!r}, which is not a trusted type"
            )
        number, file = node.get("__id__"), node.get("file")
        if file is not None and file not in shapes:
            raise ModelFileError("its schema.json names a missing array")
        # skops reads it again for each node of another ID, or of none.
        if file and not (number and owners.setdefault(file, number) == number):
            raise ModelFileError(f"two objects in its schema.json name {file}")
        if loader == "JsonNode" and not isinstance(node.get("content"), str):
            raise ModelFileError("a value in its schema.json is not text")
        if loader == "TreeNode" and not _is_tree(node, shapes):
            raise ModelFileError("one of its trees has arrays of other shapes")
        # skops uses the first node with an ID for all nodes with that ID. If they must
        # be equal, that makes no difference, and there are no cycles.
        if number is not None and (
            type(number) is not int or nodes.setdefault(number, node) != node
        ):
            raise ModelFileError("two objects in its schema.json have the same ID")

    if marks.isdisjoint(schema):
        raise ModelFileError("its schema.json describes no object")
    visit(schema, 0)


def _name(node: JSONObject) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _is_tree(node: JSONObject, shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether a tree has an array of nodes, one output and one number of classes.

    It reads as many numbers of classes as there are outputs, and the length of the
    nodes, without a check of their dimensions.
    """
    try:
        nodes = node["content"]["content"]["nodes"]
        args = node["__reduce__"]["args"]
        _, classes, outputs = args["content"]
        return bool(
            node["content"]["__loader__"] == "DictNode"
            and nodes["__loader__"] == "NdArrayNode"
            and nodes["type"] == "numpy"
            and len(shapes[nodes["file"]]) == 1
            and args["__loader__"] == "TupleNode"
            and classes["__loader__"] == "NdArrayNode"
            and classes["type"] == "numpy"
            and shapes[classes["file"]] == (1,)
            and outputs["__loader__"] == "JsonNode"
            and outputs["content"] == "1"
        )
    except (KeyError, TypeError, ValueError):
        return False
