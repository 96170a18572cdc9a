# Every target makes what it needs: a virtual environment in .venv unless VENV says otherwise.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: demo test audit bench lint clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q

audit: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m audit

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
	$(BIN)/python -m benchmarks.utility.groups --output docs/results/groups.md
	$(BIN)/python benchmarks/paper/auc_networks.py
	$(BIN)/python benchmarks/paper/privatediff.py --part linear
	$(BIN)/python benchmarks/paper/privatediff.py --part networks --balance 0
	$(BIN)/python benchmarks/paper/privatediff.py --part curves --sets mnist

lint: $(VENV)/.test
	$(BIN)/python -m pip install -q ruff
	$(BIN)/ruff check .

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[plot]'
	touch $@

$(VENV)/.test: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test]'
	touch $@

$(VENV)/.bench: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install -q -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
