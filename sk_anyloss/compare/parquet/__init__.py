"""Models for Parquet files that are larger than the memory: trained, applied."""
