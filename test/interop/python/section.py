"""The critical section, and the loop around it. The contenders bring what guards it."""

import json
import os
import random
import sys
import time


def enter_and_leave(folder):
    """Whether nobody else was inside. Updates the count as plainly as can be: only a lock keeps it from losing some."""
    marker = os.path.join(folder, "inside")
    count = os.path.join(folder, "count")
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    with open(count) as file:
        before = int(file.read())
    time.sleep(0.002)
    with open(count, "w") as file:
        file.write(str(before + 1))
    os.remove(marker)
    return True


def contend(connect):
    """Reads the task, connects, waits for the start, and contends until the time is over."""
    task = json.loads(sys.argv[1])
    acquire, release = connect(task)
    print("ready", flush=True)
    sys.stdin.readline()
    grants = overlaps = 0
    end = time.monotonic() + task["duration"] / 1000
    while time.monotonic() < end:
        lock = acquire()
        if lock:
            grants += 1
            overlaps += not enter_and_leave(task["folder"])
            release(lock)
        time.sleep(random.uniform(0.001, 0.02))
    print(json.dumps({"grants": grants, "overlaps": overlaps}), flush=True)
