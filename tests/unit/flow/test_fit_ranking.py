"""``scripts/fit_ranking.py``: its arithmetic, and that it reads what the search itself uses."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.house.source_tree import ROOT
from witnesstree.rules.ranking import WEIGHTS


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("fit_ranking", ROOT / "scripts" / "fit_ranking.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["fit_ranking"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def conversation() -> dict[str, object]:
    """Two sessions of two people, and three questions."""
    said = [["Did you feed the parrot?", "Yes, it ate the sunflower seeds."], ["The ferry leaves at noon.", "I packed the tent."]]
    talk: dict[str, object] = {}
    for number, lines in enumerate(said, 1):
        talk[f"session_{number}_date_time"] = f"1:00 pm on {number} May, 2023"
        talk[f"session_{number}"] = [
            {"speaker": ("Mara", "Tom")[place], "dia_id": f"D{number}:{place + 1}", "text": text}
            for place, text in enumerate(lines)
        ]
    questions = [
        {"question": "What did the parrot eat?", "category": 4, "evidence": ["D1:2"]},
        {"question": "When does the ferry leave?", "category": 2, "evidence": ["D2:1"]},
        {"question": "Which tent did Mara pack?", "category": 5, "evidence": ["D2:2"]},
    ]
    return {"conversation": talk, "qa": questions}


def test_fit_points_at_the_gold_turns(script: ModuleType) -> None:
    """A signal that marks the gold gets weight, one that marks the rest loses it, noise stays small."""
    random = np.random.default_rng(1)
    cases = []
    for _ in range(60):
        signals = random.random((8, 3))
        gold = int(np.argmax(signals[:, 0] - signals[:, 1] + 0.3 * random.random(8)))
        cases.append(script.Case("none", 0, signals, [str(n) for n in range(8)], {str(gold)}))
    weights = script.fit(cases)
    assert weights[0] > 1 > abs(weights[2]) and weights[1] < -1
    assert script.scale(weights)[0] == 1
    assert np.mean([case.ranked(weights)[0] in case.gold for case in cases]) > 0.8


def test_cases_and_answers_come_from_the_search_itself(script: ModuleType) -> None:
    """One case an answerable question, with the signals of the ranker; its best candidate by the weights is the search's."""
    cases = list(script.cases_of(conversation(), 0, "local"))
    assert [case.signals.shape[1] for case in cases] == [len(WEIGHTS)] * 2
    now = np.array(list(WEIGHTS.values()))
    assert [case.ranked(now)[0] in case.gold for case in cases] == [True, True]
    tried = list(script.tried_on(conversation(), 0, "local"))
    assert [one.is_answerable for one in tried] == [True, True, False]


def test_script_prints_figures_and_weights(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held out and in all, for each embedder."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([conversation(), conversation()]))
    monkeypatch.setattr(sys, "argv", ["fit_ranking.py", str(file), "--embedder", "none", "--most-false", "100"])
    script.main()
    printed = capsys.readouterr().out
    assert "held out, conversation 2" in printed and "WEIGHTS: Final = {" in printed and "answers, none: 6 questions" in printed
