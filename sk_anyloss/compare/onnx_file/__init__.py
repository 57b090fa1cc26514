"""Stored models as ONNX: preprocessing, classifier and decision in one graph."""
