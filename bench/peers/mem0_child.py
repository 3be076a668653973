"""mem0 behind the protocol: ``infer=False`` (no language model), local Qdrant, the vectors of the parent."""

from __future__ import annotations

import os

os.environ["MEM0_TELEMETRY"] = "False"  # read at import

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from bench.peers.protocol import GivenVectors, serve

vectors = GivenVectors()


class Given(EmbeddingBase):
    """Hands out the parent's vectors."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a text."""
        return vectors.of(text)


class Mem0:
    """The model and the embedder of its configuration are never called; mem0 insists on having some."""

    def open(self, folder: str) -> None:
        """Open a store; the dimension is that of the first vectors."""
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        place = {"path": os.path.join(folder, "qdrant"), "embedding_model_dims": vectors.dim, "collection_name": "bench"}
        self._memory = Memory.from_config(
            {
                "llm": unused,
                "embedder": unused,
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": os.path.join(folder, "history.db"),
            }
        )
        self._memory.embedding_model = Given()

    def add(self, texts: list[str], user: str) -> list[str]:
        """Add a batch in one call."""
        done = self._memory.add([{"role": "user", "content": text} for text in texts], user_id=user, infer=False)
        return [row["id"] for row in done["results"]]

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Search with the defaults."""
        return [row["id"] for row in self._memory.search(query, filters={"user_id": user}, top_k=k)["results"]]

    def close(self) -> None:
        """Close the store."""
        self._memory.vector_store.client.close()
        self._memory.close()


serve(Mem0(), vectors)
