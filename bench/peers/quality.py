"""Finding beside the peers on labelled conversations: ``WITNESSTREE_QUALITY=FILE python -m bench peers_quality``.

Every system is given "Speaker: text" of each turn and the same questions, a store and a user a conversation. Two lines of ours:
so, for a comparison of like with like, and as a program would use it, with speaker, session and time in their fields.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.peers.driver import OURS, SYSTEMS, Child, PeerError, System, error_figure
from bench.quality import VARIABLE, K, Tally, as_found_by_us, gold_of, turns
from bench.workshop import Workshop


def run(shop: Workshop) -> list[Figure]:
    """Measure all systems on the file that the environment names."""
    path = os.environ.get(VARIABLE)
    if not path:
        return []
    samples = json.loads(Path(path).read_text("utf-8"))
    fields = System(OURS.name, f"{OURS.mode}, with fields", "")
    found = list(figures_of(fields, as_found_by_us(shop, samples)))
    for system in SYSTEMS:
        try:
            with Child(system, shop.folder / "peers-quality") as child:
                found += figures_of(system, _ask(child, samples))
        except PeerError as error:
            found.append(error_figure("p", system, error))
    return found


def _ask(child: Child, samples: list[dict[str, Any]]) -> Tally:
    tally = Tally()
    for number, sample in enumerate(samples):
        messages = list(turns(sample["conversation"]))
        ids = [message["id"] for message in messages]
        texts = [f"{message['name']}: {message['content']}" for message in messages]
        asked = [(question["question"], gold) for question in sample["qa"] if (gold := gold_of(question, set(ids)))]
        user = f"conversation-{number}"
        child.give_vectors([*(question for question, _ in asked), texts[0]])
        child.open(str(number))
        child.load(ids, texts, user)
        for question, gold in asked:
            tally.take(child.ask("search", query=question, user=user, k=K)["ids"], gold)
        child.ask("close")
    return tally


def figures_of(system: System, tally: Tally) -> list[Figure]:
    """Return recall, nDCG and MRR of one system."""
    return [Figure("p", name, value, "%", system=system.title) for name, value in tally.means().items()]
