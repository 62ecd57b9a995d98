"""Breaks the code on purpose and checks whether the tests notice: `python -m tests.mutation --minutes 60`.

cosmic-ray changes one operator, number or keyword at a time in a copy of the repository. pytest runs the tests that
execute the changed line, fastest first, in a fork of a process that has imported Keras and its backend already. The
command draws mutants at random until the time is over, and prints the share that the tests killed and the location of
every survivor. It runs on the backend KERAS_BACKEND, on systems that can fork.

    python -m tests.mutation keras_slstm/ops/masks.py --count 20     # some mutants of one file
    python -m tests.mutation keras_slstm/losses --minutes 30         # of one folder
    python -m tests.mutation --record lines.json                     # keeps which tests execute which lines
"""

from __future__ import annotations

import argparse
import ast
import compileall
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests import fork_server, line_tests

ROOT = Path(__file__).parents[1]
PACKAGES = [f"keras_slstm/{name}" for name in ("ops", "layers", "losses", "training", "text")]
TESTS = [f"tests/{name}" for name in ("ops", "layers", "losses", "metrics", "training", "text")]
CAUGHT, SURVIVED = "caught", "SURVIVED"
HOURS = 6 * 3600.0


def mutants(folder: Path, modules: Iterable[Path]) -> list[Any]:
    """Return all mutations of cosmic-ray except those of annotations, which are never evaluated."""
    from cosmic_ray.commands import init
    from cosmic_ray.work_db import WorkDB, use_db

    found = []
    for module in modules:
        annotations = _positions_of_annotations(folder / module)
        with use_db(":memory:", WorkDB.Mode.create) as database:
            init([folder / module], database, {})
            mutations = [item.mutations[0] for item in database.work_items]
        found += [(module, mutation) for mutation in mutations if mutation.start_pos not in annotations]
    return found


def _positions_of_annotations(path: Path) -> set[tuple[int, int]]:
    positions = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                for line in range(annotation.lineno, (annotation.end_lineno or annotation.lineno) + 1):
                    end = annotation.end_col_offset or 0
                    positions |= {(line, column) for column in range(annotation.col_offset, end)}
    return positions


def recorded(folder: Path, tests: list[str], store: Path) -> dict[str, Any]:
    """Which tests execute which lines: from a file where the code is the same, or else from running the tests."""
    key = {name: line_tests.fingerprint(folder, name) for name in ("keras_slstm", "tests")} | {"of": sorted(tests)}
    if store.exists():
        record = json.loads(store.read_text(encoding="utf-8"))
        if record["key"] == key:
            return record
    print(f"Run {' '.join(tests)} once and record their lines.", flush=True)
    target = folder / "record.json"
    status = fork_server.run(folder, lambda: line_tests.record(folder, tests, target), HOURS, HOURS)
    if not target.exists():
        raise SystemExit(f"pytest ended with {status} before it had recorded anything.")
    record = {"key": key, **json.loads(target.read_text(encoding="utf-8"))}
    if status:
        print(f"Some of them fail without a mutant and are left out (exit status {status}).", flush=True)
    store.write_text(json.dumps(record), encoding="utf-8")
    return record


def chosen_tests(record: dict[str, Any], module: Path, source: str, line: int, seconds: float) -> Iterator[str]:
    """Yield the tests that execute a line, fastest first, until their recorded times exceed `seconds`."""
    spent = 0.0
    for test in line_tests.tests_for(record, str(module), source, line):
        spent += record["seconds"][test]
        if spent > seconds:
            return
        yield test


def try_one(folder: Path, module: Path, mutation: Any, tests: list[str], seconds: float) -> tuple[str, list[str]]:
    """Run tests on one mutant, and return the verdict and the changed lines."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    operator = get_operator(mutation.operator_name)(**mutation.operator_args)
    for compiled in (folder / module).parent.glob(f"__pycache__/{module.stem}.*"):
        compiled.unlink()
    with use_mutation(folder / module, operator, mutation.occurrence) as (before, after):
        changes = [
            f"{sign} {text.strip()}"
            for old, new in zip(before.splitlines(), after.splitlines())
            if old != new
            for sign, text in (("-", old), ("+", new))
        ]
        if not tests:
            return SURVIVED, [*changes, "no test executes the line"]
        status = fork_server.run(folder, lambda: _pytest(tests), 20 + 3 * seconds, 900 + 60 * seconds)
    if status == fork_server.HUNG:
        return fork_server.HUNG, changes
    return (CAUGHT if status else SURVIVED), changes


def _pytest(tests: list[str]) -> int:
    import pytest

    # Two mutants of one second and one size would share their bytecode.
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:unraisableexception", *tests]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", default=PACKAGES, help=f"files or folders ({' '.join(PACKAGES)})")
    parser.add_argument("--minutes", type=float, default=120.0, help="start no mutant after this time (120)")
    parser.add_argument("--count", type=int, help="most mutants (as many as the time allows)")
    parser.add_argument("--start", type=int, default=0, help="number of the first mutant in the order of the seed (0)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of tests for one mutant at most (60)")
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"tests to choose from ({' '.join(TESTS)})")
    parser.add_argument("--record", type=Path, help="file for which tests execute which lines")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = [Path(path) for path in args.paths]
    modules = [file for path in found for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    modules = [module for module in modules if module.name != "__init__.py"]
    if not modules:
        parser.error(f"no Python file in {' '.join(map(str, args.paths))}")
    fork_server.import_libraries()
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "repository"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", "runs"))
        for package in ("keras_slstm", "tests"):
            compileall.compile_dir(folder / package, quiet=2)
        record = recorded(folder, args.tests, args.record or folder / "kept.json")
        every = mutants(folder, modules)
        random.Random(args.seed).shuffle(every)
        count = len(every) if args.count is None else args.count
        if fork_server.run(folder, lambda: _pytest(sorted(record["seconds"])[:1]), HOURS, HOURS):
            raise SystemExit("A test that has passed fails in a fork, without a mutant.")
        end = time.monotonic() + 60 * args.minutes
        for number, (module, mutation) in enumerate(every[args.start : args.start + count], args.start):
            if time.monotonic() > end:
                break
            source = (folder / module).read_text(encoding="utf-8")
            tests = list(chosen_tests(record, module, source, mutation.start_pos[0], args.seconds))
            seconds = sum(record["seconds"][test] for test in tests)
            verdict, changes = try_one(folder, module, mutation, tests, seconds)
            verdicts[verdict] += 1
            print(number, verdict, f"{module}:{mutation.start_pos[0]}", mutation.operator_name, flush=True)
            if verdict != CAUGHT:
                print(f"    {len(tests)} tests of {seconds:.0f} s", *changes, sep="\n    ", flush=True)
    decided = verdicts[CAUGHT] + verdicts[SURVIVED]
    share = 100 * verdicts[CAUGHT] / max(decided, 1)
    print(f"The tests caught {verdicts[CAUGHT]} of {decided} mutants ({share:.1f}%), drawn from {len(every)}.")
    if verdicts[fork_server.HUNG]:
        print(f"{verdicts[fork_server.HUNG]} hung, and are not counted.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
