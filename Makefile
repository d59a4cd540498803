# Needs only Python 3.11 or newer and make. Everything is installed into .venv, with the versions in constraints.txt.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: browser-if-there help demo studio test test-engines test-spark test-browser test-samplers examples lint types wall unit slow docs pages bench studies evidence clean

help:
	@echo "make demo    install and run the demo"
	@echo "make studio  install and open the web page for curators and analysts"
	@echo "make test    install and run lint, types, the wall contract and the tests; in Chromium too, if it is there"
	@echo "make test-engines  tests on Spark Connect, Dask and Ibis, in an environment of their own"
	@echo "make test-spark    the same tests on Apache Spark, which needs Java 17 or newer"
	@echo "make test-browser  the report and the studio in Debian's Chromium (apt-get install chromium)"
	@echo "make test-samplers likelihoods of releases in NumPyro, PyMC and Stan, in an environment of their own"
	@echo "make examples run the notebooks in examples/ again, in the same environment"
	@echo "make slow    the long statistical sweeps"
	@echo "make docs    build the documentation into docs/_build/html"
	@echo "make pages   run what the README and the docs show again, and update the output"
	@echo "make lint    lint, formatting, types and the wall contract only"
	@echo "make bench   side-by-side benchmarks against peers"
	@echo "make studies figures of the papers redrawn and their claims checked, and real columns (about two hours)"
	@echo "make evidence studies of real data alone, two at a time, with limits of time (under an hour)"
	@echo "make clean   remove everything the other targets made"

demo: $(VENV)/.installed
	$(BIN)/discreet demo

studio: $(VENV)/.installed-studio
	$(BIN)/discreet studio

# lint and types beside the tests, so that neither processor waits for the other
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory -j 2 lint unit
	@$(MAKE) --no-print-directory browser-if-there

# the tests in a real browser, or a line that says that they were not run
browser-if-there:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then \
	  $(MAKE) test-browser; \
	else \
	  echo "NOT RUN: the tests in a browser, because there is no Chromium (apt-get install chromium)"; \
	fi

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/wrap_markdown.py --check
	$(BIN)/python scripts/check_kinds.py

# each worker begins with half of the files, in order, and takes from the other what is left at the end: no file of
# many slow tests is the last one. Bytecode is kept, or each worker would rewrite and compile all tests again.
unit slow: export PYTHONDONTWRITEBYTECODE :=
# Both processors are busy, so threads of BLAS would wait for each other in a loop: small products cost ten times as much.
unit slow: export OMP_NUM_THREADS := 1
unit slow: export OPENBLAS_NUM_THREADS := 1
unit: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist worksteal

slow: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 -m slow

# engines that the default environment has not, each in an environment of its own: pyspark and pyspark-client are one
# module, and Ibis needs an older sqlglot than others
test-engines: .venv-engines/.installed
	.venv-engines/bin/python -m pytest tests/engines -q $(FOREIGN)

test-spark: .venv-spark/.installed
	.venv-spark/bin/python -m pytest tests/engines -q $(FOREIGN)

test-browser: .venv-browser/.installed
	.venv-browser/bin/python -m pytest tests/browser -q $(FOREIGN)

# other people's samplers, and the notebooks that use them
test-samplers: .venv-examples/.installed
	.venv-examples/bin/python -m pytest tests/samplers -q $(FOREIGN)

examples: .venv-examples/.installed
	.venv-examples/bin/python scripts/run_examples.py

# what is inside those packages warns about versions of pandas and leaves sockets to the end of the process
FOREIGN := -W ignore::FutureWarning -W ignore::DeprecationWarning -W ignore::ResourceWarning

.venv-%/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# what the README and the docs show, run again; look at the difference before committing it
pages: $(VENV)/.installed-dev
	$(BIN)/python scripts/make_posterior_picture.py
	$(BIN)/python scripts/make_report_picture.py
	$(BIN)/python scripts/refresh_pages.py

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/startup.py --check
	$(BIN)/python benchmarks/release.py --check
	$(BIN)/python benchmarks/labels.py --check
	$(BIN)/python benchmarks/groups.py --check
	$(BIN)/python benchmarks/inference.py --check
	$(BIN)/python benchmarks/calibration.py --check
	$(BIN)/python benchmarks/audit.py --check
	$(BIN)/python benchmarks/ledger.py --check
	$(BIN)/python benchmarks/truncated_dirichlet.py --check
	$(BIN)/python benchmarks/profiles.py --check
	$(BIN)/python benchmarks/models.py --check
	$(BIN)/python benchmarks/planning.py --check
	$(BIN)/python benchmarks/studio.py --check

studies: $(VENV)/.installed-studies
	$(BIN)/python studies/bernstein2018.py --check
	$(BIN)/python studies/dimitrakakis2017.py --check
	$(BIN)/python studies/foulds2016.py --check
	$(BIN)/python studies/foulds2016_mcmc.py --check
	$(BIN)/python studies/foulds2016_hmm.py --check
	$(BIN)/python studies/geumlek2020_ch5.py --check
	$(BIN)/python studies/geumlek2020_ch6.py --check
	$(BIN)/python studies/geumlek2020_ch7.py --check
	$(BIN)/python studies/head_to_head.py --check
	$(BIN)/python studies/noisy_sgd.py --check
	$(BIN)/python -m studies.fit_check --check
	$(BIN)/python -m studies.warnings_check --check
	$(BIN)/python studies/real_columns.py --check
	$(BIN)/python studies/moment_ranks.py --check
	$(BIN)/python studies/missing_values.py --check
	$(BIN)/python studies/class_means.py --check
	$(BIN)/python studies/planning.py --check
	$(BIN)/python studies/regression_peers.py --check
	$(BIN)/python studies/uneven_residuals.py --check
	$(BIN)/python studies/map_errors.py --check

# the studies of real data alone, two at a time
evidence: $(VENV)/.installed-studies
	scripts/evidence.sh

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed; name one with make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.installed-studio: $(VENV)/.installed
	$(PIP) -e '.[studio]'
	@touch $@

$(VENV)/.installed-studies: $(VENV)/.installed-dev
	$(PIP) -e '.[dev,studies]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) -e '.[dev,bench]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-engines .venv-spark .venv-browser .venv-examples build dist docs/_build discreet-demo benchmarks/data src/discreet.egg-info \
		.pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks studies scripts docs -name __pycache__ -type d -prune -exec rm -rf {} +
