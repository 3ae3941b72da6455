"""redlock-py, with its own settings."""

from redlock import Redlock

from section import contend


def connect(task):
    manager = Redlock(task["masters"])
    return lambda: manager.lock(task["resource"], task["ttl"]), manager.unlock


contend(connect)
