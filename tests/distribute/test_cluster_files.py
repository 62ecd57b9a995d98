"""The files of `examples/cluster` are valid for the tools that read them, and the job's command trains."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from keras_slstm.distribute.launcher import free_ports
from tests.processes import ROOT, run_python

FOLDER = ROOT / "examples" / "cluster"
ALONE = ["--nodes=1", "--ntasks-per-node=2", "--gpus-per-task=0", "--cpus-per-task=1"]  # as in its comment


@pytest.mark.short_run("torch")
@pytest.mark.parametrize("command", [["bash", "-n"], ["shellcheck"], ["sbatch", "--test-only", *ALONE]])
def test_the_slurm_script_is_valid(command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    if command[0] == "sbatch" and subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode:
        pytest.skip("needs a running Slurm")
    found = subprocess.run([*command, FOLDER / "slurm.sh"], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.fixture(scope="module")
def manifests():
    """Return the service and the job."""
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")))


@pytest.mark.short_run("torch")
def test_the_manifests_follow_the_schemas_of_kubernetes(manifests):
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    assert [manifest["kind"] for manifest in manifests] == ["Service", "Job"]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.short_run
@pytest.mark.ci_run("tensorflow")
@pytest.mark.xdist_group("two_processes")
def test_the_pods_train_together(manifests, tmp_path):
    service, job = manifests
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == int(variables["WORLD_SIZE"]) == 2
    assert pod["subdomain"] == service["metadata"]["name"]
    # Kubernetes names the first pod after the job, and its domain after the service.
    assert variables["MASTER_ADDR"] == f"{job['metadata']['name']}-0.{service['metadata']['name']}"
    variables |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_ports(1)[0]), "TF_CONFIG": None}

    rows = [f"{'good' if i % 2 else 'bad'} {'word ' * (i % 4)}\t{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "data.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    python, *words = [*container["command"], *container["args"]]
    words += ["--output", tmp_path / "run", "--data", tmp_path / "data.tsv", "--epochs", 1]
    assert python == "python"

    def start(index):
        return run_python(*words, **variables, JOB_COMPLETION_INDEX=str(index))

    with ThreadPoolExecutor() as pods:
        first, second = pods.map(start, range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "Test accuracy" in first.stdout
    assert "Test accuracy" not in second.stdout
    assert (tmp_path / "run" / "model.keras").exists()
