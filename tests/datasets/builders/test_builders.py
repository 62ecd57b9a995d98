"""Each builder reads its files, and rejects malformed ones."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets import load_corpus
from keras_slstm.datasets.builders import CR, MPQA, Dbpedia, FduMtl, Sst, Trec
from keras_slstm.datasets.builders.fdu_mtl import DOMAINS, TRAINING_LINES
from keras_slstm.datasets.builders.trec import FINE, FINE_TYPES
from keras_slstm.errors import DataError
from tests.datasets.builders.original_files import prepare, refuse_network, rows, write


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    refuse_network(monkeypatch)


# --- trec --------------------


@pytest.fixture
def trec(monkeypatch, tmp_path):
    monkeypatch.setattr(Trec, "QUESTIONS", {"train": 2, "test": 1})
    # As published: "ð" is one byte in Windows-1252; a question may contain anything but a line feed.
    write(tmp_path / "train_5500.label", ["LOC:city Which sisterðcity ?", "NUM:date When\u0085 ?"], "latin-1")
    write(tmp_path / "TREC_10.label.gz", ["NUM:count How many ?"])
    return tmp_path


def test_trec(trec):
    fine = prepare(Trec, trec / "data", trec, "fine")
    assert rows(fine, "train") == [("LOC:city", "Which sisterðcity ?"), ("NUM:date", "When… ?")]
    assert rows(fine, "test") == [("NUM:count", "How many ?")]
    assert fine.info.features["label"].names == FINE
    coarse = prepare(Trec, trec / "data", trec)
    assert rows(coarse, "train") == [("LOC", "Which sisterðcity ?"), ("NUM", "When… ?")]
    assert coarse.info.features["label"].names == ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]


def test_trec_has_50_labels_of_which_three_names_recur():
    assert len(set(FINE)) == len(FINE) == 50
    assert len({fine for fines in FINE_TYPES.values() for fine in fines}) == 47


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["NUM:date When ?", "NUM:city Where ?"], r"train_5500\.label:2: .*label of TREC.*'NUM:city Where \?'"),
        (["NUM:date When ?", "NUM When ?"], r"train_5500\.label:2: "),
        (["NUM:date", "NUM:date When ?"], r"train_5500\.label:1: "),
        (["NUM:date When ?", "", "NUM:date When ?"], r"train_5500\.label:2: "),
        (["NUM:date When ?"] * 3, r"train_5500\.label:3: expected 2 questions, found 3"),
    ],
)
def test_trec_malformed(trec, lines, message):
    write(trec / "train_5500.label", lines)
    with pytest.raises(DataError, match=message):
        prepare(Trec, trec / "data", trec)


# --- cr and mpqa --------------------


@pytest.mark.parametrize(("builder_class", "name"), [(CR, "custrev"), (MPQA, "mpqa")])
@pytest.mark.parametrize("count", [3, 4])  # without or with the empty line
def test_cr_and_mpqa_skip_empty_lines(monkeypatch, tmp_path, builder_class, name, count):
    monkeypatch.setattr(builder_class, "SENTENCES", count)
    write(tmp_path / f"{name}.neg", ["did not work", "", "poor"])
    write(tmp_path / f"{name}.pos", ["works great ! ."])
    builder = prepare(builder_class, tmp_path / "data", tmp_path)
    assert rows(builder, "train") == [("neg", "did not work"), ("neg", "poor"), ("pos", "works great ! .")]


@pytest.mark.parametrize("count", [2, 5])
def test_cr_checks_the_sum_of_both_files(monkeypatch, tmp_path, count):
    monkeypatch.setattr(CR, "SENTENCES", count)
    write(tmp_path / "custrev.neg", ["did not work", "", "poor"])
    write(tmp_path / "custrev.pos", ["works great ! ."])
    message = rf"expected {count} sentences in custrev\.neg and custrev\.pos together, found 3"
    with pytest.raises(DataError, match=message):
        prepare(CR, tmp_path / "data", tmp_path)


def test_published_counts_of_cr_and_mpqa():
    assert (CR.SENTENCES, MPQA.SENTENCES) == (3775, 10_606)


# --- sst --------------------

TREES = {
    "train": ["(4 (3 (2 A) (4 gem)) (2 !))", "(2 (2 So) (2 so))", "(0 (1 Quite) (0 awful))"],
    "dev": ["(3 (2 Very) (3 nice))", "(2 (2 It) (2 is))"],
    "test": ["(1 (2 Too) (1 2\u00a01\\/2))"],
}


@pytest.fixture
def sst(monkeypatch, tmp_path):
    counts = {"validation": 2, "test": 1}
    two = {"validation": 1, "test": 1}
    monkeypatch.setattr(
        Sst,
        "COUNTS",
        {
            "sentences_5": {"train": 3} | counts,
            "sentences_2": {"train": 2} | two,
            "phrases_5": {"train": 11} | counts,
            "phrases_2": {"train": 6} | two,
        },
    )
    for part, trees in TREES.items():
        write(tmp_path / "sst" / "trees" / f"{part}.txt.gz", trees)
    return tmp_path


def test_sst_sentences(sst):
    five = prepare(Sst, sst / "data", sst)
    assert rows(five, "train") == [("neutral", "So so"), ("very negative", "Quite awful"), ("very positive", "A gem !")]
    assert rows(five, "validation") == [("neutral", "It is"), ("positive", "Very nice")]
    assert rows(five, "test") == [("negative", "Too 2\u00a01\\/2")]
    names = ["very negative", "negative", "neutral", "positive", "very positive"]
    assert five.info.features["label"].names == names
    two = prepare(Sst, sst / "data", sst, "sentences_2")
    assert rows(two, "train") == [("negative", "Quite awful"), ("positive", "A gem !")]
    assert rows(two, "validation") == [("positive", "Very nice")]
    assert two.info.features["label"].names == ["negative", "positive"]


def test_sst_phrases_are_only_for_training(sst):
    five = prepare(Sst, sst / "data", sst, "phrases_5")
    of_the_first = [("neutral", "!"), ("neutral", "A"), ("positive", "A gem"), ("very positive", "A gem !")]
    of_the_first += [("very positive", "gem")]
    assert [row for row in rows(five, "train") if set(row[1].split()) <= {"A", "gem", "!"}] == of_the_first
    assert len(rows(five, "train")) == 11
    assert rows(five, "validation") == [("neutral", "It is"), ("positive", "Very nice")]
    two = prepare(Sst, sst / "data", sst, "phrases_2")
    expected = [("negative", "Quite"), ("negative", "Quite awful"), ("negative", "awful")]
    assert rows(two, "train") == expected + [("positive", "A gem"), ("positive", "A gem !"), ("positive", "gem")]


STSA = {
    "train": ["4 a gem !", "0 quite awful", "2 so so"],
    "dev": ["3 very nice", "2 it is"],
    "test": ["1 too 2\u00a01\\/2"],
}


def test_sst_sentence_files_are_read_if_there_are_no_trees(sst):
    only = sst / "only"
    for part, lines in STSA.items():
        write(only / f"stsa.fine.{part}", lines)
        write(sst / "sst" / f"stsa.fine.{part}", ["0 not this"])  # the trees next to it take precedence
    builder = prepare(Sst, sst / "data_stsa", only, "sentences_2")
    assert rows(builder, "train") == [("negative", "quite awful"), ("positive", "a gem !")]
    assert rows(builder, "test") == [("negative", "too 2\u00a01\\/2")]
    assert ("positive", "A gem !") in rows(prepare(Sst, sst / "data", sst, "sentences_2"), "train")
    with pytest.raises(ValueError, match="was prepared from other files"):
        prepare(Sst, sst / "data", only, "sentences_2")
    with pytest.raises(FileNotFoundError, match=r"trees/train\.txt"):
        prepare(Sst, sst / "data_stsa", only, "phrases_2")


@pytest.mark.parametrize(
    ("config", "name", "lines", "message"),
    [
        (
            "phrases_5",
            "trees/train.txt",
            ["(2 (2 So) (2 so))", "(2 (2 So)"],
            r"train\.txt:2: column 10: expected a tree",
        ),
        ("phrases_5", "trees/train.txt", ["(2 (2 So) (2 so))"], r"train\.txt:1: expected 11 phrases, found 3"),
        ("sentences_5", "trees/train.txt", ["(2 a)"] * 4, r"train\.txt:4: expected 3 sentences, found 4"),
        ("sentences_2", "trees/train.txt", ["(2 a)"] * 3, r"train\.txt:3: expected 2 sentences, found 0"),
        ("sentences_5", "stsa.fine.train", ["4 fine", "5 fine"], r"stsa\.fine\.train:2: expected a label from 0 to 4"),
        ("sentences_5", "stsa.fine.train", ["4 "], r"stsa\.fine\.train:1: expected a label from 0 to 4"),
    ],
)
def test_sst_malformed(sst, tmp_path, config, name, lines, message):
    source = STSA if "stsa" in name else TREES
    for part in TREES:
        path = name.replace("train", part)
        write(tmp_path / "bad" / path, lines if path == name else source[part])
    with pytest.raises(DataError, match=message):
        prepare(Sst, tmp_path / "data_bad", tmp_path / "bad", config)


def test_published_counts_of_sst():
    assert Sst.COUNTS["phrases_5"] == {"train": 318_582, "validation": 1101, "test": 2210}
    assert Sst.COUNTS["phrases_2"] == {"train": 98_794, "validation": 872, "test": 1821}


# --- fdu_mtl --------------------


@pytest.fixture
def fdu_mtl(monkeypatch, tmp_path):
    """Two domains with text; all others have one line per split. The last training line is the development split."""
    monkeypatch.setattr(FduMtl, "TRAINING_LINES", dict.fromkeys(DOMAINS, 2) | {"books": 3})
    monkeypatch.setattr(FduMtl, "TEST_LINES", 1)
    monkeypatch.setattr(FduMtl, "DEVELOPMENT_LINES", 1)
    folder = tmp_path / "fdu_mtl"
    for domain in DOMAINS:
        name = "MR" if domain == "mr" else domain
        write(folder / f"{name}.task.train", [f"1\t{domain} one", f"0\t{domain} two"])
        write(folder / f"{name}.task.test.gz", [f"1\t{domain} test"])
    # A text may contain a tab, which starts no column, and U+0085, which ends no line.
    write(folder / "books.task.train.gz", ["1\tfine\u0085 book", "0\tdull\tbook", "1\tlast book"])
    (folder / "books.task.train").unlink()
    return tmp_path


def test_fdu_mtl_domain(fdu_mtl):
    books = prepare(FduMtl, fdu_mtl / "data", fdu_mtl, "books")
    assert rows(books, "train") == [("neg", "dull\tbook"), ("pos", "fine\u0085 book")]
    assert rows(books, "validation") == [("pos", "last book")]
    assert rows(books, "test") == [("pos", "books test")]
    assert rows(prepare(FduMtl, fdu_mtl / "data", fdu_mtl, "mr"), "train") == [("pos", "mr one")]


def test_fdu_mtl_all(fdu_mtl):
    every = prepare(FduMtl, fdu_mtl / "data", fdu_mtl)
    names = every.info.features["domain"].names
    assert names == list(DOMAINS)
    for row in every.as_data_source(split="test"):
        assert row["text"].decode() == f"{names[row['domain']]} test"
    assert {split: info.num_examples for split, info in every.info.splits.items()} == {
        "train": 17,
        "validation": 16,
        "test": 16,
    }
    loaded = load_corpus("fdu_mtl", data_dir=fdu_mtl / "data")
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (17, 16, 16)
    assert loaded.label_names == ["neg", "pos"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\tgood", "2\tbad"], r"baby\.task\.train:2: expected the label 0 or 1, a tab and a text, found '2\\tbad'"),
        (["1 good", "0\tbad"], r"baby\.task\.train:1: "),
        (["1\t ", "0\tbad"], r"baby\.task\.train:1: "),
        (["1\tgood"], r"baby\.task\.train:1: expected 2 reviews, found 1"),
    ],
)
def test_fdu_mtl_malformed(fdu_mtl, lines, message):
    write(fdu_mtl / "fdu_mtl" / "baby.task.train", lines)
    with pytest.raises(DataError, match=message):
        prepare(FduMtl, fdu_mtl / "data", fdu_mtl, "baby")


def test_fdu_mtl_names_the_domains_that_are_missing(fdu_mtl):
    (fdu_mtl / "fdu_mtl" / "video.task.train").unlink()
    with pytest.raises(FileNotFoundError, match=r"missing: video\.task\.train\)"):
        prepare(FduMtl, fdu_mtl / "data", fdu_mtl)


def test_published_counts_of_fdu_mtl():
    assert len(DOMAINS) == 16
    assert sum(TRAINING_LINES.values()) == 25_380
    assert (FduMtl.TEST_LINES, FduMtl.DEVELOPMENT_LINES) == (400, 200)


# --- dbpedia --------------------


@pytest.fixture
def dbpedia(monkeypatch, tmp_path):
    monkeypatch.setattr(Dbpedia, "ARTICLES", {"train": 10, "test": 1})
    lines = ['1,"Abbott"," A ""coach"", builder\u0085."', '14,"A Book"," Text, of it."'] * 5
    write(tmp_path / "dbpedia_csv" / "train.csv", lines)
    write(tmp_path / "dbpedia_csv" / "test.csv", ['9,"Brekke",""'])
    return tmp_path


def test_dbpedia(dbpedia):
    builder = prepare(Dbpedia, dbpedia / "data", dbpedia)
    expected = [("Company", "Abbott", 'A "coach", builder\u0085.'), ("WrittenWork", "A Book", "Text, of it.")]
    assert rows(builder, "train", "title", "content")[4:6] == expected
    assert rows(builder, "test", "title", "content") == [("Village", "Brekke", "")]
    assert len(builder.info.features["label"].names) == 14


def test_dbpedia_is_title_and_abstract(dbpedia):
    loaded = load_corpus("dbpedia", data_dir=dbpedia / "data", manual_dir=dbpedia)
    assert set(loaded.train.texts) == {'Abbott A "coach", builder\u0085.', "A Book Text, of it."}
    assert loaded.test.texts == ["Brekke"]
    assert (len(loaded.train), len(loaded.validation), len(loaded.test)) == (9, 1, 1)
    titles = load_corpus("dbpedia", data_dir=dbpedia / "data", text_column="title")
    assert set(titles.train.texts) == {"Abbott", "A Book"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('15,"Title","Text"', r"test\.csv:1: expected a class from 1 to 14, a title and an abstract, found '15,"),
        ('1,"Title"', r"test\.csv:1: expected a class from 1 to 14"),
        ('1,"Title","Text" x', r"test\.csv:1: malformed CSV"),
        ('1,""," "', r"test\.csv:1: both title and abstract are empty"),
        ("", r"test\.csv:1: expected a class from 1 to 14"),
    ],
)
def test_dbpedia_malformed(dbpedia, line, message):
    write(dbpedia / "dbpedia_csv" / "test.csv", [line, '1,"Title","Text"'])
    with pytest.raises(DataError, match=message):
        prepare(Dbpedia, dbpedia / "data", dbpedia)
    write(dbpedia / "dbpedia_csv" / "test.csv", ['1,"Title","Text"'] * 2)
    with pytest.raises(DataError, match=r"test\.csv:2: expected 1 articles, found 2"):
        prepare(Dbpedia, dbpedia / "data", dbpedia)


def test_published_counts_of_dbpedia():
    assert Dbpedia.ARTICLES == {"train": 560_000, "test": 70_000}
