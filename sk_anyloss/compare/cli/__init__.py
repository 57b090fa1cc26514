"""The commands ``compare``, ``predict``, ``evaluate`` of ``python -m sk_anyloss``."""
