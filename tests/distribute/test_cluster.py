import json

import pytest

from keras_slstm.distribute.cluster import Cluster, expand_hosts, find_cluster

pytestmark = pytest.mark.short_run("torch")


def config(task=None, **jobs):
    return {"TF_CONFIG": json.dumps({"cluster": jobs, "task": task or {}})}


def test_alone():
    assert find_cluster({}) is None
    assert find_cluster({"TF_CONFIG": "{}"}) is None
    assert find_cluster(config({"type": "worker", "index": 0}, worker=["a:1"])) is None


def test_a_chief_comes_before_the_workers():
    jobs = {"worker": ["a:1", "b:1"], "chief": ["c:1"]}
    addresses = ("c:1", "a:1", "b:1")
    assert find_cluster(config({"type": "chief", "index": 0}, **jobs)) == Cluster(addresses, 0)
    found = find_cluster(config({"type": "worker", "index": 1}, **jobs))
    assert found == Cluster(addresses, 2)
    assert (found.size, found.is_chief) == (3, False)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TF_CONFIG": "{"}, "not JSON"),
        ({"TF_CONFIG": "[]"}, "no lists of addresses"),
        (config(worker="a:1"), "no lists of addresses"),
        (config(worker=["a:1", "b:1"]), "does not name one of the processes"),
        (config({"type": "worker", "index": 2}, worker=["a:1", "b:1"]), "does not name one of the processes"),
        (config({"type": "ps", "index": 0}, worker=["a:1", "b:1"], ps=["c:1"]), "'ps', which Keras 3"),
    ],
)
def test_malformed_variables_are_shown(variables, message):
    with pytest.raises(ValueError, match=message) as error:
        find_cluster(variables)
    assert variables["TF_CONFIG"] in str(error.value)


SLURM = {
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "node[08-10]",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2),2",
    "SLURM_PROCID": "3",
    "SLURM_NODEID": "2",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "4107",
}


def test_slurm():
    found = find_cluster(SLURM)
    assert found == Cluster(("node08:20700", "node09:20700", "node10:20700", "node10:20701"), 3)
    assert find_cluster({**SLURM, "TF_CONFIG": "{}"}) is None  # TF_CONFIG takes precedence
    assert find_cluster({**SLURM, "SLURM_JOB_ID": "4108"}).addresses[0] == "node08:20800"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SLURM_PROCID": None}, "SLURM_PROCID is not: start the script with srun"),
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID must be an integer, but is 'x'"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x2)"}, "names 3 nodes.*is for 2"),
        ({"SLURM_STEP_TASKS_PER_NODE": "two"}, "'two' is malformed"),
        ({"SLURM_STEP_NODELIST": "node[1"}, "is malformed"),
        ({"SLURM_NODEID": "0"}, "one node after another"),
    ],
)
def test_slurm_variables_that_do_not_fit(changes, message):
    variables = {name: value for name, value in {**SLURM, **changes}.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        find_cluster(variables)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a"]),
        ("a,b-2", ["a", "b-2"]),
        ("n[1,3-5]", ["n1", "n3", "n4", "n5"]),
        ("n[098-101]x,m", ["n098x", "n099x", "n100x", "n101x", "m"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_hosts(text, hosts):
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize("text", ["n[a]", "n[1-]", "n]1["])
def test_malformed_hosts(text):
    with pytest.raises(ValueError, match="malformed"):
        expand_hosts(text)
