"""A graph of ONNX that grows node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["Graph"]

#: Versions of the operators and of the file, which runtimes of 2023 and later read.
OPSET, ML_OPSET, IR_VERSION = 19, 3, 9


class Graph:
    """Nodes, constants and inputs of a graph; values are named by strings.

    Everything is computed in double precision from inputs in single precision.

    Parameters
    ----------
    name : str
        Name of the graph.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._count = 0

    def _new_name(self, kind: str) -> str:
        self._count += 1
        return f"{kind.lower()}_{self._count}"

    def add(self, kind: str, *inputs: str | np.ndarray, **attributes: Any) -> str:
        """Append a node.

        Parameters
        ----------
        kind : str
            The operator, such as ``'MatMul'``.
        *inputs : str or ndarray
            Names of values, or constants.
        **attributes
            Of the operator.

        Returns
        -------
        value : str
            Name of its output.
        """
        from onnx import helper

        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        value = self._new_name(kind)
        self.nodes.append(helper.make_node(kind, names, [value], **attributes))
        return value

    def constant(self, array: np.ndarray) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        name = self._new_name("constant")
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def cast(self, value: str, dtype: str = "DOUBLE") -> str:
        """Convert a value to a type of ONNX."""
        from onnx import TensorProto

        return self.add("Cast", value, to=getattr(TensorProto, dtype))

    def input(self, name: str, width: int, dtype: str = "FLOAT") -> str:
        """Declare an input of shape (n_samples, width)."""
        from onnx import TensorProto, helper

        kind = getattr(TensorProto, dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["n", width]))
        return name

    def embed(self, model: ModelProto, value: str, output: str) -> str:
        """Append the nodes of another model.

        Parameters
        ----------
        model : ModelProto
            It has one input.
        value : str
            What its input becomes.
        output : str
            Which of its outputs is used.

        Returns
        -------
        value : str
            Name of that output here.
        """
        from onnx import compose

        prefix = f"{self._new_name('model')}_"
        part = compose.add_prefix(model, prefix).graph
        (given,) = part.input
        for node in part.node:
            for k, name in enumerate(node.input):
                if name == given.name:
                    node.input[k] = value
        self.nodes += list(part.node)
        self.constants += list(part.initializer)
        return f"{prefix}{output}"

    def finish(
        self, outputs: dict[str, tuple[str, str, list[str | int]]]
    ) -> ModelProto:
        """The checked model.

        Parameters
        ----------
        outputs : dict of str to (str, str, list)
            Value, type and shape of each output, by its name.

        Returns
        -------
        model : ModelProto
            Checked by onnx.
        """
        import onnx
        from onnx import TensorProto, helper

        infos = []
        for name, (value, dtype, shape) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
            kind = getattr(TensorProto, dtype)
            infos.append(helper.make_tensor_value_info(name, kind, shape))
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, infos, self.constants
        )
        versions = [
            helper.make_opsetid("", OPSET),
            helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ]
        model = helper.make_model(graph, opset_imports=versions)
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        return model
