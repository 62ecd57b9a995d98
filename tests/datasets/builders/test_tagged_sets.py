import pytest

tfds = pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets import load_tagged_corpus  # noqa: E402
from keras_slstm.datasets.builders import Conll2003, UdEwt  # noqa: E402
from keras_slstm.errors import DataError  # noqa: E402
from tests.datasets.builders import original_files  # noqa: E402

NEWS = {
    "eng.train": ["-DOCSTART- -X- O O", "", "EU NNP I-NP I-ORG", "Ltd NNP B-NP B-ORG", "", "Oslo NNP I-NP I-LOC"],
    "eng.testa": ["-DOCSTART- -X- O O", "", "Ada NNP I-NP I-PER", "", "wrote VBD I-NP O"],
    "eng.testb": ["Paris NNP I-NP I-LOC", "", "a DT I-NP I-MISC", "b DT I-NP I-MISC"],
}


def row(number, form, upos, xpos):
    return f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t0\troot\t_\t_"


WORDS = [row("1-2", "cannot", "_", "_"), row(1, "can", "AUX", "MD"), row(2, "not", "PART", "RB")]
WEB = {f"en_ewt-ud-{part}.conllu": ["# text", *WORDS, ""] for part in ("train", "dev", "test")}


@pytest.fixture(autouse=True)
def small_and_without_network(monkeypatch):
    monkeypatch.setattr(Conll2003, "SENTENCES", dict.fromkeys(("train", "validation", "test"), 2))
    monkeypatch.setattr(UdEwt, "SENTENCES", dict.fromkeys(("train", "validation", "test"), 1))
    original_files.refuse_network(monkeypatch)


@pytest.fixture
def write(tmp_path):
    def write(files, folder, suffix=""):
        for name, lines in files.items():
            original_files.write(tmp_path / folder / (name + suffix), lines)
        return tmp_path / folder

    return write


@pytest.mark.parametrize(("folder", "suffix"), [("files", ""), ("files/conll2003", ".gz")])
def test_conll2003(write, tmp_path, folder, suffix):
    write(NEWS, folder, suffix)
    builder = original_files.prepare(Conll2003, tmp_path / "data", tmp_path / "files")
    features = builder.info.features
    rows = sorted(
        (
            [token.decode() for token in row["tokens"]],
            *([features[name].feature.names[tag] for tag in row[name]] for name in ("ner", "chunks", "pos")),
        )
        for row in builder.as_data_source(split="train")
    )
    assert rows == [
        (["EU", "Ltd"], ["B-ORG", "B-ORG"], ["B-NP", "B-NP"], ["NNP", "NNP"]),
        (["Oslo"], ["B-LOC"], ["B-NP"], ["NNP"]),
    ]
    assert features["ner"].feature.names[0] == "O"
    assert builder.name == "conll2003_original"  # TFDS has its own
    corpus = load_tagged_corpus("conll2003", data_dir=tmp_path / "data", scheme="BIOES", tag_column="chunks")
    assert sorted(corpus.train.tags) == [["S-NP"], ["S-NP", "S-NP"]]


def test_ud_ewt(write, tmp_path):
    builder = original_files.prepare(UdEwt, tmp_path / "data", write(WEB, "files"))
    [found] = builder.as_data_source(split="validation")
    assert [token.decode() for token in found["tokens"]] == ["can", "not"]
    names = {name: builder.info.features[name].feature.names for name in ("upos", "xpos")}
    assert [names["upos"][tag] for tag in found["upos"]] == ["AUX", "PART"]
    assert [names["xpos"][tag] for tag in found["xpos"]] == ["MD", "RB"]
    assert [len(names[name]) for name in ("upos", "xpos")] == [17, 49]


def test_ud_ewt_is_downloaded(write, tmp_path, monkeypatch):
    """The names of downloaded files do not end in .conllu."""
    files = write(WEB, "files")

    class Reply:
        def close(self):
            pass

    asked = []

    def download_and_extract(self, addresses):
        asked.extend(addresses.values())
        for role, address in addresses.items():
            (files / address.rpartition("/")[2]).rename(tmp_path / role)
        return {role: tmp_path / role for role in addresses}

    monkeypatch.setattr("urllib.request.urlopen", lambda request, timeout: Reply())
    monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", download_and_extract)
    original_files.prepare(UdEwt, tmp_path / "data", None)
    assert len(asked) == 3
    assert all(address.startswith("https://") and "r2.16/en_ewt-ud-" in address for address in asked)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a DT I-NP O"], r"eng\.testa:1: expected 2 sentences, found 1"),
        (["a DT I-NP O", "", "b DT I-NP"], r"eng\.testa:3: expected 4 columns .*, found 3"),
        (["a DT I-NP O", "", "b XX I-NP O"], r'eng\.testa:3: "XX" is not a tag of this set \(pos\): \$'),
        (["a DT I-NP O", "", "b DT I-NP I-DATE"], r'eng\.testa:3: "B-DATE" is not a tag of this set \(ner\): O, B-LOC'),
        (["a DT I-NP O", "", "b DT I-NP PER"], r'eng\.testa:3: "PER" is not a tag of'),
    ],
)
def test_malformed_files_are_named_with_the_line(write, tmp_path, lines, message):
    files = write(NEWS | {"eng.testa": lines}, "files")
    with pytest.raises(DataError, match=message):
        original_files.prepare(Conll2003, tmp_path / "data", files)


def test_without_files_the_error_says_where_to_get_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"(?s)Put eng\.train, eng\.testa and eng\.testb .*shared task .*NIST"):
        load_tagged_corpus("conll2003", data_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"(?s)no network.*Put en_ewt-ud-train\.conllu"):
        load_tagged_corpus("ud_ewt", data_dir=tmp_path)
