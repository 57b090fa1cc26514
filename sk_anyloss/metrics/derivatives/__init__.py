"""Derivatives of a metric, by dual numbers or by autograd."""

from sk_anyloss.metrics.derivatives.dual import Dual, value_and_derivatives

__all__ = ["Dual", "value_and_derivatives"]
