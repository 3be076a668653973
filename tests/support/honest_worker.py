"""A process that lives honestly at random until it is killed: adds, corrects, withdraws, erases, searches, and reports alarms.

Run as ``python -m tests.support.honest_worker STORE SEED OPERATIONS ACKNOWLEDGED``. Each acknowledged change is appended to the
last file before the next operation begins, so that the parent can hold the store to it.
"""

from __future__ import annotations

import json
import random
import secrets
import sys

from witnesstree import Memory
from witnesstree.errors import ConflictError, IntegrityError, NotFoundError, StoreError
from witnesstree.types.result import AuditReport

OWNERS = ("ana", "bo", "cem", "dee")
WORDS = ["rent", "account", "garden", "pears", "sesame", "train", "lisbon", "dentist", "invoice", "laptop", "water"]
WORDS += ["房租", "水费", "猫", "кот"]


def one(memory: Memory, dice: random.Random, known: dict[str, list[str]]) -> list[object]:
    """Do one random operation; return what is to be acknowledged."""
    owner = dice.choice(OWNERS)
    mine = known.setdefault(owner, [])
    roll = dice.random()
    if roll < 0.40 or not mine:
        text = " ".join(dice.choices(WORDS, k=8)) + f" {dice.getrandbits(40):x}"
        mine.append(memory.add(text, user=owner).episodes[0])
        return ["add", owner, mine[-1], text]
    target = dice.choice(mine)
    if roll < 0.50:
        text = "changed " + " ".join(dice.choices(WORDS, k=6)) + f" {dice.getrandbits(40):x}"
        memory.update(target, text, user=owner)
        return ["update", owner, target, text]
    if roll < 0.55:
        memory.retract(target, user=owner)
        return ["retract", owner, target, ""]
    if roll < 0.60:
        mine.remove(target)
        memory.forget(target, user=owner)
        return ["forget", owner, target, ""]
    if roll < 0.90:
        memory.search(" ".join(dice.choices(WORDS, k=3)), user=owner, k=5)
    elif roll < 0.96:
        memory.list(user=owner, limit=20)
    elif roll < 0.99:
        memory.get(target, user=owner)
    else:
        housekeeping(memory, dice, owner)
    return []


def housekeeping(memory: Memory, dice: random.Random, owner: str) -> None:
    """Audit, repair, rotate the keys, or back up and restore to another place, beside whatever the other process does."""
    what = dice.choice(["audit", "audit", "repair", "rotate", "restore", "fork"])
    if what in ("restore", "fork"):
        place = f"{memory.place}.{dice.getrandbits(60):x}"
        report = memory.fork(place) if what == "fork" else backed_up_and_restored(memory, place)
        with Memory.open(place) as copy:
            copy.search("rent", user=owner)
    elif what == "rotate":
        report = memory.rotate_keys()
    elif what == "repair":
        memory.repair()
        return
    else:
        report = memory.audit()
    if not report.ok:
        raise IntegrityError(f"{what}: {report.problems[:3]}")


def backed_up_and_restored(memory: Memory, place: str) -> AuditReport:
    """Restore a fresh backup; if the other process rotated the keys after it was made, it is worthless: make another."""
    while True:
        copy = f"{place}.{secrets.token_hex(4)}.backup"
        memory.backup(copy)
        made_under = memory.verifier_key
        try:
            return Memory.restore(copy, place)
        except IntegrityError:
            memory.list(user=OWNERS[0], limit=1)
            if memory.verifier_key == made_under:
                raise


def main() -> int:
    """Run the operations; exit 3 on a false alarm."""
    store, seed, operations, acknowledged = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    dice = random.Random(seed)
    known: dict[str, list[str]] = {}
    done = 0
    memory = Memory.open(store)
    with open(acknowledged, "a", buffering=1, encoding="utf-8") as log:
        for _ in range(operations):
            try:
                fact = one(memory, dice, known)
            except (NotFoundError, ConflictError):
                fact = []
            except StoreError as error:
                if error.reason != "busy":
                    raise
                fact = []
            except IntegrityError as error:
                log.write(json.dumps(["ALARM", type(error).__name__, error.reason, str(error)]) + "\n")
                return 3
            done += 1
            log.write(json.dumps(fact or ["read"]) + "\n")
            if dice.random() < 0.005:
                memory.close()
                memory = Memory.open(store)
    memory.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
