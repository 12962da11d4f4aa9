"""Classifiers as ONNX graphs (extra ``onnx``): label, probability and selection from one graph.

Importing this part registers the converters, so that ``skl2onnx.to_onnx`` knows the binary band methods too.
"""

from aucross.export.onnx.checked_graph import OnnxMismatchError, onnx_inputs, to_onnx
from aucross.export.onnx.converters import register

register()

__all__ = ["OnnxMismatchError", "onnx_inputs", "register", "to_onnx"]
