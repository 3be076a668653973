"""The page of results: one file that needs nothing else, readable without pictures and without colour."""

import xml.etree.ElementTree as ElementTree

from bench.figures import Figure
from bench.page import Bar, page, picture
from tests.unit.bench.test_tables import part, results


def test_the_page_fetches_nothing_and_runs_no_script():
    text = page({"Retrieval": results()})
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert not {"src=", "url(", "@import"} & set(text.split())


def test_the_page_is_well_formed_and_holds_every_figure():
    text = page({"Retrieval": results()})
    body = ElementTree.fromstring(text[text.index("<main>") : text.index("</main>") + len("</main>")])
    cells = {"".join(cell.itertext()) for cell in body.iter() if cell.tag in ("th", "td")}
    for name in ("Witnesstree (words): R@10", "Peer 1.0 (words): search p50, 10,000 rows, CPU", "error: Peer failed at add"):
        assert name in cells


def test_every_table_has_a_caption_and_headings_with_a_scope():
    text = page({"Retrieval": results()})
    body = ElementTree.fromstring(text[text.index("<main>") : text.index("</main>") + len("</main>")])
    tables = list(body.iter("table"))
    assert len(tables) == 3
    for one in tables:
        assert one.find("caption") is not None
        assert all(cell.get("scope") in ("col", "row") for cell in one.iter("th"))


def test_a_missed_bar_is_said_in_words_and_not_by_colour_alone():
    assert '<td class="missed">missed</td>' in page({"Retrieval": {"peers": part(Figure("p", "slow", 2.0, "s", 1.0))}})


def test_the_page_begins_with_how_many_bars_are_missed_and_which():
    text = page({"Retrieval": results()})
    assert "2 bars: 1 met, 1 missed." in text
    assert "<li>Peer 1.0 (words): measured: error: Peer failed at add</li>" in text


def test_names_from_a_results_file_are_escaped():
    text = page({"A & B": {"peers": part(Figure("p", "<b>", 1.0, "s", system="x"))}})
    assert "<b>" not in text
    assert "A &amp; B" in text


def test_bars_are_drawn_in_proportion_and_told_in_words():
    drawn = ElementTree.fromstring(picture("Speed", "caption", [Bar("Witnesstree", 1.0, "1 ms"), Bar("Peer", 4.0, "4 ms")]))
    one, four = (float(bar.get("width", "")) for bar in drawn.iter("rect"))
    assert four == 4 * one
    assert [bar.get("class") for bar in drawn.iter("rect")] == ["ours", "other"]
    assert drawn.findtext(".//desc") == "Witnesstree: 1 ms; Peer: 4 ms"


def test_a_picture_without_values_is_left_out():
    assert picture("Speed", "caption", []) == ""


def test_bars_of_nothing_but_zeros_can_be_drawn():
    assert "<svg" in picture("Speed", "caption", [Bar("a", 0.0, "0 ms")])


def test_a_number_keeps_its_unit_on_its_line_and_longer_cells_may_break():
    text = page({"Retrieval": results()})
    assert "<td>1.23\u00a0ms</td>" in text
    assert "<td>error: Peer failed at add</td>" in text
