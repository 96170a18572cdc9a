# Every target makes what it needs: a virtual environment in .venv unless VENV says otherwise.
#   quick    two minutes: architecture, contracts, privacy, noise, pipelines and their tables,
#            one fit of every estimator
#   test     five minutes on two quiet cores: quick, all estimators with their main
#            solvers, scikit-learn's checks, and statistical audits that reject weak noise; of
#            large products some cases, most often with every value of every parameter
#   thorough what test leaves out: the other cases, audits in full, and code that starts many
#            processes; a quarter of an hour more, which CI runs too
#   kernels  the tests that calculate most, once for each kernel of OpenBLAS in KERNELS, which
#            round differently: three minutes each; CI runs them for one
#   audit    an hour or so: thorough, all pairs of estimator and solver, audits at full noise,
#            and kernels
#   oldest   quick, with the oldest dependencies of pyproject.toml; needs Python 3.10
#   docs     the site, in docs/_build/html; a few minutes, and no web
#   docs-test  the built site in a headless Chromium
#   dist     what a release uploads: built, checked, and installed in new environments of the
#            oldest and the newest Python, where the README runs
VENV ?= .venv
PYTHON ?= python3
OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= python3.13
BIN := $(VENV)/bin
# Bytecode is kept, as many tests start processes that import the package.
PYTEST = PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q
# What a change most likely breaks.
QUICK := tests/test_architecture.py \
	tests/test_packaging.py tests/contracts tests/privacy tests/noise tests/pipeline \
	tests/preprocessing \
	tests/estimators/test_learning.py::test_docstrings_list_every_parameter_and_fitted_attribute
# All that OpenBLAS has for x86: a processor that cannot run one passes over it.
KERNELS ?= Haswell Zen SkylakeX Sandybridge Prescott
KERNEL_TESTS := tests/golden tests/contracts tests/estimators tests/preprocessing \
	tests/pipeline tests/model_selection

# The tests of CI, those that `make test` leaves out among them.
ALL := not audit and not bench and not site

.PHONY: demo quick test thorough kernels audit oldest bench lint types docs docs-test dist clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

quick: $(VENV)/.test
	$(PYTEST) $(QUICK)

test: $(VENV)/.test
	$(PYTEST)

thorough: $(VENV)/.test
	$(PYTEST) -m "thorough and $(ALL)"

kernels: $(VENV)/.test
	for kernel in $(KERNELS); do \
		export OPENBLAS_CORETYPE=$$kernel; \
		if $(BIN)/python -c 'import numpy as np; np.eye(64) @ np.eye(64)'; \
		then echo "$$kernel" && $(PYTEST) -m "$(ALL)" $(KERNEL_TESTS) || exit 1; \
		else echo "$$kernel: not for this processor"; fi; \
	done

audit: $(VENV)/.test thorough kernels
	$(PYTEST) -m "audit and not bench"
	DPSK_EXAMPLES=1000 $(PYTEST) -m "$(ALL)" tests/privacy/test_properties.py \
		tests/contracts/test_any_rows.py

oldest: BIN := $(VENV)-oldest/bin
oldest: $(VENV)-oldest/.test
	$(PYTEST) $(QUICK)

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed/fit.py --output docs/results/fit_speed.md
	$(BIN)/python benchmarks/speed/profile_fit.py --output docs/results/fit_phases.md
	$(BIN)/python benchmarks/speed/without_noise.py --output docs/results/without_noise.md
	$(BIN)/python benchmarks/speed/calibration.py --output docs/results/calibration_speed.md
	$(BIN)/python benchmarks/speed/steps.py --output docs/results/step_speed.md
	$(BIN)/python benchmarks/utility/defaults.py --output docs/results/defaults.md
	$(BIN)/python benchmarks/paper/stable_gradient.py \
		--output docs/results/stable_gradient.md
	$(BIN)/python -m benchmarks.utility.pca --output docs/results/pca.md
	$(BIN)/python benchmarks/utility/scattering.py
	$(BIN)/python benchmarks/paper/transfer.py
	$(BIN)/python benchmarks/paper/auc_networks.py
	$(BIN)/python benchmarks/paper/privatediff.py --part linear
	$(BIN)/python benchmarks/paper/privatediff.py --part networks --balance 0
	$(BIN)/python benchmarks/paper/privatediff.py --part curves --sets mnist

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/python tools/prose.py

dist: $(VENV)/.dist
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_distributions.py dist --python $(OLDEST_PYTHON) \
		--constraint tests/oldest.txt
	$(BIN)/python tools/check_distributions.py dist --python $(NEWEST_PYTHON)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going docs docs/_build/html

docs-test: $(VENV)/.docs-test
	$(BIN)/python -m pytest -q -m site tests/site

# All packages that are optional are there, so that what is checked does not hang on them.
types: $(VENV)/.test
	$(BIN)/python -m pip install -q 'mypy==2.4.*'
	$(BIN)/python -m mypy

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[plot]'
	touch $@

$(VENV)/.test: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test]'
	touch $@

$(VENV)-oldest/.test: pyproject.toml tests/oldest.txt
	$(OLDEST_PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install -q -c tests/oldest.txt -e . \
		'pytest>=7.4' 'pytest-xdist>=3.3' 'mpmath>=1.3' 'pandas==1.5.*'
	touch $@

$(VENV)/.docs: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[docs]'
	touch $@

$(VENV)/.docs-test: $(VENV)/.docs
	$(BIN)/python -m pip install -q -e '.[docs,test]'
	touch $@

$(VENV)/.lint: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[lint]'
	touch $@

$(VENV)/.dist: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[dist]'
	touch $@

$(VENV)/.bench: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist *.egg-info docs/_build docs/auto_examples
