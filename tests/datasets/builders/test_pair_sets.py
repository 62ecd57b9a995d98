"""The builders of pairs read their files, and reject malformed ones."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("tensorflow_datasets")

from keras_slstm.datasets import load_pair_corpus
from keras_slstm.datasets.builders import Mrpc, MultiNli, Qqp, Sick, Snli, Stsb
from keras_slstm.errors import DataError
from tests.datasets.builders.original_files import prepare, refuse_network, write


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    refuse_network(monkeypatch)


def rows(builder, split, first, second):
    """Return the sorted label names or scores, with the texts."""
    features = builder.info.features
    target = "label" if "label" in features else "score"
    names = features["label"].names if target == "label" else None
    return sorted(
        (names[row[target]] if names else round(float(row[target]), 6), row[first].decode(), row[second].decode())
        for row in builder.as_data_source(split=split)
    )


# --- snli and multi_nli --------------------

TSV = {
    "train": ["entailment\tA dog runs.\tAn animal\u0085moves.", 'neutral\tShe said "no".\t Yes. ', "-\ta\tb"],
    "dev": ["contradiction\tA dog runs.\tNothing moves."],
    "test": ["neutral\tA dog runs.\tA dog barks."],
}


def as_json(lines):
    keys = ("gold_label", "sentence1", "sentence2")
    return [json.dumps({"pairID": i, **dict(zip(keys, line.split("\t")))}) for i, line in enumerate(lines)]


TRAIN = [("entailment", "A dog runs.", "An animal\u0085moves."), ("neutral", 'She said "no".', "Yes.")]


@pytest.fixture
def snli(monkeypatch, tmp_path):
    monkeypatch.setattr(Snli, "PAIRS", {"train": 2, "validation": 1, "test": 1})
    return tmp_path


def write_tsv(folder, suffix="", **names):
    for part, lines in TSV.items():
        write(folder / f"{names.get(part, part)}.tsv{suffix}", lines)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("published", [True, False])
def test_snli(snli, suffix, published):
    folder = snli / "manual" / "snli"
    if published:
        for part, lines in TSV.items():
            write(folder / f"snli_1.0_{part}.jsonl{suffix}", as_json(lines))
    else:
        write_tsv(folder, suffix)
    builder = prepare(Snli, snli / "data", snli / "manual")
    assert builder.name == "snli_original"  # TFDS has its own
    assert rows(builder, "train", "premise", "hypothesis") == TRAIN
    assert rows(builder, "validation", "premise", "hypothesis") == [("contradiction", "A dog runs.", "Nothing moves.")]
    assert rows(builder, "test", "premise", "hypothesis") == [("neutral", "A dog runs.", "A dog barks.")]
    assert builder.info.supervised_keys == (("premise", "hypothesis"), "label")
    corpus = load_pair_corpus("snli", data_dir=snli / "data")
    assert corpus.label_names == ["entailment", "neutral", "contradiction"]
    assert corpus.test.texts == [("A dog runs.", "A dog barks.")]
    assert corpus.test.labels == ["neutral"]


def test_snli_subset_has_as_many_training_pairs_as_there_are(snli):
    write_tsv(snli / "snli", train="train_subset")
    write(snli / "snli" / "train_subset.tsv", TSV["train"][:1])
    builder = prepare(Snli, snli / "data", snli, "subset")
    assert rows(builder, "train", "premise", "hypothesis") == TRAIN[:1]
    with pytest.raises(FileNotFoundError, match=r"(?s)no network.*Put snli_1\.0_train\.jsonl.*\nOr: Put train\.tsv"):
        prepare(Snli, snli / "data", snli)
    write(snli / "snli" / "train_subset.tsv", TSV["train"][2:])
    with pytest.raises(DataError, match=r"train_subset\.tsv:1: the file contains no pairs"):
        prepare(Snli, snli / "data2", snli, "subset")
    write(snli / "snli" / "test.tsv", TSV["test"] * 2)
    write(snli / "snli" / "train_subset.tsv", TSV["train"])
    with pytest.raises(DataError, match=r"test\.tsv:2: expected 1 pairs, found 2"):  # the other splits are complete
        prepare(Snli, snli / "data3", snli, "subset")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("entailed\tA\tB", "expected the label entailment or neutral or contradiction, found 'entailed'"),
        ("neutral\tA", r"expected label, premise and hypothesis, separated by tabs, found 'neutral\\tA'"),
        ("neutral\tA\tB\tC", "separated by tabs"),
        ("", "separated by tabs"),
        ("neutral\t \t ", "both texts are empty"),
    ],
)
def test_snli_malformed_columns(snli, line, message):
    write_tsv(snli)
    write(snli / "train.tsv", [TSV["train"][0], line])
    with pytest.raises(DataError, match=rf"train\.tsv:2: .*{message}"):
        prepare(Snli, snli / "data", snli)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '"gold_label"',
        '{"gold_label": "neutral", "sentence1": "A"}',
        '{"gold_label": null, "sentence1": "A", "sentence2": "B"}',
        '{"gold_label": "neutral", "sentence1": "A", "sentence2": 3}',
        "",
    ],
)
def test_snli_malformed_json(snli, line):
    for part, lines in TSV.items():
        write(snli / f"snli_1.0_{part}.jsonl", as_json(lines))
    write(snli / "snli_1.0_train.jsonl", [*as_json(TSV["train"][:1]), line])
    with pytest.raises(
        DataError, match=r'train\.jsonl:2: expected a JSON object with strings "gold_label", "sentence1"'
    ):
        prepare(Snli, snli / "data", snli)


def test_multi_nli(monkeypatch, tmp_path):
    monkeypatch.setattr(MultiNli, "TRAINING_PAIRS", 2)
    monkeypatch.setattr(MultiNli, "TEST_PAIRS", {"matched": 1, "mismatched": 1})
    for part, lines in (("train", "train"), ("dev_matched", "dev"), ("dev_mismatched", "test")):
        write(tmp_path / "published" / "multinli_1.0" / f"multinli_1.0_{part}.jsonl", as_json(TSV[lines]))
    write(tmp_path / "columns" / "dev_matched.tsv.gz", TSV["dev"])
    matched = prepare(MultiNli, tmp_path / "data", tmp_path / "published", "matched")
    assert rows(matched, "train", "premise", "hypothesis") == TRAIN
    assert rows(matched, "test", "premise", "hypothesis") == [("contradiction", "A dog runs.", "Nothing moves.")]
    other = prepare(MultiNli, tmp_path / "data", tmp_path / "published", "mismatched")
    assert rows(other, "test", "premise", "hypothesis") == [("neutral", "A dog runs.", "A dog barks.")]
    only = prepare(MultiNli, tmp_path / "data", tmp_path / "columns", "matched_only")
    assert list(only.info.splits) == ["test"]
    with pytest.raises(FileNotFoundError, match=r"(?s)Put multinli_1\.0_train\.jsonl.*Or: Put train\.tsv"):
        prepare(MultiNli, tmp_path / "data2", tmp_path / "columns", "matched")
    with pytest.raises(ValueError, match=r"""no labelled split "train"; its splits: \['test'\]"""):
        load_pair_corpus("multi_nli/matched_only", data_dir=tmp_path / "data")


# --- qqp, mrpc --------------------


def test_qqp(monkeypatch, tmp_path):
    monkeypatch.setattr(Qqp, "PAIRS", {"train": 2, "validation": 1, "test": 1})
    folder = tmp_path / "Quora_question_pair_partition"
    write(folder / "dev.tsv", ["1\tWhy ?\tHow come ?\t7"])
    write(folder / "test.tsv.gz", ["0\tWho ?\tWhen ?\t8"])
    assert list(prepare(Qqp, tmp_path / "data", tmp_path, "heldout").info.splits) == ["validation", "test"]
    with pytest.raises(FileNotFoundError, match=r"(?s)missing: train\.tsv.*no URL.*BiMPM"):
        prepare(Qqp, tmp_path / "data", tmp_path)
    write(folder / "train.tsv", ['0\t"Is ""a"" b?"\tNo�?\t1', "1\tX?\tX ?\t2"])
    builder = prepare(Qqp, tmp_path / "data", tmp_path)
    expected = [("duplicate", "X?", "X ?"), ("not_duplicate", '"Is ""a"" b?"', "No�?")]
    assert rows(builder, "train", "question1", "question2") == expected
    write(folder / "train.tsv", ["0\ta\tb\t1", "2\tX?\tX ?\t2"])
    with pytest.raises(DataError, match=r"train\.tsv:2: expected the label 0 or 1, found '2'"):
        prepare(Qqp, tmp_path / "data2", tmp_path)


MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def test_mrpc(monkeypatch, tmp_path):
    monkeypatch.setattr(Mrpc, "PAIRS", {"train": 2, "test": 1})
    lines = [MRPC_HEADER, '1\t1\t2\tHe said "no".\tHe said so.', "0\t3\t4\tA.\tB."]
    write(tmp_path / "mrpc" / "msr_paraphrase_train.txt", [line + "\r" for line in lines])
    write(tmp_path / "mrpc" / "msr_paraphrase_test.txt", [MRPC_HEADER, "0\t5\t6\tC.\tD."])
    builder = prepare(Mrpc, tmp_path / "data", tmp_path)
    expected = [("equivalent", 'He said "no".', "He said so."), ("not_equivalent", "A.", "B.")]
    assert rows(builder, "train", "sentence1", "sentence2") == expected
    write(tmp_path / "mrpc" / "msr_paraphrase_train.txt", lines[1:])  # no header: a pair would be mistaken for it
    with pytest.raises(DataError, match=r"train\.txt:2: expected 2 pairs, found 1"):
        prepare(Mrpc, tmp_path / "data2", tmp_path)
    write(tmp_path / "mrpc" / "msr_paraphrase_train.txt", [*lines[:2], "0\t3\t4\tA."])
    with pytest.raises(DataError, match=r"train\.txt:3: expected label, two numbers and two sentences"):
        prepare(Mrpc, tmp_path / "data2", tmp_path)


# --- sick, stsb --------------------

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
SICK = {
    "SICK_train.txt": ["1\tA dog runs\tA dog is running\t4.9\tENTAILMENT", "2\tA\tB\t1\tNEUTRAL"],
    "SICK_trial.txt": ["3\tA dog runs\tNo dog runs\t3.25\tCONTRADICTION"],
    "SICK_test_annotated.txt": ["4\tC\tD\t1.185\tNEUTRAL"],
}


@pytest.fixture
def sick(monkeypatch, tmp_path):
    monkeypatch.setattr(Sick, "PAIRS", {"train": 2, "validation": 1, "test": 1})
    for name, lines in SICK.items():
        write(tmp_path / "sick" / name, [SICK_HEADER, *lines])
    return tmp_path


def test_sick_entailment(sick):
    builder = prepare(Sick, sick / "data", sick, "entailment")
    expected = [("entailment", "A dog runs", "A dog is running"), ("neutral", "A", "B")]
    assert rows(builder, "train", "sentence1", "sentence2") == expected
    assert rows(builder, "validation", "sentence1", "sentence2") == [("contradiction", "A dog runs", "No dog runs")]
    assert prepare(Sick, sick / "data", sick).builder_config.name == "entailment"


def test_sick_relatedness(sick):
    builder = prepare(Sick, sick / "data", sick, "relatedness")
    assert builder.info.supervised_keys == (("sentence1", "sentence2"), "score")
    assert rows(builder, "train", "sentence1", "sentence2")[0] == (1.0, "A", "B")
    corpus = load_pair_corpus("sick/relatedness", data_dir=sick / "data")
    assert (corpus.label_names, corpus.score_range) == ([], (1, 5))
    assert sorted(corpus.train.labels) == [1.0, 4.9]  # as written, not rounded to float32
    assert corpus.test.labels == [1.185]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2\tA\tB\t5.5\tNEUTRAL", "expected a score from 1 to 5, found '5.5'"),
        ("2\tA\tB\tnan\tNEUTRAL", "found 'nan'"),
        ("2\tA\tB\thigh\tNEUTRAL", "found 'high'"),
        ("2\tA\tB\t2\tneutral", "expected the label ENTAILMENT or NEUTRAL or CONTRADICTION, found 'neutral'"),
        ("2\tA\tB\t2", "number, two sentences, score and label"),
    ],
)
@pytest.mark.parametrize("config", ["entailment", "relatedness"])
def test_sick_malformed(sick, line, message, config):
    write(sick / "sick" / "SICK_train.txt", [SICK_HEADER, SICK["SICK_train.txt"][0], line])
    with pytest.raises(DataError, match=rf"SICK_train\.txt:3: .*{message}"):
        prepare(Sick, sick / "data", sick, config)


def test_stsb(monkeypatch, tmp_path):
    monkeypatch.setattr(Stsb, "PAIRS", {"train": 2, "validation": 1, "test": 1})
    start = "main-captions\tMSRvid\t2012test\t0001"
    lines = [f"{start}\t5.000\tA plane.\tAn air plane.", f'{start}\t0.4\tIt\x12s "a".\tB.\tnote\tnote']
    write(tmp_path / "stsbenchmark" / "sts-train.csv", lines)
    write(tmp_path / "stsbenchmark" / "sts-dev.csv", lines[:1])
    write(tmp_path / "stsbenchmark" / "sts-test.csv", lines[1:])
    builder = prepare(Stsb, tmp_path / "data", tmp_path)
    expected = [(0.4, 'It\x12s "a".', "B."), (5.0, "A plane.", "An air plane.")]
    assert rows(builder, "train", "sentence1", "sentence2") == expected
    corpus = load_pair_corpus("stsb", data_dir=tmp_path / "data")
    assert (corpus.score_range, corpus.test.labels) == ((0, 5), [0.4])
    write(tmp_path / "stsbenchmark" / "sts-train.csv", [lines[0], f"{start}\t-1\tA.\tB."])
    with pytest.raises(DataError, match=r"sts-train\.csv:2: expected a score from 0 to 5, found '-1'"):
        prepare(Stsb, tmp_path / "data2", tmp_path)
    write(tmp_path / "stsbenchmark" / "sts-train.csv", [lines[0], f"{start}\t1\tA."])
    with pytest.raises(
        DataError, match=r"sts-train\.csv:2: expected genre, file, year, number, score and two sentences"
    ):
        prepare(Stsb, tmp_path / "data2", tmp_path)


def test_published_counts():
    assert Snli.PAIRS == {"train": 549_367, "validation": 9842, "test": 9824}
    assert (MultiNli.TRAINING_PAIRS, MultiNli.TEST_PAIRS) == (392_702, {"matched": 9815, "mismatched": 9832})
    assert Qqp.PAIRS == {"train": 384_348, "validation": 10_000, "test": 10_000}
    assert Mrpc.PAIRS == {"train": 4076, "test": 1725}
    assert Sick.PAIRS == {"train": 4500, "validation": 500, "test": 4927}
    assert Stsb.PAIRS == {"train": 5749, "validation": 1500, "test": 1379}
