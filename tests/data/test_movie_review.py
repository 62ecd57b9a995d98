import gzip
import os
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

tfds = pytest.importorskip("tensorflow_datasets")

from keras_slstm.data.builders import MovieReview  # noqa: E402
from keras_slstm.data.errors import DataError  # noqa: E402

SENTENCES = {"pos": ["a fine film .", "très bien … really"], "neg": ["dull .", "a café\u0085of boredom"]}


@pytest.fixture(autouse=True)
def two_sentences_no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(MovieReview, "SENTENCES", 2)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.fixture
def write(tmp_path):
    def write(folder="manual", suffix="", encoding="utf-8", sentences=SENTENCES):
        for label, texts in sentences.items():
            path = tmp_path / folder / f"rt-polarity.{label}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            content = "".join(text + " \n" for text in texts).encode(encoding)
            path.write_bytes(gzip.compress(content) if suffix else content)
        return tmp_path / folder

    return write


def prepare(manual_dir, data_dir):
    builder = MovieReview(data_dir=data_dir)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=manual_dir), file_format="array_record"
    )
    names = builder.info.features["label"].names
    return sorted((names[row["label"]], row["text"].decode()) for row in builder.as_data_source(split="train"))


EXPECTED = sorted((label, text) for label, texts in SENTENCES.items() for text in texts)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("folder", ["", "mr", "rt-polaritydata"])
def test_reads_manual_dir(write, tmp_path, suffix, folder):
    write(f"manual/{folder}", suffix)
    assert prepare(tmp_path / "manual", tmp_path / "data") == EXPECTED


def test_original_encoding_is_windows_1252(write, tmp_path):
    sentences = {"pos": ["a fine film .", "très bien … really"], "neg": ["dull .", "a café"]}
    manual_dir = write(encoding="cp1252", sentences=sentences)
    texts = dict.fromkeys(text for _, text in prepare(manual_dir, tmp_path / "data"))
    assert set(texts) == {text for group in sentences.values() for text in group}


def test_bytes_of_neither_encoding_are_named(write, tmp_path):
    manual_dir = write()
    (manual_dir / "rt-polarity.pos").write_bytes(b"fine\nb\x81d\n")
    with pytest.raises(DataError, match=r"rt-polarity\.pos:2: neither UTF-8 nor Windows-1252: byte 0x81"):
        prepare(manual_dir, tmp_path / "data")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["one"], r"rt-polarity\.neg:1: 2 sentences expected, found 1"),
        (["one", "two", "three"], r"rt-polarity\.neg:3: 2 sentences expected, found 3"),
        (["one", " "], r"rt-polarity\.neg:2: the line is empty"),
        ([], r"rt-polarity\.neg:1: the file is empty"),
    ],
)
def test_malformed_files_are_named_and_leave_no_data(write, tmp_path, texts, message):
    manual_dir = write(sentences=SENTENCES | {"neg": texts})
    with pytest.raises(DataError, match=message):
        prepare(manual_dir, tmp_path / "data")
    write()
    assert prepare(manual_dir, tmp_path / "data") == EXPECTED


def test_other_files_are_not_mistaken_for_those_prepared(write, tmp_path):
    manual_dir = write()
    assert prepare(manual_dir, tmp_path / "data") == EXPECTED
    assert prepare(write("again", ".gz"), tmp_path / "data") == EXPECTED  # the same sentences
    other = write("other", sentences=SENTENCES | {"neg": ["quite", "different"]})
    with pytest.raises(ValueError, match=r"was prepared from other files than those in .*other"):
        prepare(other, tmp_path / "data")


@pytest.mark.parametrize("manual_dir", ["missing", "empty", "half"])
def test_without_files_and_network_the_error_says_where_to_put_what(tmp_path, manual_dir):
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "rt-polarity.pos").write_text("one\ntwo\n")
    with pytest.raises(FileNotFoundError, match=r"(?s)no network.*rt-polarity\.neg and rt-polarity\.pos.*http"):
        prepare(tmp_path / manual_dir, tmp_path / "data")


def test_download(write, tmp_path, monkeypatch):
    archive = write("archive/rt-polaritydata").parent

    class Reply:
        def close(self):
            pass

    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: Reply())
    asked = []

    def download_and_extract(self, url):
        asked.append(url)
        return archive

    monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", download_and_extract)
    assert prepare(None, tmp_path / "data") == EXPECTED
    assert asked == [MovieReview.ORIGINALS[0].source]


def test_real_files(monkeypatch, tmp_path):
    folder = os.environ.get("KERAS_SLSTM_DATA")
    if not folder or not (Path(folder) / "mr").is_dir():
        pytest.skip("set KERAS_SLSTM_DATA to a folder that holds mr/ with the original files")
    monkeypatch.setattr(MovieReview, "SENTENCES", 5331)
    rows = prepare(folder, tmp_path)
    assert Counter(label for label, _ in rows) == {"pos": 5331, "neg": 5331}
    assert max(len(text.split(" ")) for _, text in rows) >= 51
