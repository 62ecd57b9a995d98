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


RANK = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "node7", "MASTER_PORT": "2222"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "3"}
INDEXED_JOB = {"JOB_COMPLETION_INDEX": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "node7"}


@pytest.mark.parametrize(
    ("variables", "chief"),
    [
        (RANK, "node7:2222"),
        ({**RANK, "MASTER_ADDR": "fd00::7"}, "[fd00::7]:2222"),
        ({**RANK, "TORCHELASTIC_USE_AGENT_STORE": "False"}, "node7:2222"),
        ({**RANK, "TORCHELASTIC_USE_AGENT_STORE": "True"}, "node7:2223"),  # torchrun listens on the other
        (OPEN_MPI, "localhost:29500"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MASTER_ADDR": "node7"}, "node7:29500"),
        (INDEXED_JOB, "node7:29500"),
        # In the tasks of Slurm, these are the processes that torchrun or Open MPI starts there.
        ({**SLURM, **RANK}, "node7:2222"),
        ({**SLURM, **OPEN_MPI}, "localhost:29500"),
    ],
)
def test_only_the_address_of_the_chief_is_known(variables, chief):
    assert find_cluster(variables) == Cluster((chief, "", ""), 1)


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "1", "WORLD_SIZE": "3"},
        {"JOB_COMPLETION_INDEX": "1"},  # a job whose pods work alone
        {"WORLD_SIZE": "3", "MASTER_ADDR": "node7"},
        {**RANK, "RANK": "0", "WORLD_SIZE": "1"},
    ],
)
def test_alone_for_a_launcher(variables):
    assert find_cluster(variables) is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({**RANK, "RANK": "3"}, "RANK must be from 0 to 2, because WORLD_SIZE is 3, but is 3"),
        ({**RANK, "WORLD_SIZE": "x"}, "WORLD_SIZE must be an integer, but is 'x'"),
        ({**RANK, "MASTER_PORT": ""}, "MASTER_PORT must be an integer, but is ''"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "3 processes on several machines, but MASTER_ADDR is not"),
    ],
)
def test_variables_of_launchers_that_do_not_fit(variables, message):
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
