"""Embedders behind an OpenAI-compatible ``/embeddings``: ``openai:MODEL``, ``http://HOST:PORT/PATH#MODEL``, ``https://…#MODEL``.

Making one sends nothing. What is wrong with a name is said then; what is wrong with a key, when it is first needed, so that a
store can be opened, audited and exported without it (``docs/embedders.md``).
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import AccessError, InputError, ProviderError
from witnesstree.providers.client import Client, Endpoint
from witnesstree.types.limits import MAX_DIMENSIONS
from witnesstree.types.settings import Settings

OPENAI: Final = "openai:"
OPENAI_BASE: Final = "https://api.openai.com/v1"
PATH: Final = "/embeddings"
FLOOR: Final = 0.8
"""Cosine floor of a model of which nothing is known: of many models even unrelated texts have 0.5 to 0.75."""
OPENAI_FLOORS: Final = {"text-embedding-3-small": 0.4, "text-embedding-3-large": 0.4}
BATCH: Final = 64
"""Texts in one request."""
BATCH_BYTES: Final = 240_000
"""Text in one request, UTF-8 bytes; a token is a byte or more."""
TEXT_BYTES: Final = 8_000
"""A longer text is cut to its first whole characters within this many UTF-8 bytes: never more tokens than 8,000."""
QUERY_S: Final = 10.0
"""How long a search waits for the vector of its question, tries included, before it goes by words, seconds."""
MAX_COMPONENT: Final = 1e6
_MODEL: Final = re.compile(r"[!-~]{1,200}")
_KEY: Final = re.compile(r"[!-~]{1,4096}")
_MAX_ID: Final = 64


def make_remote(name: str, settings: Settings) -> RemoteEmbedder:
    """Return the embedder of a name; nothing is sent.

    Raises:
        InputError: the name has no model, or no URL that can be used. The message does not repeat it.
    """
    if name.startswith(OPENAI):
        model, key, variable = name.removeprefix(OPENAI), settings.openai_key, "OPENAI_API_KEY"
        base, field = settings.openai_base or OPENAI_BASE, "OPENAI_BASE_URL" if settings.openai_base else "embedder"
        floor = OPENAI_FLOORS.get(model, FLOOR)
    else:
        base, _, model = name.partition("#")
        key, variable, field, floor = settings.embedder_key, "WITNESSTREE_EMBEDDER_KEY", "embedder", FLOOR
    if not _MODEL.fullmatch(model):
        raise InputError("embedder names no model: openai:MODEL, or http://HOST:PORT/PATH#MODEL", field="embedder")
    endpoint = Endpoint.of(base, field).below(PATH)
    key = key.strip()
    refusal = ""
    if not key and name.startswith(OPENAI):
        refusal = f"the embedder {OPENAI}{model} needs a key: set {variable}"
    elif key and not _KEY.fullmatch(key):
        refusal = f"{variable} holds something that is no key: set it again"
    elif key and not endpoint.is_secure and not endpoint.is_this_machine:
        refusal = f"the key in {variable} would cross the network unencrypted: use an https URL, or unset it"
    headers = {"Authorization": f"Bearer {key}"} if key and not refusal else {}
    kind = OPENAI if name.startswith(OPENAI) else "http:"
    return RemoteEmbedder(
        kind, model, Client(endpoint, headers), floor=_floor_of(settings.embedder_floor) or floor, refusal=refusal
    )


def _floor_of(text: str) -> float:
    try:
        floor = float(text) if text else 0.0
    except ValueError:
        floor = -1.0
    if not 0.0 <= floor < 1.0:
        field = "WITNESSTREE_EMBEDDER_FLOOR"
        raise InputError(f"{field} must be a number above 0 and below 1", field=field)
    return floor


class RemoteEmbedder:
    """Asks a provider for the vectors of texts. What it answers is checked: count, order, numbers, dimension, model."""

    is_remote = True

    def __init__(self, kind: str, model: str, client: Client, *, floor: float = FLOOR, refusal: str = "") -> None:
        """Ask nothing yet.

        Args:
            kind: ``openai:`` or ``http:``, the first part of the id.
            model: the model's name, printable ASCII.
            client: posts to the provider.
            floor: the cosine below which two texts have nothing in common.
            refusal: why it can't be used with the settings that there are.
        """
        self.id = short_id(kind + model)
        self.floor = floor
        self.client = client
        self._model = model
        self._refusal = refusal
        self._lock = threading.Lock()
        self._dim = 0

    @property
    def dim(self) -> int:
        """Number of components: that of the first answer, which the others must have too; 0 before."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a text, shape [n, dim]; all zero for a blank text, which is not sent.

        Raises:
            AccessError: a key is missing, or can't be used. ProviderError: the provider fails, or what it answers is wrong.
        """
        return self._vectors(texts, None)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [dim]; see ``embed``. It waits for ``QUERY_S`` at most."""
        vector: NDArray[np.float32] = self._vectors([text], QUERY_S)[0]
        return vector

    def _vectors(self, texts: Sequence[str], total_s: float | None) -> NDArray[np.float32]:
        if self._refusal:
            raise AccessError(self._refusal, reason="embedder_key")
        found: dict[int, NDArray[np.float32]] = {}
        for places, batch in _batches(texts):
            answer = self.client.post({"model": self._model, "input": batch}, total_s=total_s)
            found |= zip(places, self._read(answer, len(batch)), strict=True)
        vectors = np.zeros((len(texts), self._dim), np.float32)
        for place, vector in found.items():
            vectors[place] = vector
        return vectors

    def _read(self, answer: dict[str, Any], count: int) -> list[NDArray[np.float32]]:
        """Return the vectors of an answer in the order of the texts."""
        shown = answer.get("model")
        if shown is not None and not _is_same_model(self._model, shown):
            raise self._wrong("wrong_model", f"answers for another model than {self._model}; name the one that it has")
        data = answer.get("data")
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise self._wrong("wrong_answer", "answers without a list of embeddings; check the URL")
        if len(data) != count:
            raise self._wrong("wrong_count", f"answers with {len(data)} embeddings for {count} texts")
        by_place = {item["index"]: item.get("embedding") for item in data if type(item.get("index")) is int}
        if sorted(by_place) != list(range(count)):
            raise self._wrong("wrong_order", f"does not number its {count} embeddings from 0 to {count - 1}")
        return [self._checked(by_place[place]) for place in range(count)]

    def _checked(self, numbers: object) -> NDArray[np.float32]:
        """Return a vector of length 1, or all zero, made of what stands in an answer."""
        if (
            not isinstance(numbers, list)
            or not 1 <= len(numbers) <= MAX_DIMENSIONS
            or not set(map(type, numbers)) <= {int, float}
        ):
            raise self._wrong("wrong_vector", f"answers with an embedding that is no list of 1 to {MAX_DIMENSIONS} numbers")
        if not all(-MAX_COMPONENT <= number <= MAX_COMPONENT for number in numbers):
            raise self._wrong("wrong_vector", "answers with an embedding of numbers that are not finite, or huge")
        with self._lock:
            self._dim = self._dim or len(numbers)
        if len(numbers) != self._dim:
            raise self._wrong("wrong_dimension", f"answers with {len(numbers)} numbers an embedding; it had {self._dim} before")
        values = np.array(numbers, np.float64)
        length = float(np.linalg.norm(values))
        return (values / length if length > 1e-9 else np.zeros_like(values)).astype(np.float32)

    def _wrong(self, reason: str, message: str) -> ProviderError:
        return ProviderError(f"{self.client.endpoint} {message}", reason=reason)


def short_id(name: str) -> str:
    """Return a name of printable ASCII, with a digest for its end if it has more than 64 characters."""
    if len(name) <= _MAX_ID:
        return name
    return f"{name[: _MAX_ID - 17]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _is_same_model(asked: str, shown: object) -> bool:
    """Return whether an answer is of the model that was asked for: the same name, or one with a version or path added to it."""
    if not isinstance(shown, str):
        return False
    return shown == asked or shown.startswith((f"{asked}-", f"{asked}:", f"{asked}@")) or shown.endswith(f"/{asked}")


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Yield (places, texts) of each request: what is not blank, cut to ``TEXT_BYTES``."""
    places: list[int] = []
    batch: list[str] = []
    size = 0
    for place, text in enumerate(texts):
        if not text.strip():
            continue
        data = text[:TEXT_BYTES].encode(errors="replace")
        if len(batch) == BATCH or (batch and size + min(len(data), TEXT_BYTES) > BATCH_BYTES):
            yield places, batch
            places, batch, size = [], [], 0
        cut = data[:TEXT_BYTES].decode(errors="ignore")
        places.append(place)
        batch.append(cut)
        size += len(cut.encode())
    if batch:
        yield places, batch
