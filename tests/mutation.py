"""Break the code on purpose and see whether the tests notice: `python -m tests.mutation --minutes 120`.

cosmic-ray changes one operator, number or keyword at a time in a copy of the repository, and runs the tests that mirror
the changed module. The command draws mutants at random until the time is over, and prints the share that the tests
caught and the place of every survivor. It runs on the backend KERAS_BACKEND.

    python -m tests.mutation keras_slstm/ops/masks.py --count 20     # some mutants of one file
    python -m tests.mutation keras_slstm/losses --minutes 30         # of one folder
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = [f"keras_slstm/{name}" for name in ("ops", "layers", "losses", "training", "text")]
CONFIG = """[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{command}"

[cosmic-ray.distributor]
name = "local"
"""


def tests_of(module: Path) -> list[str]:
    """The tests that mirror a module: its own files, or else the folder of its package."""
    folder = Path("tests", module.parts[1])
    if "kernels" in module.parts:
        return [str(folder)]
    own = sorted((ROOT / folder).glob(f"test_{module.stem}*.py"))
    return [str(file.relative_to(ROOT)) for file in own] or [str(folder)]


def mutants(folder: Path, module: Path, limit: float) -> Any:
    """A session of cosmic-ray with all mutants of a module but those of its annotations, and their work items."""
    from cosmic_ray.work_db import WorkDB, use_db

    name = "-".join(module.with_suffix("").parts)
    config, session = folder / f"{name}.toml", folder / f"{name}.sqlite"
    command = f"{sys.executable} -m pytest -q -x -p no:cacheprovider {' '.join(tests_of(module))}"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    if subprocess.run(command.split(), cwd=folder, env=environment, check=False, capture_output=True).returncode:
        raise SystemExit(f"The tests of {module} fail without a mutant: {command}")
    config.write_text(CONFIG.format(module=module, timeout=limit, command=command), encoding="utf-8")
    _cosmic_ray(folder, "init", config, session)
    annotations = _lines_of_annotations(folder / module)
    with use_db(session, WorkDB.Mode.open) as database:
        items = [item for item in database.work_items if item.mutations[0].start_pos not in annotations]
    return config, session, items


def _lines_of_annotations(path: Path) -> set[tuple[int, int]]:
    """All positions inside annotations, which are never evaluated."""
    positions = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                for line in range(annotation.lineno, annotation.end_lineno + 1):
                    positions |= {(line, column) for column in range(annotation.col_offset, annotation.end_col_offset)}
    return positions


def _cosmic_ray(folder: Path, *arguments: object) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "cosmic_ray.cli", *map(str, arguments)]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def try_one(folder: Path, config: Path, session: Path, item: Any) -> Any:
    """Run the tests on one mutant; its result."""
    from cosmic_ray.work_db import WorkDB, use_db

    with use_db(session, WorkDB.Mode.open) as database:
        database.clear()
        database.add_work_items([item])
    _cosmic_ray(folder, "exec", config, session)
    with use_db(session, WorkDB.Mode.open) as database:
        ((_, result),) = database.results
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", default=PACKAGES, help=f"files or folders ({' '.join(PACKAGES)})")
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no mutant after this time (120)")
    parser.add_argument("--count", type=int, help="most mutants (as many as the time allows)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the tests of one mutant (600)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = [Path(path) for path in args.paths]
    modules = [file for path in found for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    modules = [module for module in modules if module.name != "__init__.py"]
    if not modules:
        parser.error(f"no Python file in {' '.join(map(str, args.paths))}")
    end, rng, tried, caught = time.monotonic() + 60 * args.minutes, random.Random(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "repository")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", "runs"))
        sessions: dict[Path, Any] = {}
        while time.monotonic() < end and (args.count is None or tried < args.count):
            module = rng.choice(modules)
            if module not in sessions:
                sessions[module] = mutants(folder, module, args.timeout)
            config, session, items = sessions[module]
            if not items:
                modules.remove(module)
                if not modules:
                    break
                continue
            item = items.pop(rng.randrange(len(items)))
            result = try_one(folder, config, session, item)
            mutation = item.mutations[0]
            tried, caught = tried + 1, caught + result.is_killed
            verdict, place = "caught" if result.is_killed else "SURVIVED", f"{module}:{mutation.start_pos[0]}"
            print(verdict, place, mutation.operator_name, flush=True)
            if not result.is_killed:
                for line in (result.diff or "").splitlines():
                    if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
                        print(f"    {line}", flush=True)
    print(f"The tests caught {caught} of {tried} mutants ({100 * caught / max(tried, 1):.1f}%).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
