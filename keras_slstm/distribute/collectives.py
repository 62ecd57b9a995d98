"""The cluster that this process has joined, and the messages that its processes exchange."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from keras_slstm.distribute.channel import Channel
from keras_slstm.distribute.cluster import Cluster
from keras_slstm.distribute.errors import ProcessesDiffer
from keras_slstm.distribute.fingerprint import describe_difference, flatten

_channel: Channel | None = None


def join(channel: Channel | None) -> None:
    """Make this process a member of the channel's cluster, or, with None, of no cluster."""
    global _channel
    _channel = channel


def joined_cluster() -> Cluster | None:
    """Return the cluster that this process has joined, or None if it trains alone."""
    return None if _channel is None else _channel.cluster


def is_chief() -> bool:
    """Whether this process writes files: the first process of a cluster, or one that trains alone."""
    return _channel is None or _channel.cluster.is_chief


def all_gather(value: Any, topic: str = "values") -> list[Any]:
    """Return a JSON value of every process, in their order. Every process must call this, and waits for the others.

    Raises:
        WorkerLost: If a process has died or does not answer in time.
        ProcessesDiffer: If the processes call this with different topics.
    """
    return [value] if _channel is None else _channel.all_gather(topic, value)


def barrier() -> None:
    """Wait until every process of the cluster has called this."""
    all_gather(None, "barrier")


def in_turn(is_turn: bool, action: Callable[[], None], place: str) -> None:
    """Run an action in some of the processes, while the others wait; if one fails, all raise.

    Args:
        is_turn: Whether this process runs the action. Every process must call this.
        action: The action.
        place: The resource that the action uses, such as a folder; the error in the waiting processes names it.

    Raises:
        ValueError: If the action fails in another process.
    """
    problem = None
    if is_turn:
        try:
            action()
        except Exception as error:
            problem = error
    failed = [index for index, fails in enumerate(all_gather(problem is not None)) if fails]
    if problem is not None:
        raise problem
    if failed:
        raise ValueError(f"Process {failed[0]} cannot use {place}; its message says why.")


def check_equal(settings: dict[str, Any], topic: str = "settings") -> None:
    """Check that all processes have the same settings. Every process must call this.

    Args:
        settings: Values of any kind, in nested dicts and lists.
        topic: Name of the settings. The error gives it if processes are at different steps of the program.

    Raises:
        ProcessesDiffer: In all processes, if a setting differs. The message names it and its value in each process.
        WorkerLost: If a process has died or does not answer in time.
    """
    if _channel is None:
        return
    flat = flatten(settings)
    if len(set(all_gather(digest_of(flat), topic))) > 1:
        raise ProcessesDiffer(describe_difference(all_gather(flat, topic), _channel.cluster.addresses))


def digest_of(settings: dict[str, Any]) -> str:
    """Return a hash of flat settings, which is shorter to send than the settings."""
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()
