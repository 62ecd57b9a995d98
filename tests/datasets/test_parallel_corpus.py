import gzip

import pytest

from keras_slstm.datasets import load_parallel_corpus, read_aligned_lines, travel_desk
from keras_slstm.datasets.office_notes import SPLITS, generate_notes
from keras_slstm.errors import DataError


def write(path, *lines, end=b"\n"):
    path.write_bytes(b"".join(line.encode() + end if isinstance(line, str) else line + b"\n" for line in lines))
    return path


def test_the_generated_corpus_needs_nothing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorflow_datasets", None)
    corpus = load_parallel_corpus()
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == list(SPLITS.values())
    note = generate_notes(1)[0]
    assert (corpus.train.sources[0], corpus.train.targets[0]) == (note.english, note.german)
    backwards = load_parallel_corpus("office_notes/to_words", source="de")
    note = generate_notes(1, task="to_words")[0]
    assert (backwards.train.sources[0], backwards.train.targets[0]) == (note.german, note.english)


@pytest.mark.parametrize("config", ["to_figures", "to_words"])
def test_the_builder_has_the_same_notes(config, tmp_path, monkeypatch):
    tfds = pytest.importorskip("tensorflow_datasets")
    from keras_slstm.datasets import office_notes
    from keras_slstm.datasets.builders import OfficeNotes

    monkeypatch.setattr(office_notes, "SPLITS", {"train": 20, "validation": 5, "test": 5})
    builder = OfficeNotes(config=config, data_dir=tmp_path)
    builder.download_and_prepare()
    assert builder.info.supervised_keys == ("en", "de")
    found = {(row["en"].decode(), row["de"].decode()) for row in tfds.as_numpy(builder.as_dataset(split="train"))}
    assert found == {(note.english, note.german) for note in generate_notes(20, task=config)}


@pytest.fixture(scope="module")
def translations(tmp_path_factory):
    """A TFDS data set with a translation feature, prepared in a folder."""
    tfds = pytest.importorskip("tensorflow_datasets")

    class TinyTalks(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            features = tfds.features.Translation(languages=("de", "en"))
            return tfds.core.DatasetInfo(builder=self, features=features, supervised_keys=("de", "en"))

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples(20), "test": self._generate_examples(3)}

        def _generate_examples(self, count):
            for i in range(count):
                yield i, {"de": f"Zug {i}", "en": " " if i == 7 else f"train {i}"}

    return tmp_path_factory.mktemp("tfds")


def test_sets_of_tfds(translations):
    corpus = load_parallel_corpus("tiny_talks", data_dir=translations)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (17, 2, 3)  # one is empty
    assert dict(zip(corpus.test.sources, corpus.test.targets)) == {f"Zug {i}": f"train {i}" for i in range(3)}
    backwards = load_parallel_corpus("tiny_talks", data_dir=translations, target="de")
    assert dict(zip(backwards.test.sources, backwards.test.targets)) == {f"train {i}": f"Zug {i}" for i in range(3)}
    with pytest.raises(ValueError, match=r'no texts in "fr"\. Its languages: de, en'):
        load_parallel_corpus("tiny_talks", data_dir=translations, source="fr")
    with pytest.raises(ValueError, match="the same language"):
        load_parallel_corpus("tiny_talks", data_dir=translations, source="de", target="de")


def test_sets_without_translations(tmp_path, monkeypatch):
    pytest.importorskip("tensorflow_datasets")
    monkeypatch.setattr(travel_desk, "SPLITS", {"train": 3})
    with pytest.raises(ValueError, match='not a data set of translations: its features are "text", "tokens"'):
        load_parallel_corpus("travel_desk", data_dir=tmp_path)
    with pytest.raises(ValueError, match="nowhere"):
        load_parallel_corpus("nowhere", data_dir=tmp_path)
    with pytest.raises(ValueError, match="to_letters"):
        load_parallel_corpus("office_notes/to_letters")
    with pytest.raises(ValueError, match="`validation_paths` and `test_paths` need a file as `name`"):
        load_parallel_corpus("office_notes", test_paths=("a", "b"))


def test_own_files(tmp_path):
    """Lines end only at line feeds; missing splits are drawn."""
    sources = write(tmp_path / "a.en", *[f"line\u2028 {i}\u0085" for i in range(20)], end=b"\r\n")
    targets = tmp_path / "a.de.gz"
    targets.write_bytes(gzip.compress("".join(f"Zeile {i}\n" for i in range(20)).encode()))
    corpus = load_parallel_corpus((sources, targets))
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [16, 2, 2]
    pairs = [pair for p in (corpus.train, corpus.validation, corpus.test) for pair in zip(p.sources, p.targets)]
    assert sorted(pairs) == sorted((f"line\u2028 {i}\u0085", f"Zeile {i}") for i in range(20))
    given = load_parallel_corpus((sources, targets), test_paths=(sources, targets))
    assert (len(given.train), len(given.validation), len(given.test)) == (18, 2, 20)


@pytest.mark.parametrize(
    ("english", "german", "message"),
    [
        (["a", "b", "c"], ["x", "y"], r"a\.en:3: no translation in .*a\.de, which has 2 lines; this file has 3"),
        (["a"], ["x", "y"], r"a\.de:2: no translation in .*a\.en, which has 1 lines"),
        (["a", " "], ["x", "y"], r"a\.en:2: the line is empty"),
        (["a", "b"], ["x", ""], r"a\.de:2: the line is empty"),
        (["a", "b"], ["x", b"\xff"], r"a\.de:2: not UTF-8"),
        ([], [], r"a\.en:1: the file is empty"),
    ],
)
def test_malformed_files_are_named_with_their_line(english, german, message, tmp_path):
    paths = write(tmp_path / "a.en", *english), write(tmp_path / "a.de", *german)
    with pytest.raises(DataError, match=message):
        read_aligned_lines(*paths)


def test_lines_that_are_empty_in_both_files_are_skipped(tmp_path):
    paths = write(tmp_path / "a.en", "a", "", "b", "", ""), write(tmp_path / "a.de", "x", " ", "y")
    pairs = read_aligned_lines(*paths)
    assert (pairs.sources, pairs.targets) == (["a", "b"], ["x", "y"])


def test_malformed_lines_can_be_skipped_with_their_translation(tmp_path):
    paths = write(tmp_path / "a.en", "a", "", "c", "d"), write(tmp_path / "a.de", "x", "y", b"\xff", "z")
    with pytest.warns(UserWarning, match="left out: 1") as warnings:
        pairs = read_aligned_lines(*paths, on_error="skip")
    assert (pairs.sources, pairs.targets) == (["a", "d"], ["x", "z"])
    assert len(warnings) == 2  # one per file
    with pytest.raises(DataError, match="no text"), pytest.warns(UserWarning, match="left out"):
        read_aligned_lines(write(tmp_path / "b.en", " "), write(tmp_path / "b.de", "x"), on_error="skip")
    with pytest.raises(DataError, match="no translation"):
        read_aligned_lines(paths[0], write(tmp_path / "b.de", "x"), on_error="skip")
    with pytest.raises(FileNotFoundError):
        read_aligned_lines(tmp_path / "nowhere", paths[0])
