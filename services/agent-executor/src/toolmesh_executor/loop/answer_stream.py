"""The text of one turn on its way to those who read it."""

from toolmesh_executor.embeds.early import EarlyEmbeds, Growth
from toolmesh_executor.embeds.streamed_text import StreamedText
from toolmesh_executor.loop.journal import Journal
from toolmesh_executor.loop.records import TextDelta, TurnStatus
from toolmesh_executor.loop.text_pieces import TextPieces

__all__ = ["AnswerStream"]


class AnswerStream:
    """Writes down the text as people are to see it: in pieces, its embeds replaced. The model reads its own words.

    Args:
        journal: Where it is written down.
        turn: Whose text it is.
        piece_bytes: Least size of a piece.
        embeds: Know the values; None leaves the text as it is.
    """

    def __init__(self, journal: Journal, turn: int, piece_bytes: int, embeds: EarlyEmbeds | None) -> None:
        self._journal = journal
        self._turn = turn
        self._embeds = embeds
        self._pieces = TextPieces(piece_bytes, lambda text: journal.append(TextDelta(turn=turn, text=text)))
        self._statuses: list[str] = []
        self.forget()

    async def add(self, text: str) -> None:
        """Take what the model says next."""
        self._said.append(text)
        await self._pass_on(self._text.add(text))

    def forget(self) -> None:
        """Begin again: what the model said so far is void."""
        self._pieces.forget()
        self._statuses.clear()
        self._growth = Growth()
        self._text = StreamedText(self._replace)
        self._said: list[str] = []
        self._shown: list[str] = []

    async def finish(self, text: str) -> str:
        """Write down the rest, and return the whole text as people see it.

        Args:
            text: What the model has said, as it counts; empty or unlike the pieces, if those were cleaned.
        """
        await self._pass_on(self._text.finish())
        await self._pieces.flush()
        if "".join(self._said) == text:
            return "".join(self._shown)
        self._growth, whole = Growth(), StreamedText(self._replace)
        return whole.add(text) + whole.finish()

    async def _pass_on(self, shown: str) -> None:
        self._shown.append(shown)
        await self._pieces.add(shown)
        for status in self._statuses:
            # Behind the text that the model wrote before it.
            await self._pieces.flush()
            await self._journal.append(TurnStatus(turn=self._turn, text=status))
        self._statuses.clear()

    def _replace(self, text: str) -> str:
        return text if self._embeds is None else self._embeds.replace(text, self._statuses.append, self._growth)
