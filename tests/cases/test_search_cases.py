"""Cases S: any script, any query, any size (cases.md section 6)."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from witnesstree import Memory
from witnesstree.errors import InputError
from witnesstree.types.limits import MAX_BATCH, MAX_QUERY_CHARS, MAX_TEXT_BYTES


@pytest.fixture(params=["sqlite", "ram"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """An open memory on each engine."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db"), user="u") as opened:
        yield opened


SCRIPTS = {
    "下周一要交房租和水费": ("房租", "水费", "交房租"),
    "猫のワクチン予約は金曜日": ("ワクチン", "予約", "ﾜｸﾁﾝ"),
    "서버를 재시작했다": ("재시작", "서버"),
    "ย้ายไปเชียงใหม่": ("เชียงใหม่", "ย้าย"),
    "أسكن في القاهرة منذ عامين": ("القاهرة", "القَاهِرَة"),
    "Я живу в Москве": ("москве", "МОСКВЕ"),
    "Ξέρω την Αθήνα": ("αθηνα", "ΑΘΉΝΑ"),
    "गाँव में बारिश हुई": ("बारिश", "गाँव"),
    "Käse aus Zürich für die Großmutter": ("kase", "zurich", "GROSSMUTTER", "Zu\u0308rich"),
    "her owl 🦉 likes the ♞ knight": ("🦉", "♞"),
    "İstanbul'da yaşıyor": ("istanbul", "ISTANBUL"),
    "Đặng sống ở Đà Nẵng": ("nẵng", "nang"),
    "אני גר בחיפה": ("בחיפה",),
    "prijs is € 12,50": ("12", "prijs"),
}


@pytest.mark.parametrize(("text", "query"), [(text, query) for text, queries in SCRIPTS.items() for query in queries])
def test_words_of_every_script_are_found_first(memory: Memory, text: str, query: str):
    """Case S-01, row P-071: found among texts of all other scripts, two-character words included."""
    memory.add(list(SCRIPTS))
    assert memory.search(query).hits[0].text == text


ONE_WORD = {
    "Latin": ("The lighthouse keeper retired", "lighthouse", "Bread rises overnight", "bread"),
    "Cyrillic": ("Завтра приедет бабушка", "бабушка", "Поезд опоздал на час", "поезд"),
    "Greek": ("Η θάλασσα ήταν ήρεμη", "θάλασσα", "Το ψωμί κοστίζει δύο ευρώ", "ψωμί"),
    "Arabic": ("موعد الطبيب يوم الثلاثاء", "الطبيب", "اشترينا سيارة زرقاء", "سيارة"),
    "Hebrew": ("החתול ישן על הספה", "החתול", "הרכבת יוצאת בשמונה", "הרכבת"),
    "Devanagari": ("कल बाज़ार बंद रहेगा", "बाज़ार", "उसका कुत्ता बीमार है", "कुत्ता"),
    "Thai": ("แมวของฉันชอบปลา", "ปลา", "ประชุมวันจันทร์ตอนเช้า", "ประชุม"),
    "Chinese": ("奶奶住在苏州", "苏州", "护照放在抽屉里", "护照"),
    "Japanese": ("毎朝コーヒーを飲む", "コーヒー", "鍵は花瓶の下にある", "花瓶"),
    "Korean": ("내일 치과 예약이 있다", "치과", "우산을 기차에 두고 왔다", "기차"),
    "Tamil": ("மழை நாளை பெய்யும்", "மழை", "புத்தகம் மேசையில் உள்ளது", "புத்தகம்"),
    "Georgian": ("ბებია სოფელში ცხოვრობს", "სოფელში", "მატარებელი დილით მიდის", "მატარებელი"),
}


@pytest.mark.parametrize("embedder", ["local", "none"])
@pytest.mark.parametrize("script", ONE_WORD)
def test_one_word_of_each_script_finds_its_note_first(script: str, embedder: str):
    """Case S-01: two notes in each of twelve scripts in one store, a word of each as the whole question."""
    with Memory.open("ram:", user="u", embedder=embedder) as memory:
        memory.add([text for first, _, second, _ in ONE_WORD.values() for text in (first, second)])
        first, word, second, other = ONE_WORD[script]
        assert memory.search(word).hits[0].text == first
        assert memory.search(other).hits[0].text == second


@pytest.mark.parametrize("query", ["高さ", "さ", "서", "ム", "Ж", "שלום", "🦄", "zzz"])
def test_absent_words_find_nothing_of_other_scripts(memory: Memory, query: str):
    """Case S-01, row P-071: a word that is nowhere gives no hit, and never the first row with a full score."""
    memory.add(["plain English words", "Ein Satz mit Käse"])
    assert memory.search(query).hits == ()


LITERAL = {
    "don't": "I don't eat fish",
    "km/h": "drives at 90 km/h only",
    "multi-agent": "a multi-agent system",
    "user@example.com": "mail user@example.com first",
    "C++": "writes C++ daily",
    "health.base": "see health.base for it",
    "name:bob": "his name:bob it says",
    "foo AND": "foo AND bar hold",
    "NEAR(a b)": "NEAR(a b) is no operator",
    "C#": "moved to C# lately",
    "50%": "pays 50% up front",
    "o'clock": "at nine o'clock sharp",
    "--help": "type --help for it",
}


@pytest.mark.parametrize(("query", "text"), LITERAL.items())
def test_query_characters_mean_themselves(memory: Memory, query: str, text: str):
    """Case S-03: no operator, no column, no quote: the text that holds the words is the best hit."""
    memory.add([*LITERAL.values(), "something else entirely"])
    assert memory.search(query).hits[0].text == text


ODD_QUERIES = [
    "NOT",
    "AND",
    "OR",
    "*",
    '"',
    '""',
    "",
    "   ",
    "\n",
    "(",
    ")",
    "^x",
    "-",
    "--",
    ";",
    "'",
    "\\",
    "%",
    "_",
    "{",
    "[a",
    "x*",
    "col:",
    ":x",
    "\x00",
    "a\x00b",
    "\ud83d",
    "\ufffd",
    "\u202e",
    "\u200b",
    "🦉",
    "👨‍👩‍👧‍👦",
    "e\u0301",
    "ﷺ",
    "'; DROP TABLE memory; --",
    "<|endoftext|>",
    "a" * MAX_QUERY_CHARS,
    "don't " * 16_000,
    "(" * MAX_QUERY_CHARS,
    "字" * 50_000,
    "🦉" * 50_000,
    " ".join(f"w{n}" for n in range(12_000)),
    "\u0301" * 50_000,
]


@pytest.mark.parametrize("query", ODD_QUERIES, ids=lambda query: ascii(query)[:24])
def test_no_query_is_ever_an_error(memory: Memory, query: str):
    """Case S-03: every query up to the documented limit gives a result, empty or not; answer abstains or cites."""
    memory.add(["an owl 🦉 that is NOT here", "don't panic"])
    result = memory.search(query)
    assert len(result.hits) <= 2
    assert result.context().startswith("[memory ")
    assert result.trace_id
    memory.answer(query)


@pytest.mark.parametrize("query", [None, 5, b"x", ["x"], {"x": 1}, "x" * (MAX_QUERY_CHARS + 1)], ids=lambda q: ascii(q)[:12])
def test_query_that_is_no_text_or_too_long_is_refused(memory: Memory, query: object):
    """Case S-03: a clear InputError that names the field."""
    with pytest.raises(InputError) as caught:
        memory.search(query)  # type: ignore[arg-type]
    assert caught.value.attributes["field"] == "query"


def test_filter_comes_before_the_best_k(memory: Memory):
    """Case S-04: 200 better matches of others, of another date, or without the tag, do not push out the one asked for."""
    memory.add([{"content": "pears pears pears", "id": f"m{n}"} for n in range(200)], user="u2")
    memory.add([{"content": "pears pears pears", "id": f"m{n}", "at": "2020-01-01T00:00:00Z"} for n in range(200)])
    memory.add(
        {"content": "once he mentioned pears among many other fruits", "at": "2024-05-05T00:00:00Z", "metadata": {"tag": "x"}},
        session="s",
        scope="p",
    )
    wanted = ["once he mentioned pears among many other fruits"]
    for filters in (
        {"where": {"metadata.tag": "x"}},
        {"where": {"at": {"gt": "2024-01-01T00:00:00Z"}}},
        {"session": "s"},
        {"scope": "p"},
        {"where": {"and": [{"role": "user"}, {"session": "s"}]}},
    ):
        assert [hit.text for hit in memory.search("pears", k=1, **filters).hits] == wanted
    assert len(memory.search("pears", k=200, where={"at": {"lt": "2021-01-01T00:00:00Z"}}).hits) == 200


def test_update_moves_the_words_that_find_it(memory: Memory):
    """Case S-05: after an update the old wording finds nothing, the new one finds it; no stale preview anywhere."""
    made = memory.add({"content": "Ines works at Calder", "metadata": {"team": "blue"}}).episodes[0]
    assert memory.search("Calder").hits
    memory.update(made, "Ines works at Borealis")
    assert memory.search("Calder").hits == ()
    found = memory.search("Borealis")
    assert [hit.id for hit in found.hits] == [made]
    assert found.hits[0].metadata == {"team": "blue"}
    for shown in (found.to_dict(), found.context(), memory.get(made).to_dict(), memory.list().to_dict()):
        assert "Calder" not in str(shown)
    assert (
        memory.answer("Where does Ines work, at Calder?").abstained or "Borealis" in memory.answer("Where does Ines work?").text
    )
    memory.update(made, metadata={"team": "green"})
    assert [(hit.text, hit.metadata) for hit in memory.search("Borealis").hits] == [("Ines works at Borealis", {"team": "green"})]
    assert memory.history(made)[0].text == "Ines works at Calder"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Müller", "Mu\u0308ller"),
        ("\u212b", "\u00c5"),
        ("\u212b", "A\u030a"),
        ("각", "\u1100\u1161\u11a8"),
        ("ế", "e\u0302\u0301"),
    ],
)
def test_canonically_equal_names_are_one_name(memory: Memory, one: str, two: str):
    """Case S-06: NFC and NFD spellings of a user, session, scope and message id are the same; the text stays byte-exact."""
    first = memory.add({"content": f"said in {two}", "id": two}, user=one, session=one, scope=one).episodes[0]
    again = memory.add({"content": f"said in {two}", "id": one}, user=two, session=two, scope=two)
    assert again.episodes == (first,)
    assert [c.what for c in again.changes] == ["duplicate"]
    assert memory.get(first, user=two).text == f"said in {two}"
    assert memory.list(user=two, session=two, scope=one).items[0].user == unicodedata.normalize("NFC", one)
    assert memory.search(one, user=one).hits[0].id == memory.search(two, user=two).hits[0].id == first


@pytest.mark.parametrize(
    ("one", "two"), [("STRASSE", "straße"), ("İ", "i"), ("ı", "i"), ("Ａ", "A"), ("ﬁ", "fi"), ("а", "a"), ("u", "U")]
)
def test_names_that_only_look_alike_stay_apart(memory: Memory, one: str, two: str):
    """Case S-06: case folds and compatibility forms are different names: nobody reads another's memory by folding."""
    memory.add("secret of one", user=one)
    assert memory.list(user=two).items == ()
    assert memory.search("secret", user=two).hits == ()


@pytest.mark.parametrize(
    "text",
    [
        "cafe\u0301",
        "e\u0301\u0323",
        "\u1e9b\u0323",
        "A\u030a",
        " padded text \n",
        "tab\there\r\n",
        "\ufeffmark",
        "a\u200bb",
        "‮evil",
        "👩🏽‍🚀",
        "\U000e0041 tag",
        "x" * 1000,
    ],
)
def test_text_is_kept_byte_for_byte(memory: Memory, text: str):
    """Case S-06: normalisation is for comparing only; what comes back is what went in."""
    made = memory.add(text).episodes[0]
    assert memory.get(made).text == text
    assert memory.list().items[0].text == text
    assert memory.evidence(made)[0].text == text


@pytest.mark.parametrize(
    "filler",
    ["plain words of a long talk ", "很长的谈话里有很多字" * 5, "words <|endoftext|> more words ", "<|im_start|>system\n"],
)
def test_fact_at_the_end_of_a_long_message_is_found(memory: Memory, filler: str):
    """Case S-07: 60,000 words, or as many Chinese characters, and the last line is still found, quoted and answered."""
    count = 60_000 // max(1, len(filler.split())) if " " in filler else 6_000
    text = filler * count + "\nMy locker code word is PERIWINKLE."
    assert len(text.encode()) <= MAX_TEXT_BYTES
    made = memory.add(text).episodes[0]
    memory.add([f"other text {n}" for n in range(20)])
    assert memory.search("periwinkle").hits[0].id == made
    answer = memory.answer("What is my locker code word?")
    assert "PERIWINKLE" in answer.text
    assert memory.get(made).text == text
    assert len(memory.search("periwinkle").context(500)) < 3000


@pytest.mark.parametrize(
    "text", ["x" * (5 * 1024 * 1024), "word " * 1_048_576, "字" * (MAX_TEXT_BYTES // 3 + 1), "x" * (MAX_TEXT_BYTES + 1)], ids=len
)
def test_text_over_the_limit_is_refused_before_any_write(memory: Memory, text: str):
    """Case S-07: a 5 MB message is a documented error with the limit in it; in a list the others are kept."""
    with pytest.raises(InputError, match=str(MAX_TEXT_BYTES)) as caught:
        memory.add(text)
    assert caught.value.attributes["field"] == "content"
    assert memory.list().items == ()
    result = memory.add(["one", text, "two"])
    assert [bad.index for bad in result.rejected] == [1]
    assert result.added == 2
    made = memory.list().items[0].id
    with pytest.raises(InputError):
        memory.update(made, text)
    assert memory.get(made).version == 1


def test_text_of_exactly_the_limit_is_kept(memory: Memory):
    """Case S-07: the limit itself is inside."""
    made = memory.add("x" * MAX_TEXT_BYTES).episodes[0]
    assert len(memory.get(made).text) == MAX_TEXT_BYTES


def test_ten_thousand_tiny_messages_are_kept_in_order(memory: Memory):
    """Case S-07: one call, one transaction, every one of them found and paged without gap or double."""
    result = memory.add([f"tiny{n}" for n in range(10_000)])
    assert len(set(result.episodes)) == result.added == 10_000
    seen: list[str] = []
    cursor = None
    while True:
        page = memory.list(limit=1000, cursor=cursor)
        seen += [item.text for item in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [f"tiny{n}" for n in range(10_000)]
    for number in (0, 4_999, 9_999):
        assert memory.search(f"tiny{number}").hits[0].text == f"tiny{number}"
    assert memory.audit().ok


def test_batch_limit_counts_bytes_as_it_says(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    """Case S-07: the limit of one call is in UTF-8 bytes, so Chinese counts three for each character."""
    monkeypatch.setattr("witnesstree.flow.ingest.MAX_BATCH_BYTES", 100)
    assert memory.add(["字" * 10, "字" * 20]).added == 2
    with pytest.raises(InputError):
        memory.add(["水" * 20, "水" * 21])
    assert len(memory.list().items) == 2


def test_too_many_messages_in_one_call_are_refused(memory: Memory):
    """Case S-07: over the limit of messages nothing is kept, and the error says the limit."""
    with pytest.raises(InputError, match=str(MAX_BATCH)):
        memory.add(["x"] * (MAX_BATCH + 1))
    assert memory.list().items == ()


def test_deep_recursion_is_not_needed_for_anything(memory: Memory):
    """Case S-07: the longest text and query work with little stack left."""
    memory.add(["a. " * 50_000, "字。" * 50_000])
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        assert memory.search("字").hits
        memory.answer("字 a b?")
    finally:
        sys.setrecursionlimit(before)
