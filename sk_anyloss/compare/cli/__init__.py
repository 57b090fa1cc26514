"""The commands ``compare`` and ``predict`` of ``python -m sk_anyloss``."""
