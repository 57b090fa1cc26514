"""Which method a comparison should recommend, measured on samples it has not seen."""
