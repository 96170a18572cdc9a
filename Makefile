# Every target makes what it needs: a virtual environment in .venv unless VENV says otherwise.
#   quick    under a minute: architecture, contracts, privacy, noise, pipelines and their tables,
#            one fit of every estimator
#   test     under five minutes on two cores, and what CI runs: quick, all estimators with their
#            main solvers, scikit-learn's checks, and statistical audits that reject weak noise
#   audit    half an hour or so: all pairs of estimator and solver, and audits at full noise
#   oldest   quick, with the oldest dependencies of pyproject.toml; needs Python 3.10
#   docs     the site, in docs/_build/html; a few minutes, and no web
#   docs-test  the built site in a headless Chromium
VENV ?= .venv
PYTHON ?= python3
OLDEST_PYTHON ?= python3.10
BIN := $(VENV)/bin
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q
QUICK := tests/test_architecture.py tests/contracts tests/privacy tests/noise \
	tests/pipeline tests/preprocessing \
	$(foreach slow,against_dp_accounting pld,--ignore tests/privacy/test_$(slow).py) \
	$(foreach slow,certified_minimizer clip_regimes fresh_noise last_iterate low_bits neighbors \
		pairs quantiles replay sampler_neighbors time,--ignore tests/contracts/test_$(slow).py) \
	--deselect tests/pipeline/test_pipeline.py::test_scikit_learns_checks \
	tests/estimators/test_learning.py::test_docstrings_list_every_parameter_and_fitted_attribute

.PHONY: demo quick test audit oldest bench lint docs docs-test clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

quick: $(VENV)/.test
	$(PYTEST) $(QUICK)

test: $(VENV)/.test
	$(PYTEST)

audit: $(VENV)/.test
	$(PYTEST) -m audit

oldest: BIN := $(VENV)-oldest/bin
oldest: $(VENV)-oldest/.test
	$(PYTEST) $(QUICK)

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed/fit.py --output docs/results/fit_speed.md
	$(BIN)/python benchmarks/speed/calibration.py --output docs/results/calibration_speed.md
	$(BIN)/python benchmarks/speed/steps.py --output docs/results/step_speed.md
	$(BIN)/python benchmarks/paper/covertype_svrg.py --output docs/results
	$(BIN)/python benchmarks/utility/defaults.py --output docs/results/defaults.md
	$(BIN)/python benchmarks/paper/stable_gradient.py \
		--output docs/results/stable_gradient.md
	$(BIN)/python benchmarks/paper/output_perturbation_table.py \
		--output docs/results/output_perturbation_table.md
	$(BIN)/python benchmarks/paper/high_dimension.py --output docs/results/high_dimension.md
	$(BIN)/python benchmarks/paper/auto_choice.py --output docs/results/auto_choice.md
	$(BIN)/python -m benchmarks.utility.newton --output docs/results/newton.md
	$(BIN)/python -m benchmarks.utility.groups --output docs/results/groups.md
	$(BIN)/python -m benchmarks.utility.quantiles --output docs/results/quantiles.md
	$(BIN)/python -m benchmarks.utility.pca --output docs/results/pca.md
	$(BIN)/python benchmarks/utility/scattering.py
	$(BIN)/python benchmarks/paper/transfer.py
	$(BIN)/python benchmarks/paper/auc_networks.py
	$(BIN)/python benchmarks/paper/privatediff.py --part linear
	$(BIN)/python benchmarks/paper/privatediff.py --part networks --balance 0
	$(BIN)/python benchmarks/paper/privatediff.py --part curves --sets mnist

lint: $(VENV)/.test
	$(BIN)/python -m pip install -q ruff
	$(BIN)/ruff check .

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

docs-test: $(VENV)/.docs-test
	$(BIN)/python -m pytest -q -m site tests/site

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

$(VENV)/.bench: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest build *.egg-info docs/_build docs/auto_examples
