"""Run the numeric tests as on other CPUs: ``python -m tests.portable [-n 2 ...]``.

Torch, MKL and OpenBLAS select their kernels by the instruction set of the CPU, and
kernels round differently. Environment variables select older kernels, which shows on
one machine whether the tolerances hold on others. The libraries read the variables when
they are imported, so each setting is a separate pytest process. Arguments are passed on
to pytest.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = {
    "torch without AVX": {"ATEN_CPU_CAPABILITY": "default"},
    "torch with AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "MKL on any CPU": {"MKL_CBWR": "COMPATIBLE"},
    "OpenBLAS with SSE3": {"OPENBLAS_CORETYPE": "Prescott"},
}

# The test files whose results depend on rounding, and the doctests of the package.
NUMERIC = [
    "tests/estimators/test_baselines.py",
    "tests/training/test_iterator.py",
    "tests/benchmarks/test_benchmarks.py",
    "tests/estimators/test_classifier.py",
    "tests/estimators/test_goals.py",
    "tests/estimators/test_repeatability.py",
    "tests/estimators/test_training.py",
    "tests/training/network/test_closed_form.py",
    "tests/metrics/test_confusion.py",
    "tests/metrics/test_constraints_and_costs.py",
    "tests/metrics/test_curves.py",
    "tests/search/test_displays.py",
    "tests/metrics/test_derivatives.py",
    "tests/training/data/test_stacked_batches.py",
    "tests/training/network/test_stacked_parameters.py",
    "tests/losses/test_fused.py",
    "tests/losses/test_saturation.py",
    "tests/losses/test_losses.py",
    "tests/losses/test_formulas.py",
    "tests/losses/test_multiclass.py",
    "tests/losses/test_stacked.py",
    "tests/metrics/multiclass",
    "tests/metrics/test_binary.py",
    "tests/estimators/tuning/test_out_of_fold.py",
    "tests/search/test_runner.py",
    "tests/search/test_search.py",
    "tests/training/network/test_mlp.py",
    "tests/training/test_loop.py",
    "tests/training/test_net.py",
    "tests/training/test_inputs.py",
    "tests/training/test_trainer.py",
    "tests/estimators/fitting/test_encoding.py",
    "tests/test_plain.py",
    "tests/metrics/test_scoring.py",
    "tests/estimators/test_stack.py",
    "tests/losses/test_steps.py",
    "tests/benchmarks/test_study.py",
    "sk_anyloss",
]


def main(arguments):
    """Test under each setting, print a summary, return the number of failures."""
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-q", *NUMERIC, *arguments]
    summary, failures = [], 0
    for name, variables in SETTINGS.items():
        settings = " ".join(f"{key}={value}" for key, value in variables.items())
        print(f"\n{name}: {settings}", flush=True)
        start = time.monotonic()
        code = subprocess.run(command, cwd=root, env=os.environ | variables).returncode
        result = "failed" if code else "passed"
        seconds = time.monotonic() - start
        summary.append(f"{result}  {seconds:6.0f} s  {name} ({settings})")
        failures += code != 0
    print("", *summary, sep="\n")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
