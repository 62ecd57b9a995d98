import numpy as np
import pytest

from keras_slstm import plots

pytestmark = pytest.mark.backends("tensorflow")  # no tensors: once is enough

pytest.importorskip("matplotlib", reason="pictures need the `plots` extra")


def test_confusion_matrix_is_written_atomically(tmp_path):
    path = tmp_path / "pictures" / "confusion.png"
    plots.confusion_matrix([[3, 1], [0, 5]], ["no", "yes"], path)
    first = path.read_bytes()
    assert first.startswith(b"\x89PNG")
    plots.confusion_matrix([[0, 4], [5, 0]], ["no", "yes"], path)
    assert path.read_bytes() != first
    assert [p.name for p in path.parent.iterdir()] == ["confusion.png"]


def test_a_failure_keeps_the_old_figure(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    path = tmp_path / "confusion.png"
    plots.confusion_matrix(np.eye(2, dtype=int), ["a", "b"], path)
    before = path.read_bytes()

    def fail(self, name, **kwargs):
        name.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        plots.confusion_matrix(np.ones((2, 2), int), ["a", "b"], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_notebook_without_pyplot_shows_them(tmp_path):
    figure = plots.depth_histogram([3, 1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_empty_rows_and_many_labels(tmp_path):
    plots.confusion_matrix(np.zeros((40, 40), int), [f"label {i}" for i in range(40)], tmp_path / "many.svg")
    assert b"<svg" in (tmp_path / "many.svg").read_bytes()


@pytest.mark.filterwarnings("ignore:Glyph")
def test_labels_are_shown_literally(tmp_path):
    """No formulas, one short line each."""
    labels = [r"$\frac{x$", "two\nlines", "\ud800", "long " * 1000, ""]
    plots.confusion_matrix(np.eye(5, dtype=int), labels, tmp_path / "confusion.svg")
    plots.transition_matrix(np.eye(5), labels, tmp_path / "transitions.svg")
    plots.word_depths([(labels, [1, 2, 3, 2, 1])], 3, tmp_path / "depths.svg")
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert text.count(r"<!-- $\frac{x$ -->") == text.count(r"<!-- two\nlines -->") > 0
        assert "<!-- long long long long long long long long… -->" in text


def test_wrong_shape(tmp_path):
    with pytest.raises(ValueError, match=r"\(2, 2\) for 2 labels"):
        plots.confusion_matrix(np.ones((3, 3)), ["a", "b"], tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_transition_matrix(tmp_path):
    labels = ["O", "B-x", "I-x"]
    scores = np.arange(9.0).reshape(3, 3)
    plots.transition_matrix(scores, labels, tmp_path / "free.svg")
    plots.transition_matrix(scores, labels, tmp_path / "bio.svg", scheme="BIO")
    free, bio = ((tmp_path / name).read_text() for name in ("free.svg", "bio.svg"))
    assert "<!-- 2.0 -->" in free  # from O to I-x
    assert "<!-- 2.0 -->" not in bio
    assert "<!-- 5.0 -->" in bio  # from B-x to I-x
    assert scores[0, 2] == 2.0  # what was given is left as it is
    plots.transition_matrix(np.zeros((30, 30)), [str(i) for i in range(30)], tmp_path / "many.png")
    with pytest.raises(ValueError, match=r"\(3, 3\) for 3 labels, but has \(2, 2\)"):
        plots.transition_matrix(np.ones((2, 2)), labels, tmp_path / "x.png")
    with pytest.raises(ValueError, match="NOUN"):
        plots.transition_matrix(np.ones((2, 2)), ["O", "NOUN"], tmp_path / "x.png", scheme="BIO")
    assert not (tmp_path / "x.png").exists()


def test_with_many_labels_the_most_confused_are_shown(tmp_path):
    counts = 10 * np.eye(40, dtype=int)
    counts[3, 7] = counts[30, 3] = 4
    figure = plots.confusion_matrix(counts, [f"label {i}" for i in range(40)])
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert len(names) == 25
    assert names[-1] == "16 others"
    assert {"label 3", "label 7", "label 30"} <= {*names}
    numbers = [int(text.get_text()) for text in figure.axes[0].texts]
    assert sum(numbers) == counts.sum()


def test_a_forbidden_transition_differs_from_a_score_of_zero(tmp_path):
    labels = ["O", "B-x", "I-x"]
    figure = plots.transition_matrix(np.zeros((3, 3)), labels, scheme="BIO")
    axes = figure.axes[0]
    figure.canvas.draw()
    shown = {axes.images[0].cmap(axes.images[0].norm(0.0)), axes.get_facecolor()}
    assert len(shown) == 2
    assert np.isnan(axes.images[0].get_array().filled(np.nan)[0, 2])  # from O to I-x
    assert axes.get_title(loc="right") == "grey: forbidden"
    free = plots.transition_matrix(np.zeros((3, 3)), labels)
    assert free.axes[0].get_title(loc="right") == ""


def test_gate_histograms(tmp_path):
    counts = np.arange(30).reshape(3, 10)
    plots.gate_histograms({2: counts, 3: counts + 1}, tmp_path / "gates.png")
    assert (tmp_path / "gates.png").read_bytes().startswith(b"\x89PNG")
    plots.gate_histograms({2: np.zeros((3, 10))}, tmp_path / "empty.png")
    for layers in ({}, {2: counts[:2]}):
        with pytest.raises(ValueError, match=r"\(3, bins\)"):
            plots.gate_histograms(layers, tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_depths_of_words(tmp_path):
    sentences = [(["a", "$x^", "b"] * 20, [1, 2, 3] * 20), (["c"], [3])]
    plots.word_depths(sentences, 3, tmp_path / "depths.png")
    assert (tmp_path / "depths.png").read_bytes().startswith(b"\x89PNG")
    for name in ("words_per_line", "words_a_line"):  # the second is the former name
        figure = plots.word_depths([(["a", "b", "c"], [1, 2, 3])], 3, **{name: 2})
        assert len(figure.axes) == 2 + 1  # two lines, and the colour bar
    plots.depth_histogram([3, 0, 2], tmp_path / "histogram.svg")
    assert b"<svg" in (tmp_path / "histogram.svg").read_bytes()
    with pytest.raises(ValueError, match="1 words with depths of shape"):
        plots.word_depths([(["a"], [1, 2])], 3, tmp_path / "depths.png")
    with pytest.raises(ValueError, match="at least one sentence"):
        plots.word_depths([], 3, tmp_path / "depths.png")
    with pytest.raises(ValueError, match="max_depth"):
        plots.depth_histogram([[1]], tmp_path / "depths.png")


def test_learning_curve(tmp_path):
    history = {"loss": [0.9, 0.5], "development accuracy": [0.7, float("nan")], "learning rate": [0.1, 0.1]}
    plots.learning_curve(history, 1, tmp_path / "curve.svg")
    assert b"<svg" in (tmp_path / "curve.svg").read_bytes()
    plots.learning_curve({"loss": [0.9]}, 0, tmp_path / "curve.png")
    with pytest.raises(ValueError, match="no epoch"):
        plots.learning_curve({"learning rate": [0.1], "loss": []}, 0, tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()
