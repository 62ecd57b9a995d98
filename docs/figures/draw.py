"""Draws the architectures of the encoders and of the CRF as SVG: `python docs/figures/draw.py`.

Each encoder's panel shows five words and what the encoder reads to compute them. The panel of the CRF shows the label
sequences that it compares. `encoders.svg` combines the panels of the encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

WIDTH, HEIGHT = 460, 250
INK, SOFT, WORD, STATE, SENTENCE, STRONG = "#2b2d42", "#8d99ae", "#edf2f4", "#cfe3f5", "#ffe0a3", "#d1495b"
WORDS = ("not", "a", "bad", "film", ".")
COLUMNS = [70 + 80 * i for i in range(5)]


class Panel:
    """Collects the shapes of one panel; the origin is its upper left corner."""

    def __init__(self, title: str):
        self.shapes: list[str] = []
        self.text(WIDTH / 2, 22, title, size=16, weight="600")

    def text(self, x: float, y: float, text: str, size: int = 12, weight: str = "400", color: str = INK) -> None:
        """Write centred text."""
        self.shapes.append(
            f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{color}" '
            f'text-anchor="middle">{text}</text>'
        )

    def box(self, x: float, y: float, label: str = "", fill: str = STATE, width: float = 40) -> None:
        """Draw a rounded box around its centre."""
        self.shapes.append(
            f'<rect x="{x - width / 2}" y="{y - 13}" width="{width}" height="26" rx="7" fill="{fill}" '
            f'stroke="{INK}" stroke-width="1"/>'
        )
        if label:
            self.text(x, y + 4, label)

    def arrow(self, x1: float, y1: float, x2: float, y2: float, color: str = SOFT, width: float = 1.4) -> None:
        """Draw a line with a head at its end."""
        self.shapes.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="{width}" '
            f'marker-end="url(#{"strong" if color == STRONG else "soft"})"/>'
        )

    def words(self, y: float = 225) -> None:
        """Write the words below the columns."""
        for x, word in zip(COLUMNS, WORDS, strict=True):
            self.text(x, y, word, size=13)


def slstm() -> Panel:
    """Draw one step: a word reads its neighbours, itself and the sentence; the sentence reads all words."""
    panel = Panel("S-LSTM: words and sentence, step by step")
    low, high, g = 180, 110, COLUMNS[-1]
    for before in (COLUMNS[1], COLUMNS[2], COLUMNS[3]):
        panel.arrow(before, low - 14, COLUMNS[2] + (before - COLUMNS[2]) * 0.12, high + 15, STRONG, 1.8)
    for x in COLUMNS[:4]:
        panel.arrow(x, low - 14, g - 34, 66, SOFT, 1)
    panel.arrow(g, low - 14, COLUMNS[2] + 22, high + 12, STRONG, 1.8)
    panel.arrow(g, low - 14, g, 72, SOFT, 1)
    for x, name in zip(COLUMNS[:4], ("h₁", "h₂", "h₃", "h₄"), strict=True):
        panel.box(x, low, name)
        panel.box(x, high, name + "′")
    panel.box(g, low, "g", SENTENCE)
    panel.box(g, 58, "g′", SENTENCE)
    for x, word in zip(COLUMNS[:4], WORDS[:4], strict=True):
        panel.text(x, 225, word, size=13)
    panel.text(g, 225, "sentence", size=13)
    return panel


def cas_lstm() -> Panel:
    """Draw two layers: the upper layer reads the cell of the layer below as well as the cell on its left."""
    panel = Panel("CAS-LSTM: cells pass upwards, too")
    low, high = 170, 85
    for i, x in enumerate(COLUMNS):
        panel.arrow(x, 208, x, low + 16)
        panel.arrow(x - 8, low - 14, x - 8, high + 16)
        panel.arrow(x + 8, low - 14, x + 8, high + 16, STRONG, 1.8)
        if i:
            panel.arrow(COLUMNS[i - 1] + 21, low, x - 24, low)
            panel.arrow(COLUMNS[i - 1] + 21, high, x - 24, high)
        panel.box(x, low, "h, c")
        panel.box(x, high, "h, c")
    panel.text(COLUMNS[0] - 24, 132, "h", color=SOFT)
    panel.text(COLUMNS[0] + 28, 132, "λ g c", color=STRONG)
    panel.words()
    return panel


def subilstm() -> Panel:
    """Draw the prefix and the suffix of the middle word, read from left to right."""
    panel = Panel("SuBiLSTM: all before, all after")
    prefix, suffix, out = 178, 132, 72
    for i, x in enumerate(COLUMNS):
        if i <= 2:
            panel.box(x, prefix, fill=STATE, width=34)
        if i >= 2:
            panel.box(x, suffix, fill=SENTENCE, width=34)
        if 0 < i <= 2:
            panel.arrow(COLUMNS[i - 1] + 18, prefix, x - 21, prefix)
        if i > 2:
            panel.arrow(COLUMNS[i - 1] + 18, suffix, x - 21, suffix)
    panel.text(COLUMNS[0] + 34, prefix - 20, "prefix of “bad”", color=SOFT)
    panel.text(COLUMNS[4] - 30, suffix + 30, "suffix of “bad”", color=SOFT)
    panel.arrow(COLUMNS[2] - 24, prefix - 10, COLUMNS[2] - 24, out + 16, STRONG, 1.8)
    panel.arrow(COLUMNS[4], suffix - 14, COLUMNS[2] + 34, out + 6, STRONG, 1.8)
    panel.box(COLUMNS[2], out, "max", WORD, width=56)
    panel.words()
    return panel


def depth_adaptive_grn() -> Panel:
    """Draw words that stop after different numbers of steps."""
    panel = Panel("Depth-adaptive GRN: as many steps as needed")
    depths = (4, 1, 4, 2, 1)
    for x, depth in zip(COLUMNS, depths, strict=True):
        for level in range(4):
            y = 190 - 40 * level
            if level < depth:
                panel.box(x, y, str(level + 1), STATE)
                if level:
                    panel.arrow(x, y + 40 - 14, x, y + 16)
            else:
                panel.shapes.append(
                    f'<line x1="{x}" y1="{y + 26}" x2="{x}" y2="{y + 6}" stroke="{SOFT}" stroke-dasharray="2 4"/>'
                )
    panel.words()
    return panel


def crf() -> Panel:
    """Draw all label sequences of five words, and the best one."""
    panel = Panel("CRF: a score for every sequence of labels")
    words, labels = ("Ada", "Lovelace", "met", "Charles", "Babbage"), ("B-PER", "I-PER", "O")
    heights = (70, 120, 170)
    best = (0, 1, 2, 0, 1)
    for i, x in enumerate(COLUMNS):
        for j, y in enumerate(heights):
            for k, before in enumerate(heights):
                forbidden = labels[k] == "O" and labels[j] == "I-PER"
                if i and not forbidden and (k, j) != (best[i - 1], best[i]):
                    panel.arrow(COLUMNS[i - 1] + 26, before, x - 29, y, SOFT, 0.8)
    for i, x in enumerate(COLUMNS):
        if i:
            panel.arrow(COLUMNS[i - 1] + 26, heights[best[i - 1]], x - 29, heights[best[i]], STRONG, 2.2)
        for j, y in enumerate(heights):
            panel.box(x, y, labels[j], SENTENCE if best[i] == j else STATE, width=50)
        panel.text(x, 225, words[i], size=13)
    return panel


PANELS: dict[str, Callable[[], Panel]] = {
    "slstm": slstm,
    "cas_lstm": cas_lstm,
    "subilstm": subilstm,
    "depth_adaptive_grn": depth_adaptive_grn,
}


def svg(panels: list[Panel], columns: int) -> str:
    """Arrange panels in rows, as one SVG."""
    rows = -(-len(panels) // columns)
    head = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{color}"/></marker>'
        for name, color in (("soft", SOFT), ("strong", STRONG))
    )
    groups = "\n".join(
        f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">\n'
        + "\n".join(panel.shapes)
        + "\n</g>"
        for i, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * WIDTH} {rows * HEIGHT}" '
        f'width="{columns * WIDTH}" font-family="Helvetica, Arial, sans-serif">\n<defs>{head}</defs>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{groups}\n</svg>\n'
    )


if __name__ == "__main__":
    folder = Path(__file__).parent
    made = {name: make() for name, make in PANELS.items()}
    for name, panel in {**made, "crf": crf()}.items():
        (folder / f"{name}.svg").write_text(svg([panel], 1), encoding="utf-8")
    (folder / "encoders.svg").write_text(svg(list(made.values()), 2), encoding="utf-8")
