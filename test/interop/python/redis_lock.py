"""The Lock of redis-py, which is for one master, on each of the masters; a majority makes the lock."""

import time
import uuid

import redis
from redis.exceptions import LockError
from redis.lock import Lock

from section import contend


def connect(task):
    masters = [redis.Redis(**address) for address in task["masters"]]
    for master in masters:
        master.ping()
    ttl = task["ttl"] / 1000

    def acquire():
        begun = time.monotonic()
        token = uuid.uuid4().hex
        locks = [Lock(master, task["resource"], timeout=ttl, thread_local=False) for master in masters]
        won = [lock for lock in locks if lock.acquire(blocking=False, token=token)]
        if len(won) > len(masters) // 2 and time.monotonic() - begun < ttl / 2:
            return won
        release(won)
        return None

    def release(locks):
        for lock in locks:
            try:
                lock.release()
            except LockError:
                pass  # Expired on this master.

    return acquire, release


contend(connect)
