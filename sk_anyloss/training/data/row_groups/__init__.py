"""Samples that are read in groups: of Parquet files, of datasets, of Dask."""
