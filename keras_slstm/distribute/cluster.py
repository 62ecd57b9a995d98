"""The processes that train together, as the environment variables of a launcher describe them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cluster:
    """The processes that train together.

    Attributes:
        addresses: `host:port` of each process, in order. The first is the chief, which alone writes files. The other
            addresses may be `""`: the processes exchange them when they connect.
        index: The position of this process.
    """

    addresses: tuple[str, ...]
    index: int

    @property
    def size(self) -> int:
        return len(self.addresses)

    @property
    def is_chief(self) -> bool:
        return self.index == 0


def find_cluster(environment: Mapping[str, str] = os.environ) -> Cluster | None:
    """Read the cluster from the variables that launchers set.

    The first of these counts:

    1. `TF_CONFIG`, in the format that `tf.distribute` documents (Ray's `TensorflowTrainer`, `keras_slstm.distribute`).
       A `chief` counts as the first worker. Keras 3 supports neither evaluators nor parameter servers.
    2. `RANK`, `WORLD_SIZE` and `MASTER_ADDR` (torchrun, Kubeflow).
    3. `OMPI_COMM_WORLD_RANK` and `OMPI_COMM_WORLD_SIZE` (Open MPI), with `MASTER_ADDR` if there are several machines.
    4. `SLURM_STEP_NUM_TASKS` and others of a job step (srun).
    5. `JOB_COMPLETION_INDEX` (an indexed job of Kubernetes), with `WORLD_SIZE` and `MASTER_ADDR`.

    `MASTER_ADDR` is the host of the first process. It listens on `MASTER_PORT` (default: 29500) or, where torchrun
    itself listens there, on the port after it.

    Args:
        environment: The environment variables.

    Returns:
        The cluster, or None if the variables describe no other process.

    Raises:
        ValueError: If the variables are malformed.

    >>> find_cluster({"TF_CONFIG": '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'})
    Cluster(addresses=('a:1', 'b:1'), index=1)
    """
    if environment.get("TF_CONFIG"):
        cluster = _from_tf_config(environment["TF_CONFIG"])
    elif {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(environment):
        cluster = _from_rank(environment, "RANK", "WORLD_SIZE")
    elif "OMPI_COMM_WORLD_SIZE" in environment:
        cluster = _from_rank(_with_local_master(environment), "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    elif environment.get("SLURM_STEP_NUM_TASKS"):
        cluster = _from_slurm(environment)
    elif {"JOB_COMPLETION_INDEX", "WORLD_SIZE", "MASTER_ADDR"} <= set(environment):
        cluster = _from_rank(environment, "JOB_COMPLETION_INDEX", "WORLD_SIZE")
    else:
        return None
    return cluster if cluster is not None and cluster.size > 1 else None


def _from_tf_config(text: str) -> Cluster | None:
    def wrong(what: str) -> ValueError:
        return ValueError(
            f"TF_CONFIG {what}: {text!r}. Expected for the second of two workers: "
            '{"cluster": {"worker": ["host1:port", "host2:port"]}, "task": {"type": "worker", "index": 1}}.'
        )

    try:
        config = json.loads(text)
    except ValueError as error:
        raise wrong(f"is not JSON ({error})") from None
    jobs = config.get("cluster") if isinstance(config, dict) else None
    if isinstance(config, dict) and not jobs:
        return None
    if not isinstance(jobs, dict) or not all(isinstance(job, list) for job in jobs.values()):
        raise wrong("has no lists of addresses in `cluster`")
    unknown = sorted(set(jobs) - {"chief", "worker"})
    if unknown:
        raise wrong(f"has the job {unknown[0]!r}, which Keras 3 does not support")
    addresses = tuple(str(address) for job in ("chief", "worker") for address in jobs.get(job, ()))
    task: Any = config.get("task")
    kind, index = (task.get("type"), task.get("index")) if isinstance(task, dict) else (None, None)
    if kind not in jobs or not isinstance(index, int) or not 0 <= index < len(jobs[kind]):
        raise wrong("does not name one of the processes in `task`")
    return Cluster(addresses, index + (len(jobs.get("chief", ())) if kind == "worker" else 0))


# Launchers that number the processes and name the first one's host: torchrun, Open MPI, Kubernetes.

_MASTER_PORT = 29_500  # torchrun's default


def _from_rank(environment: Mapping[str, str], rank: str, size: str) -> Cluster:
    index, count = _number(environment, rank), _number(environment, size)
    if not 0 <= index < count:
        raise ValueError(f"{rank} must be from 0 to {count - 1}, because {size} is {count}, but is {index}.")
    port = _number({"MASTER_PORT": str(_MASTER_PORT), **environment}, "MASTER_PORT")
    if environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        port += 1
    host = environment["MASTER_ADDR"]
    return Cluster((f"[{host}]:{port}" if ":" in host else f"{host}:{port}", *[""] * (count - 1)), index)


def _with_local_master(environment: Mapping[str, str]) -> Mapping[str, str]:
    if "MASTER_ADDR" in environment:
        return environment
    size = environment["OMPI_COMM_WORLD_SIZE"]
    if environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") != size:
        raise ValueError(
            f"Open MPI has started {size} processes on several machines, but MASTER_ADDR is not set: "
            "pass `mpirun -x MASTER_ADDR=HOST`, where HOST is the host of the first process."
        )
    return {**environment, "MASTER_ADDR": "localhost"}


# Slurm.

_PORTS = range(20_000, 30_000)


def _from_slurm(environment: Mapping[str, str]) -> Cluster:
    names = ("SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID")
    missing = [name for name in names if name not in environment]
    if missing:
        raise ValueError(f"SLURM_STEP_NUM_TASKS is set, but {missing[0]} is not: start the script with srun.")
    hosts = expand_hosts(environment["SLURM_STEP_NODELIST"])
    tasks = _expand_counts(environment["SLURM_STEP_TASKS_PER_NODE"])
    if len(hosts) != len(tasks):
        raise ValueError(
            f"SLURM_STEP_NODELIST={environment['SLURM_STEP_NODELIST']!r} names {len(hosts)} nodes, but "
            f"SLURM_STEP_TASKS_PER_NODE={environment['SLURM_STEP_TASKS_PER_NODE']!r} is for {len(tasks)}."
        )
    # Jobs on the same node need different ports, so the job's number selects a range of ports.
    job = environment.get("SLURM_JOB_ID", "0")
    stretch = 100 * (int(job) % (len(_PORTS) // 100)) if job.isdecimal() else 0
    places = [(node, local) for node, count in enumerate(tasks) for local in range(count)]
    index = _number(environment, "SLURM_PROCID")
    own = _number(environment, "SLURM_NODEID"), _number(environment, "SLURM_LOCALID")
    if index >= len(places) or places[index] != own:
        raise ValueError(
            f"SLURM_PROCID={index} was not expected on node {own[0]}: "
            "tasks must fill one node after another (srun --distribution=block)."
        )
    return Cluster(tuple(f"{hosts[node]}:{_PORTS[stretch + local]}" for node, local in places), index)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(f"{name} must be an integer, but is {environment[name]!r}.") from None


def _expand_counts(text: str) -> list[int]:
    """Expand `2(x3),1` to 2, 2, 2, 1."""
    counts = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ValueError(f"SLURM_STEP_TASKS_PER_NODE={text!r} is malformed: expected counts such as 2(x3),1.")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def expand_hosts(text: str) -> list[str]:
    """Expand a list of hosts in Slurm's abbreviated form.

    >>> expand_hosts("login,node[01-03,7]-ib")
    ['login', 'node01-ib', 'node02-ib', 'node03-ib', 'node7-ib']
    """
    # Commas inside brackets separate numbers; others separate hosts.
    parts = re.findall(r"(?:\[[^\]]*\]|[^,\[])+", text)
    if ",".join(parts) != text:
        raise ValueError(f"The list of hosts {text!r} is malformed: expected names such as login,node[01-03,7].")
    return [host for part in parts for host in _expand_host(part)]


def _expand_host(text: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([^\]]+)\](.*)", text)
    if match is None:
        if not text or set("[]") & set(text):
            raise ValueError(f"The host name {text!r} is malformed: expected a name such as node1 or node[01-03,7].")
        return [text]
    before, numbers, after = match.groups()
    rest = _expand_host(after) if after else [""]
    return [f"{before}{number}{end}" for number in _expand_numbers(numbers) for end in rest]


def _expand_numbers(text: str) -> list[str]:
    numbers = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"The host numbers [{text}] are malformed: expected numbers and ranges such as 01-03,7.")
        numbers += [f"{n:0{len(first)}}" for n in range(int(first), int(last or first) + 1)]
    return numbers
