"""Every limit of the product in one place, with its unit."""

from __future__ import annotations

from typing import Final

MAX_TEXT_BYTES: Final = 1024 * 1024
"""One message or memory, UTF-8 bytes."""
MAX_NAME_BYTES: Final = 512
"""One id or name (user, agent, session, scope, speaker, message id), UTF-8 bytes."""
MAX_METADATA_BYTES: Final = 16 * 1024
"""Metadata of one message, bytes of canonical JSON."""
MAX_METADATA_DEPTH: Final = 8
"""Nesting of metadata, levels."""
MAX_BATCH: Final = 100_000
"""Messages in one call of ``add``."""
MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Text of one call of ``add``, UTF-8 bytes."""
MAX_QUERY_CHARS: Final = 100_000
"""One query, characters; of its words the first ``MAX_QUERY_TERMS`` distinct ones are used."""
MAX_QUERY_TERMS: Final = 256
"""Distinct words of one query."""
MAX_DIMENSIONS: Final = 16_384
"""Components of one vector."""
MAX_RESULTS: Final = 1000
"""Largest ``k`` of ``search`` and ``limit`` of ``list``."""
MAX_BUDGET_TOKENS: Final = 1_000_000
"""Largest token budget of a context."""
MAX_WHERE_TERMS: Final = 32
"""Comparisons in one ``where`` filter."""
MAX_WHERE_OPTIONS: Final = 1000
"""Values in one ``in`` of a ``where`` filter."""
MIN_YEAR: Final = 1900
"""First year an instant may lie in."""
MAX_YEAR: Final = 2199
"""Last year an instant may lie in."""
MAX_IMPORT_LINE_BYTES: Final = 4 * 1024 * 1024
"""One line of an imported file, bytes."""
BUSY_TIMEOUT_S: Final = 10.0
"""How long a writer waits for another process's write before it gives up with a retryable error, seconds."""
MAX_VIEWS: Final = 64
"""Owners whose verified view one process keeps in memory."""
CACHE_MIN_ROWS: Final = 2000
"""An owner's sealed cache file is written from this many rows on."""
