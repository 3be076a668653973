"""The document of results: its schema, that no file can claim a level, and that no text in it can forge a page or a table."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.report import SCHEMA, ReportError, document, html, load, markdown
from witnesstree_conformance.report.markdown import code, escaped
from witnesstree_conformance.runner import measure
from witnesstree_conformance.subjects.chained import Chained
from witnesstree_conformance.subjects.naive import Naive

Json = dict[str, Any]
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PASSED = [
    {"control": name, "required": True, "passed": True, "detail": ""} for name in ("clean_reload", "no_op", "positive_retrieval")
]


def perfect(**changes: Any) -> Json:
    """A result in which every edit of tier A was refused."""
    cells = [{"attack": id, "version": 1, "verdict": "refused", "reason": ""} for id in AT_REST]
    row = {"tier": "A", "cells": cells}
    return {"name": "x", "title": "X", "version": "1", "seconds": 1.0, "controls": PASSED, "rows": [row]} | changes


def written(folder: Path, found: Any) -> Path:
    file = folder / "results.json"
    file.write_text(found if isinstance(found, str) else json.dumps(found))
    return file


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Json:
    attacks = ["tamper", "tamper_weak", "field_sweep", "store_deleted"]
    results = [
        measure(kind, tmp_path_factory.mktemp(kind.__name__), name=kind.__name__, attacks=attacks) for kind in (Naive, Chained)
    ]
    return document(results, MADE)


def test_results_follow_the_published_schema(measured: Json):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(measured)
    broken = copy.deepcopy(measured)
    broken["subjects"][0]["rows"][0]["cells"][0]["verdict"] = "splendid"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(broken)


def test_a_written_document_reads_back_the_same(measured: Json, tmp_path: Path):
    assert load(written(tmp_path, measured)) == measured


def test_a_claimed_level_is_not_believed(tmp_path: Path):
    liar = perfect(controls=[]) | {"rating": {"level": "refuses-E", "conformant": True, "why": []}}
    found = load(written(tmp_path, document([], MADE) | {"subjects": [liar]}))["subjects"][0]["rating"]
    assert (found["level"], found["conformant"]) == ("none", False)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": []},
        {"rows": [{"tier": "A", "cells": []}]},
        {
            "rows": [
                {"tier": "A", "cells": [{"attack": id, "version": 1, "verdict": "n/a", "reason": "skipped"} for id in AT_REST]}
            ]
        },
        {"rows": perfect()["rows"][0:1] and [{"tier": "A", "cells": perfect()["rows"][0]["cells"][1:]}]},
        {"rows": [{"tier": "B", "cells": perfect()["rows"][0]["cells"]}]},
        {"controls": []},
        {"controls": [{**PASSED[0], "passed": None}, *PASSED[1:]]},
        {"controls": [*PASSED, {"control": "two_writers", "required": False, "passed": False, "detail": "false alarm"}]},
        {"error": "the server was not there"},
    ],
    ids=["empty", "no-cells", "all-skipped", "one-missing", "no-tier-A", "no-controls", "skipped-control", "failed", "error"],
)
def test_an_empty_skipped_or_partly_failed_report_is_never_conformant(change: Json, tmp_path: Path):
    assert document([perfect()], MADE)["subjects"][0]["rating"]["conformant"] is True
    found = load(written(tmp_path, document([perfect(**change)], MADE)))
    assert found["subjects"][0]["rating"]["conformant"] is False
    assert found["subjects"][0]["rating"]["why"]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no results of format"),
        ({"format": "agmi/1"}, "no results of format"),
        (document([], MADE) | {"subjects": {}}, "'subjects' must be objects"),
        (document([perfect(), perfect()], MADE), "a subject occurs twice"),
        (document([perfect(rows=perfect()["rows"] * 2)], MADE), "a tier, or one twice|an unknown tier"),
        (document([perfect(rows=[{"tier": "A", "cells": perfect()["rows"][0]["cells"] * 2}])], MADE), "an attack occurs twice"),
        (document([perfect(rows=[{"tier": "A", "cells": [{"attack": "tamper", "verdict": "n/a", "reason": 3}]}])], MADE), "text"),
    ],
)
def test_what_is_no_document_is_refused_in_one_line(found: Any, why: str, tmp_path: Path):
    with pytest.raises(ReportError, match=why) as raised:
        load(written(tmp_path, found))
    assert "\n" not in str(raised.value)


def test_an_unknown_verdict_is_refused(tmp_path: Path):
    found = document([perfect()], MADE)
    found["subjects"][0]["rows"][0]["cells"][0]["verdict"] = "splendid"
    with pytest.raises(ReportError, match="no known verdict"):
        load(written(tmp_path, found))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ReportError, match=r"absent\.json can't be read"):
        load(tmp_path / "absent.json")


# --- what is shown ------------------------------------------------------------------------------------------
def test_both_renderings_show_every_subject_attack_and_edit(measured: Json):
    text, page = markdown(measured), html(measured)
    for shown in (text, page):
        for word in ("Naive", "Chained", "Tamper", "Every stored field", "UPDATE", "no effect", "equal twice"):
            assert word in shown
    assert "UPDATE" not in markdown(measured, details=False)


class Seen(HTMLParser):
    """Collects the elements of a page and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(text: str) -> Json:
    """A document whose every free text is given."""
    cells = [{"attack": "tamper", "version": 1, "verdict": "accepted", "reason": text, "edit": [text]}]
    used = [{"attack": "memory_injection", "verdict": "open", "reason": text, "id": text}]
    controls = [{"control": text, "required": True, "passed": True, "detail": text}]
    known = {"name": text, "title": text, "version": text, "config": text}
    return document([perfect(**known, rows=[{"tier": "A", "cells": cells}], in_use=used, controls=controls)], MADE)


TAGS = Seen()
TAGS.feed(html(hostile("plain")))


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=y>'])
)
def test_no_text_adds_an_element_to_the_page(text: str):
    seen = Seen()
    seen.feed(html(hostile(text)))
    assert seen.tags == TAGS.tags and seen.attributes == TAGS.attributes


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8")) | st.sampled_from(["| a | b |\n", "`|`", "``\n# Title", "<b>x</b>", "[a](b)"]))
def test_no_text_adds_a_column_or_line_to_a_table(text: str):
    for cell in (escaped(text), code(text)):
        assert len(cell.splitlines()) <= 1
        assert cell.replace("\\|", "").count("|") == 0
    assert "<" not in escaped(text).replace("\\<", "")


@settings(max_examples=80, deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(["| a |", "`|`", "x\n| y |", "\\|"]))
def test_no_text_breaks_a_table_of_the_whole_document(text: str):
    widths: list[int] = []
    for line in markdown(hostile(text)).split("\n"):
        if not line.startswith("|"):
            widths = []
            continue
        widths.append(line.replace("\\\\", "").replace("\\|", "").count("|"))
        assert len(set(widths)) == 1, line


def test_the_page_loads_nothing_and_runs_nothing(measured: Json):
    page = html(measured)
    assert "default-src 'none'" in page
    seen = Seen()
    seen.feed(page)
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert not seen.attributes & {"src", "onclick", "onload", "action"}
