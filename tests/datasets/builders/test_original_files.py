"""The common behaviour of data sets that are read from original files, tested on examples."""

import functools
import importlib.util
import os
import urllib.request
from pathlib import Path

import pytest

tfds = pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets import builders, load_corpus, prepared  # noqa: E402
from keras_slstm.datasets.builders import FduMtl, MovieReview, Subj, Trec  # noqa: E402
from keras_slstm.datasets.builders.original_files import Originals, published_lines  # noqa: E402
from keras_slstm.errors import DataError  # noqa: E402
from tests.datasets.builders import original_files  # noqa: E402

SENTENCES = {"pos": ["a fine film .", "très bien … really"], "neg": ["dull .", "a café\u0085of boredom"]}
EXPECTED = sorted((label, text) for label, texts in SENTENCES.items() for text in texts)


@pytest.fixture(autouse=True)
def two_sentences_no_network(monkeypatch):
    monkeypatch.setattr(MovieReview, "SENTENCES", 2)
    original_files.refuse_network(monkeypatch)


@pytest.fixture
def write(tmp_path):
    def write(folder="manual", suffix="", encoding="utf-8", sentences=SENTENCES):
        for label, texts in sentences.items():
            path = tmp_path / folder / f"rt-polarity.{label}{suffix}"
            original_files.write(path, [text + " " for text in texts], encoding)
        return tmp_path / folder

    return write


def prepare(manual_dir, data_dir):
    return original_files.rows(original_files.prepare(MovieReview, data_dir, manual_dir), "train")


# --- finding the files --------------------


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("folder", ["", "mr", "rt-polaritydata"])
def test_reads_manual_dir(write, tmp_path, suffix, folder):
    write(f"manual/{folder}", suffix)
    assert prepare(tmp_path / "manual", tmp_path / "data") == EXPECTED


def test_the_folder_of_the_data_set_takes_precedence(write, tmp_path):
    write("manual", sentences={"pos": ["not", "these"], "neg": ["nor", "those"]})
    write("manual/mr")
    assert prepare(tmp_path / "manual", tmp_path / "data") == EXPECTED


def test_files_of_two_folders_are_not_mixed(write, tmp_path):
    write("manual", sentences={"pos": ["one", "two"]})
    write("manual/mr", sentences={"neg": ["one", "two"]})
    with pytest.raises(FileNotFoundError, match=r"missing: rt-polarity\.pos"):
        prepare(tmp_path / "manual", tmp_path / "data")


def test_a_data_set_may_have_other_file_names(monkeypatch, tmp_path):
    monkeypatch.setattr(Subj, "SENTENCES", 1)
    for place, names in (
        ("a", ("subj.objective", "subj.subjective")),
        ("b", ("plot.tok.gt9.5000", "quote.tok.gt9.5000")),
    ):
        for name, text in zip(names, ("he leaves .", "he is fine .")):
            original_files.write(tmp_path / place / "subj" / name, [text])
        builder = original_files.prepare(Subj, tmp_path / f"data_{place}", tmp_path / place)
        assert original_files.rows(builder, "train") == [("objective", "he leaves ."), ("subjective", "he is fine .")]


def test_two_processes_can_prepare_the_same_data_set(write, monkeypatch, tmp_path):
    prepare = functools.partial(prepared.prepare, "movie_review", tmp_path / "data", write())
    read, others = MovieReview._read, []

    def read_slowly(builder, files):
        monkeypatch.setattr(MovieReview, "_read", read)
        others.append(prepare())  # the other process starts later and is ready first
        return read(builder, files)

    monkeypatch.setattr(MovieReview, "_read", read_slowly)
    assert [original_files.rows(builder, "train") for builder in (prepare(), *others)] == [EXPECTED] * 2
    assert len(list((tmp_path / "data").rglob("*.array_record*"))) == 1


@pytest.mark.parametrize("manual_dir", ["missing", "empty", "half"])
def test_without_files_and_network_the_error_says_where_to_put_them(tmp_path, manual_dir):
    (tmp_path / "empty").mkdir()
    original_files.write(tmp_path / "half" / "rt-polarity.pos", ["one", "two"])
    with pytest.raises(FileNotFoundError, match=r"(?s)no network.*rt-polarity\.neg and rt-polarity\.pos.*http") as info:
        prepare(tmp_path / manual_dir, tmp_path / "data")
    assert ("(missing: rt-polarity.neg)" in str(info.value)) == (manual_dir == "half")


def test_the_error_names_the_files_of_the_configuration(tmp_path):
    with pytest.raises(FileNotFoundError, match="no network") as info:
        original_files.prepare(FduMtl, tmp_path, None, "baby")
    assert "Put baby.task.train and baby.task.test (plain" in str(info.value)
    assert "books" not in str(info.value)
    with pytest.raises(FileNotFoundError, match=r"Put books\.task\.train, .* \.\.\. MR\.task\.test \(32 files\)"):
        original_files.prepare(FduMtl, tmp_path, None, "all")


# --- reading them --------------------


def test_original_encoding_is_windows_1252(write, tmp_path):
    sentences = {"pos": ["a fine film .", "très bien … really"], "neg": ["dull .", "a café"]}
    manual_dir = write(encoding="cp1252", sentences=sentences)
    texts = dict.fromkeys(text for _, text in prepare(manual_dir, tmp_path / "data"))
    assert set(texts) == {text for group in sentences.values() for text in group}


def test_lines_of_both_encodings_in_one_file(tmp_path):
    content = b"\xef\xbb\xbf" + "naïve\n".encode() + "naïve\u0085\r\n".encode() + "naïve …".encode("cp1252")
    (tmp_path / "mixed").write_bytes(content)
    assert published_lines(tmp_path / "mixed") == ["naïve", "naïve\u0085", "naïve …"]


def test_bytes_in_neither_encoding_are_reported(write, tmp_path):
    manual_dir = write()
    (manual_dir / "rt-polarity.pos").write_bytes(b"fine\nb\x81d\n")
    with pytest.raises(DataError, match=r"rt-polarity\.pos:2: neither UTF-8 nor Windows-1252: byte 0x81"):
        prepare(manual_dir, tmp_path / "data")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["one"], r"rt-polarity\.neg:1: expected 2 sentences, found 1"),
        (["one", "two", "three"], r"rt-polarity\.neg:3: expected 2 sentences, found 3"),
        (["one", " "], r"rt-polarity\.neg:2: expected a sentence, but the line is empty"),
        ([], r"rt-polarity\.neg:1: the file is empty"),
    ],
)
def test_malformed_files_are_named_and_nothing_is_prepared(write, tmp_path, texts, message):
    manual_dir = write(sentences=SENTENCES | {"neg": texts})
    with pytest.raises(DataError, match=message):
        prepare(manual_dir, tmp_path / "data")
    write()
    assert prepare(manual_dir, tmp_path / "data") == EXPECTED


# --- prepared data --------------------


def test_changed_files_are_not_mistaken_for_the_prepared_ones(write, tmp_path):
    manual_dir = write()
    assert prepare(manual_dir, tmp_path / "data") == EXPECTED
    assert prepare(write("again", ".gz"), tmp_path / "data") == EXPECTED  # the same sentences
    other = write("other", sentences=SENTENCES | {"neg": ["quite", "different"]})
    with pytest.raises(ValueError, match=r"was prepared from other files than those in .*other"):
        prepare(other, tmp_path / "data")
    assert prepare(tmp_path / "no_files_there", tmp_path / "data") == EXPECTED


def test_prepared_data_can_be_overwritten(write, tmp_path):
    prepare(write(), tmp_path / "data")
    builder = MovieReview(data_dir=tmp_path / "data")
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(
            manual_dir=write("other", sentences=SENTENCES | {"neg": ["quite", "different"]}),
            download_mode=tfds.GenerateMode.REUSE_CACHE_IF_EXISTS,
        )
    )
    assert ("neg", "quite") in original_files.rows(builder, "train")


# --- downloading --------------------


@pytest.fixture
def network(monkeypatch):
    """Replaces downloads by the return values of the test, and yields the requested addresses."""
    asked = []

    class Reply:
        def close(self):
            pass

    def urlopen(request, timeout):
        assert request.method == "HEAD"
        asked.append(request.full_url)
        return Reply()

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)

    def returns(download):
        def download_and_extract(self, addresses):
            asked.append(addresses)
            return download(addresses)

        monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", download_and_extract)
        return asked

    return returns


def test_downloads_an_archive(write, tmp_path, network):
    archive = write("archive/rt-polaritydata").parent
    asked = network(lambda address: archive)
    assert prepare(None, tmp_path / "data") == EXPECTED
    assert asked == [MovieReview.ORIGINALS[0].source] * 2


def test_an_archive_without_the_files_is_named(write, tmp_path, network):
    network(lambda address: write("archive", sentences={"pos": ["one", "two"]}))
    with pytest.raises(FileNotFoundError, match=r"archive http.*tar\.gz does not contain rt-polarity\.neg"):
        prepare(None, tmp_path / "data")


def test_downloads_archives_of_single_files(tmp_path, monkeypatch, network):
    monkeypatch.setattr(Trec, "QUESTIONS", {"train": 1, "test": 1})
    original_files.write(tmp_path / "zip_1" / "train_5500.label", ["HUM:ind Who ?"])
    original_files.write(tmp_path / "zip_2" / "TREC_10.label", ["NUM:date When ?"])
    network(lambda addresses: {"train": tmp_path / "zip_1", "test": tmp_path / "zip_2"})
    builder = original_files.prepare(Trec, tmp_path / "data", None)
    assert original_files.rows(builder, "test") == [("NUM", "When ?")]


def test_downloads_single_files(tmp_path, monkeypatch, network):
    monkeypatch.setattr(Trec, "QUESTIONS", {"train": 1, "test": 1})
    # TFDS renames downloaded files.
    files = {
        "train": original_files.write(tmp_path / "cogc_a1b2", ["HUM:ind Who ?"]),
        "test": original_files.write(tmp_path / "cogc_c3d4", ["NUM:date When ?"]),
    }
    asked = network(lambda addresses: files)
    builder = original_files.prepare(Trec, tmp_path / "data", None, "fine")
    assert original_files.rows(builder, "test") == [("NUM:date", "When ?")]
    train, both = asked
    assert train == both["train"]
    assert both == Trec.ORIGINALS[0].source


def test_files_without_an_address_are_not_downloaded(tmp_path, monkeypatch, network):
    asked = network(lambda address: tmp_path)
    monkeypatch.setattr(
        MovieReview, "ORIGINALS", (Originals({"pos": "a", "neg": "b"}, ("mr",), remark="Ask the owners."),)
    )
    with pytest.raises(FileNotFoundError, match=r"(?s)no URL.*Put a and b.*\nAsk the owners\."):
        prepare(None, tmp_path / "data")
    assert asked == []


# --- names --------------------


def test_names_do_not_clash_with_those_of_tfds():
    def is_theirs(name):
        return any(importlib.util.find_spec(f"tensorflow_datasets.{where}.{name}") for where in ("datasets", "text"))

    assert is_theirs("trec")
    assert is_theirs("glue")
    for exported in builders.__all__:
        builder = getattr(builders, exported)
        if isinstance(builder, type):
            assert not is_theirs(builder.name), f"TFDS has a data set named {builder.name}"
            assert tfds.builder_cls(builder.name) is builder


def test_load_corpus_prefers_our_builder_and_tfds_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(Trec, "QUESTIONS", {"train": 10, "test": 1})
    original_files.write(tmp_path / "trec" / "train_5500.label", ["HUM:ind Who ?"] * 10)
    original_files.write(tmp_path / "trec" / "TREC_10.label", ["NUM:date When ?"])
    loaded = load_corpus("trec/fine", data_dir=tmp_path / "data", manual_dir=tmp_path)
    assert len(loaded.label_names) == 50
    assert loaded.test.labels == ["NUM:date"]
    assert loaded.name == "trec/fine"
    assert load_corpus("trec", data_dir=tmp_path / "data", manual_dir=tmp_path).test.labels == ["NUM"]
    assert not (tmp_path / "data" / "trec").exists()
    assert set(tfds.builder("trec", data_dir=tmp_path / "data").info.features) == {"text", "label-coarse", "label-fine"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trec/coarser", 'no configuration "coarser". Expected one of coarse, fine'),
        ("sst/2", "one of sentences_5, sentences_2, phrases_5, phrases_2"),
        ("subj/fine", 'no configuration "fine". Expected no configuration'),
    ],
)
def test_unknown_configurations_are_named(name, message):
    with pytest.raises(ValueError, match=message):
        load_corpus(name)


# --- the real files --------------------

COUNTS = {
    "mr": ("movie_review", {"train": 10_662}),
    "trec": ("trec/fine", {"train": 5452, "test": 500}),
    "subj": ("subj", {"train": 10_000}),
    "cr": ("cr", {"train": 3775}),
    "mpqa": ("mpqa", {"train": 10_606}),
    "sst": ("sst/sentences_2", {"train": 6920, "validation": 872, "test": 1821}),
    "fdu_mtl": ("fdu_mtl/books", {"train": 1400, "validation": 200, "test": 400}),
    "dbpedia": ("dbpedia", {"train": 560_000, "test": 70_000}),
    "mrpc": ("mrpc", {"train": 4076, "test": 1725}),
    "multinli": ("multi_nli/matched_only", {"test": 9815}),
    "qqp": ("qqp/heldout", {"validation": 10_000, "test": 10_000}),
    "sick": ("sick/relatedness", {"train": 4500, "validation": 500, "test": 4927}),
    "snli": ("snli/subset", {"train": 21_605, "validation": 9842, "test": 9824}),
    "stsb": ("stsb", {"train": 5749, "validation": 1500, "test": 1379}),
    "conll2003": ("conll2003", {"train": 14_041, "validation": 3_250, "test": 3_453}),
    "ud_ewt": ("ud_ewt", {"train": 12_544, "validation": 2_001, "test": 2_077}),
}


@pytest.mark.parametrize("folder", COUNTS)
def test_real_files(monkeypatch, tmp_path, folder):
    data = os.environ.get("KERAS_SLSTM_DATA")
    if not data or not (Path(data) / folder).is_dir():
        pytest.skip(f"set KERAS_SLSTM_DATA to a folder that holds {folder}/ with the original files")
    monkeypatch.setattr(MovieReview, "SENTENCES", 5331)
    name, counts = COUNTS[folder]
    base, _, config = name.partition("/")
    builder = original_files.prepare(builders.BUILDERS[base], tmp_path, Path(data), config or None)
    assert {split: info.num_examples for split, info in builder.info.splits.items()} == counts
